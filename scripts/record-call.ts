/**
 * Records one call of a 2026-07-28 caller through a real gateway and writes the pair into ARCHITECTURE.md, between its marks.
 *
 * Run by hand (`npm run record`) when the path of a call changes.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const BEGIN = '<!-- recorded by npm run record -->'
const END = '<!-- end of the recording -->'
const REQUIREMENTS = 'node_modules/@modelcontextprotocol/conformance/requirements'

const folder = mkdtempSync(join(tmpdir(), 'comity-record-'))
try {
  const config = join(folder, 'comity.yaml')
  const entry = join(process.cwd(), 'bin', 'comity.js')
  const docs = join(process.cwd(), REQUIREMENTS)
  writeFileSync(
    config,
    `mcpServers:\n  docs: ${JSON.stringify({ command: process.execPath, args: [entry, 'docs', docs] })}\nstore: sqlite:./comity.db\n`,
  )
  const gateway = spawn(process.execPath, [entry, 'up', '-c', config, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await readyUrl(gateway.stdout)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'docs_read_document',
      arguments: { document: 'requirements/2026-07-28.yaml', lines: { start: 1, end: 1 } },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/call',
    'Mcp-Name': 'docs_read_document',
  }
  const answer = await post(`${url}/mcp`, headers, body)
  gateway.kill('SIGTERM')
  write(
    `\`\`\`http\nPOST /mcp HTTP/1.1\n${say(headers)}\n\n${pretty(body)}\n\`\`\`\n\n\`\`\`http\nHTTP/1.1 ${answer.status}\n${say({ 'Content-Type': answer.type })}\n\n${pretty(answer.body)}\n\`\`\``,
  )
  console.log('ARCHITECTURE.md holds the recorded pair')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function readyUrl(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const ready = /^comity ready on (\S+)$/u.exec(line)
    if (ready?.[1] !== undefined) return ready[1]
  }
  throw new Error('the gateway ended before it was ready')
}

function post(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: string; type: string; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: `${response.statusCode} ${response.statusMessage}`,
          type: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function write(text: string): void {
  const page = readFileSync('ARCHITECTURE.md', 'utf8')
  const begin = page.indexOf(BEGIN) + BEGIN.length
  const end = page.indexOf(END)
  if (begin < BEGIN.length || end < begin) throw new Error('ARCHITECTURE.md has lost its marks')
  writeFileSync('ARCHITECTURE.md', `${page.slice(0, begin)}\n\n${text}\n\n${page.slice(end)}`)
}

function say(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function pretty(json: string): string {
  return JSON.stringify(JSON.parse(json), undefined, 2)
}

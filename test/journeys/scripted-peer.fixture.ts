/**
 * A stdio MCP server (2025-11-25) that does what its script says: `scripted-peer.fixture.ts '<PeerScript>'`.
 *
 * In the script's folder it writes its process id to `pids`, every run of a tool to `runs` as the
 * run begins, and its environment to `env.json`. A tool called `slow…` answers once the file
 * `release` is there; one with `exitWith` stays once `recovered` is; `die` ends the process; `link` answers with a resource link.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { PeerScript } from './comity-process.fixture.ts'

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

const script = JSON.parse(process.argv[2] ?? '{}') as PeerScript
const inFolder = (name: string): string => join(script.folder, name)
const canceled = new Set<unknown>()

function send(message: unknown): void {
  if (script.noise !== undefined) process.stdout.write(`${script.noise}\n`)
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

/** A file `tools.json` beside overrides the script: what a server is after its update. */
function tools(): unknown {
  const changed = inFolder('tools.json')
  return existsSync(changed) ? JSON.parse(readFileSync(changed, 'utf8')) : (script.tools ?? [])
}

async function callTool(id: unknown, params: Readonly<Record<string, unknown>>): Promise<unknown> {
  const name = String(params['name'])
  appendFileSync(inFolder('runs'), `${name} ${JSON.stringify(params['arguments'] ?? {})}\n`)
  if (name === 'die') process.exit(9)
  if (name === 'fails') {
    return { content: [{ type: 'text', text: 'out of ink' }], isError: true }
  }
  if (name === 'link') {
    const uri = 'linked://only/by/link'
    return { content: [{ type: 'resource_link', uri, name: 'linked' }] }
  }
  if (name.startsWith('slow')) {
    while (!existsSync(inFolder('release')) && !canceled.has(id)) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return { content: [{ type: 'text', text: `${name} ran` }] }
}

async function answer(message: Message): Promise<void> {
  const { id, method, params = {} } = message
  if (method === 'notifications/cancelled') canceled.add(params['requestId'])
  if (id === undefined || method === undefined) return
  try {
    const result = await resultOf(id, method, params)
    if (!canceled.has(id)) send({ jsonrpc: '2.0', id, result })
  } catch (error) {
    send({
      jsonrpc: '2.0',
      id,
      error: { code: Number((error as Error).cause), message: String((error as Error).message) },
    })
  }
}

async function resultOf(
  id: unknown,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-11-25',
        capabilities: {
          tools: {},
          ...(script.resources || script.templates ? { resources: {} } : {}),
        },
        serverInfo: { name: 'scripted', version: '1' },
      }
    case 'ping':
      return {}
    case 'tools/list':
      if (script.listError !== undefined) throw new Error(script.listError, { cause: -32603 })
      return { tools: tools() }
    case 'resources/list':
      return { resources: script.resources ?? [] }
    case 'resources/templates/list':
      return { resourceTemplates: script.templates ?? [] }
    case 'resources/read':
      return {
        contents: [
          {
            uri: params['uri'],
            text: `${process.env['WHO'] ?? 'scripted'} has ${String(params['uri'])}`,
          },
        ],
      }
    case 'tools/call':
      return callTool(id, params)
    default:
      throw new Error(`no method ${method}`, { cause: -32601 })
  }
}

appendFileSync(inFolder('pids'), `${process.pid}\n`)
writeFileSync(inFolder('env.json'), JSON.stringify(process.env))
if (script.complaint !== undefined) process.stderr.write(`${script.complaint}\n`)
if (script.exitWith !== undefined && !existsSync(inFolder('recovered')))
  process.exit(script.exitWith)
if (script.floodBytes !== undefined) {
  const line = `${'all work and no play '.repeat(50)}\n`
  for (let written = 0; written < script.floodBytes; written += line.length) {
    if (!process.stdout.write(line)) await once(process.stdout, 'drain')
  }
}
while (script.gated === true && !existsSync(inFolder('go')))
  await new Promise((resolve) => setTimeout(resolve, 20))
createInterface({ input: process.stdin }).on('line', (line) => {
  if (script.silent === true) return
  void answer(JSON.parse(line) as Message)
})

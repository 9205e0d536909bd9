/**
 * A documents server reduced to what the agent uses, on the official SDK, over stdio.
 *
 * Acts what the real server does not do with the tests' files: short pages and lines cut off. Reads the
 * same files and answers in the same contract. `node docs-stand-in.ts [--page <lines>] [--cut <characters>] <folder…>`.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const { values, positionals } = parseArgs({
  options: {
    page: { type: 'string', default: '100000' },
    cut: { type: 'string', default: '100000' },
  },
  allowPositionals: true,
})
const pageLines = Number(values.page)
const maxLineLength = Number(values.cut)
const folders = new Map(positionals.map((folder) => [basename(folder), resolve(folder)]))

function findFile(document: string): string | undefined {
  const [name = '', ...rest] = document.split('/')
  const folder = folders.get(name)
  if (folder === undefined) return undefined
  const path = resolve(join(folder, ...rest))
  return path.startsWith(folder + sep) && existsSync(path) ? path : undefined
}

function readDocument(document: string, start = 1, end = Number.MAX_SAFE_INTEGER) {
  const path = findFile(document)
  if (path === undefined) {
    return { isError: true, content: [{ type: 'text' as const, text: `no document ${document}` }] }
  }
  const bytes = readFileSync(path)
  const hex = createHash('sha256').update(bytes).digest('hex')
  const lines = bytes.toString('utf8').split('\n')
  const wanted = Math.min(end, lines.length)
  const last = Math.min(wanted, start + pageLines - 1)
  const result = {
    requestId: randomUUID(),
    document,
    version: hex.slice(0, 12),
    digest: `sha256:${hex}`,
    uri: `docs:///${document}`,
    lines: { start, end: last },
    totalLines: lines.length,
    text: lines
      .slice(start - 1, last)
      .map((line) => line.slice(0, maxLineLength))
      .join('\n'),
    truncated: last < wanted,
  }
  return { content: [{ type: 'text' as const, text: result.text }], structuredContent: result }
}

serveStdio(() => {
  const server = new McpServer({ name: 'docs-stand-in', version: '1.0.0' })
  const lines = z.object({ start: z.number().optional(), end: z.number().optional() }).optional()
  server.registerTool(
    'read_document',
    { inputSchema: z.object({ document: z.string(), version: z.string().optional(), lines }) },
    (args) => readDocument(args.document, args.lines?.start, args.lines?.end),
  )
  server.registerTool(
    'search_documents',
    { inputSchema: z.object({ query: z.string(), limit: z.number().optional() }) },
    ({ query }) => {
      const result = { requestId: randomUUID(), query, hits: [], truncated: false }
      return { content: [{ type: 'text' as const, text: 'no hits' }], structuredContent: result }
    },
  )
  return server
})

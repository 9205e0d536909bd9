/**
 * The agent's own MCP connection to a documents server, over stdio.
 *
 * One child process for the agent, opened on first use and again after it is gone. A refusal by
 * the server (not found, not permitted) is a value; a broken connection is tried again, since
 * reading twice does no harm, and then thrown.
 */
import { createHash } from 'node:crypto'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Reading } from './citation.ts'

/** What a read may give: the document, or the server's own words why not. */
export type ReadResult =
  | { readonly state: 'read'; readonly reading: Reading }
  | { readonly state: 'refused'; readonly problem: string }

/** Reading and finding documents. */
export interface Documents {
  /** Reads one document whole. @throws DocumentsError when the server cannot be used. */
  read(document: string): Promise<ReadResult>
  /** Ids of documents that match, best first. @throws DocumentsError likewise. */
  search(query: string, limit: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** The documents server does not work or does not keep its contract. */
export class DocumentsError extends Error {
  override readonly name = 'DocumentsError'
}

const ATTEMPTS = 3
const CALL_TIMEOUT_MS = 30_000
const PROBE_TIMEOUT_MS = 5_000
const MAX_PAGES = 1_000
const MAX_BYTES = 8 * 1024 * 1024
const MAX_PROBLEM_LENGTH = 500

/** Opens no process yet; `command` is the server's command line, program first. */
export function createDocuments(command: readonly string[]): Documents {
  let open: Promise<Client> | undefined
  const connect = (): Promise<Client> => {
    open ??= openClient(command, () => {
      open = undefined
    })
    return open
  }
  const call: CallTool = (name, args) => callWithRetry(connect, name, args)
  return {
    read: (document) => readWhole(call, document),
    search: (query, limit) => searchIds(call, query, limit),
    close: async () => {
      const client = await open?.catch(() => undefined)
      open = undefined
      await client?.close()
    },
  }
}

type CallTool = (name: string, args: Record<string, unknown>) => Promise<ToolResult>

interface ToolResult {
  /** The server's words when it refused. */
  readonly problem?: string
  readonly content: Readonly<Record<string, unknown>>
}

async function openClient(command: readonly string[], onGone: () => void): Promise<Client> {
  const [program, ...args] = command
  if (program === undefined) throw new DocumentsError('the documents command is empty')
  const client = new Client(
    { name: 'spec-comparison-agent', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } } },
  )
  client.onclose = onGone
  try {
    await client.connect(new StdioClientTransport({ command: program, args }))
  } catch (error) {
    onGone()
    throw error
  }
  return client
}

async function callWithRetry(
  connect: () => Promise<Client>,
  name: string,
  args: Record<string, unknown>,
): Promise<ToolResult> {
  let last: unknown
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      const client = await connect()
      const result = await client.callTool({ name, arguments: args }, { timeout: CALL_TIMEOUT_MS })
      return parseToolResult(result)
    } catch (error) {
      last = error
    }
  }
  const reason = last instanceof Error ? last.message : String(last)
  throw new DocumentsError(
    `the documents server did not answer ${name} in ${ATTEMPTS} attempts: ${shorten(reason)}`,
    { cause: last },
  )
}

function parseToolResult(result: unknown): ToolResult {
  const { isError, content, structuredContent } = asRecord(result) ?? {}
  if (isError === true) {
    const blocks: unknown[] = Array.isArray(content) ? content : []
    const words = blocks.flatMap((block) => {
      const text = asRecord(block)?.['text']
      return typeof text === 'string' ? [text] : []
    })
    return { problem: shorten(words.join(' ').trim() || 'no reason given'), content: {} }
  }
  return { content: asRecord(structuredContent) ?? {} }
}

/** Reads page after page until the server says that nothing was cut. */
async function readWhole(call: CallTool, document: string): Promise<ReadResult> {
  const texts: string[] = []
  let bytes = 0
  let first: Page | undefined
  let next: number | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const lines = next === undefined ? {} : { lines: { start: next } }
    const result = await call('read_document', { document, ...lines })
    if (result.problem !== undefined) return { state: 'refused', problem: result.problem }
    const got = parsePage(document, result.content)
    first ??= got
    // Pages of two different files would make one text that nobody ever wrote.
    if (got.digest !== first.digest)
      throw new DocumentsError(`${document} changed while it was read`)
    if (got.start !== (next ?? 1)) throw broken(document, `a page from line ${next ?? 1}`)
    texts.push(got.text)
    bytes += Buffer.byteLength(got.text)
    if (bytes > MAX_BYTES) throw new DocumentsError(`${document} is larger than ${MAX_BYTES} bytes`)
    if (!got.truncated || got.end >= got.totalLines) {
      const { version, digest } = first
      return {
        state: 'read',
        reading: checkDigest({ document, version, digest, text: texts.join('\n') }),
      }
    }
    next = got.end + 1
  }
  throw new DocumentsError(`${document} has more than ${MAX_PAGES} pages`)
}

/**
 * Quotes are taken from this text and checked against that digest, so the two must belong together;
 * a line that the server had to cut is found out here as well.
 */
function checkDigest(reading: Reading): Reading {
  // A server may or may not count the nothing after the last line feed as a line.
  const candidates = [reading.text, `${reading.text}\n`]
  const text = candidates.find((candidate) => {
    const hex = createHash('sha256').update(candidate).digest('hex')
    return reading.digest === `sha256:${hex}`
  })
  if (text === undefined) {
    throw new DocumentsError(
      `the text of ${reading.document} is not the file that its digest names`,
    )
  }
  return { ...reading, text }
}

interface Page {
  readonly version: string
  readonly digest: string
  readonly text: string
  readonly start: number
  readonly end: number
  readonly totalLines: number
  readonly truncated: boolean
}

function parsePage(document: string, content: Readonly<Record<string, unknown>>): Page {
  const { version, digest, text, totalLines, truncated } = content
  const { start, end } = asRecord(content['lines']) ?? {}
  if (content['document'] !== document) throw broken(document, 'the document asked for')
  if (typeof version !== 'string') throw broken(document, 'a version')
  if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw broken(document, 'a digest such as sha256:<64 hex digits>')
  }
  if (typeof text !== 'string') throw broken(document, 'a text')
  if (typeof start !== 'number' || typeof end !== 'number') throw broken(document, 'lines')
  if (typeof totalLines !== 'number') throw broken(document, 'totalLines')
  return { version, digest, text, start, end, totalLines, truncated: truncated === true }
}

async function searchIds(call: CallTool, query: string, limit: number): Promise<readonly string[]> {
  const { problem, content } = await call('search_documents', { query, limit })
  // A search that is refused leaves us with what we can name ourselves.
  if (problem !== undefined) return []
  const hits: unknown[] = Array.isArray(content['hits']) ? content['hits'] : []
  return hits.flatMap((hit) => {
    const document = asRecord(hit)?.['document']
    return typeof document === 'string' ? [document] : []
  })
}

function broken(document: string, expected: string): DocumentsError {
  return new DocumentsError(`read_document of ${document}: the answer lacks ${expected}`)
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

function shorten(text: string): string {
  return text.length > MAX_PROBLEM_LENGTH ? `${text.slice(0, MAX_PROBLEM_LENGTH)}…` : text
}

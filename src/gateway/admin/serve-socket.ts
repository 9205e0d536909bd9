/**
 * The control socket: the operator's verbs as HTTP over a Unix socket that only its user can open.
 *
 * Approvals and pins go only this way. An answer is a stream of JSON lines: events, then one `result` or `error`.
 * `POST /stop` with a run's id calls that run off and lets it say what became of it; hanging up calls it off unheard.
 * `GET /` says whom one would go through. An upgrade of `/pipe` is one host's stdio (shared/pipe-desk.ts).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { ComityError } from '../../core/words/errors.ts'
import { parseExact } from '../../core/words/exact-json.ts'
import { nodeHttp } from '../shared/node-http.ts'
import type { PipeDesk } from '../shared/pipe-desk.ts'
import { PIPE_PATH } from '../shared/wire.ts'
import { type Live, type Operator, type OwnerKind, VERBS, type Verb } from './operator.ts'
import { prepareSocketFolder } from './socket-path.ts'

/** Names a run, so that it can be called off. */
export const RUN_HEADER = 'x-comity-run'
/** One exchange a connection, so that none is kept open by whoever has its answer. */
const HEADERS = { 'content-type': 'application/x-ndjson', connection: 'close' }
const MAX_BODY_BYTES = 64 * 1024 * 1024

/** What the process behind a socket says of itself. */
export interface SocketOwner {
  /** Which peers it has: all, none, or these. */
  readonly peers: 'all' | 'none' | readonly string[]
  /** It ends with the command that it runs. */
  readonly passing: boolean
  readonly kind: OwnerKind
  readonly pid: number
}

export interface ControlSocket {
  /** Takes nothing new and ends at once what runs. */
  close(): Promise<void>
  /** Waits until nobody is served any more, and stops. */
  drain(): Promise<void>
  /** How many verbs run now. */
  serving(): number
}

/** What is served there. */
export interface SocketParts {
  readonly owner: SocketOwner
  readonly operator: Operator
  readonly pipes: PipeDesk
  onFault(error: unknown): void
}

/** Listens; the caller already owns the store, so a socket left at `path` is a dead one. */
export async function serveSocket(
  at: { readonly path: string; readonly userId: number },
  parts: SocketParts,
): Promise<ControlSocket> {
  const { path, userId } = at
  const { owner, operator, pipes, onFault } = parts
  const { createServer } = nodeHttp()
  prepareSocketFolder(dirname(path), userId)
  rmSync(path, { force: true })
  const runs = new Map<string, AbortController>()
  const serving = new Set<Promise<void>>()
  const server = createServer((request, response) => {
    if (request.method === 'GET' && request.url === '/') {
      response.writeHead(200, HEADERS).end(`${JSON.stringify(owner)}\n`)
      return
    }
    const served = serve(operator, runs, request, response)
      .catch((error: unknown) => {
        onFault(error)
        response.destroy()
      })
      .finally(() => serving.delete(served))
    serving.add(served)
  })
  server.on('upgrade', (request, socket, head) => {
    if (request.method === 'GET' && request.url === PIPE_PATH) pipes.take(request, socket, head)
    else socket.destroy()
  })
  await listenPrivately(server, path)
  return {
    serving: () => serving.size,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      rmSync(path, { force: true })
    },
    async drain() {
      // Served meanwhile: a store that is owned and cannot be reached keeps everybody waiting.
      while (serving.size > 0) await Promise.allSettled(serving)
      // Nobody finds it any more; whoever has connected already is taken in before it stops listening, and heard.
      rmSync(path, { force: true })
      await new Promise((resolve) => setImmediate(resolve))
      await new Promise((resolve) => setImmediate(resolve))
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** The mask is set before the socket exists: at no moment can another user open it. */
function listenPrivately(server: Server, path: string): Promise<void> {
  const mask = process.umask(0o177)
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => resolve())
  }).finally(() => process.umask(mask))
}

async function serve(
  operator: Operator,
  runs: Map<string, AbortController>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const run = String(request.headers[RUN_HEADER] ?? '')
  if (request.url === '/stop') {
    runs.get(run)?.abort()
    response.writeHead(204, { connection: 'close' }).end()
    return
  }
  const stop = new AbortController()
  runs.set(run, stop)
  const answered = new Promise<void>((resolve) => response.once('close', resolve))
  response.on('close', () => {
    if (runs.get(run) === stop) runs.delete(run)
    if (!response.writableFinished) stop.abort()
  })
  const live: Live = {
    signal: stop.signal,
    answered,
    event: (event) => void response.write(`${JSON.stringify(event)}\n`),
  }
  response.writeHead(200, HEADERS)
  let line: unknown
  try {
    line = { result: await act(operator, request, live) }
  } catch (error) {
    line = { error: sayError(error) }
  }
  response.end(`${JSON.stringify(line)}\n`)
}

async function act(operator: Operator, request: IncomingMessage, live: Live): Promise<unknown> {
  const verb = (request.url ?? '/').slice(1)
  if (request.method !== 'POST' || !Object.hasOwn(VERBS, verb)) {
    throw new ComityError('usage', `expected POST /<verb>, got ${request.method} ${request.url}`)
  }
  // Exact: what a verb only hands over keeps its digits.
  const input = parseExact(await readBody(request))
  // One table of plain-JSON verbs: the input's shape is the verb's own to check.
  const verbOf = operator[verb as Verb] as (input: unknown, live: Live) => Promise<unknown>
  return verbOf.call(operator, input, live)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES)
      throw new ComityError('usage', `a request may have ${MAX_BODY_BYTES} bytes at most`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function sayError(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof ComityError) return { code: error.code, message: error.message }
  return { code: 'internal', message: error instanceof Error ? error.message : String(error) }
}

/**
 * The agent's HTTP edge: the card, and JSON-RPC with plain and streamed replies.
 *
 * Written on node:http instead of the SDK's Express adapter, whose card is not valid JSON for
 * others, whose body limit answers in HTML and whose streams ignore a reader that stalls or leaves.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk'
import { A2AError } from '@a2a-js/sdk/errors'
import {
  JsonRpcTransportHandler,
  ServerCallContext,
  validateVersion,
  type A2ARequestHandler,
} from '@a2a-js/sdk/server'
import { RPC_PATH } from './card.ts'
import { CLOSED_KEY } from './request-handler.ts'

const MAX_BODY_BYTES = 1024 * 1024
const HEARTBEAT_MS = 15_000
/** Names under which a page in a browser cannot reach us by rebinding its own. */
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/

/** What the edge depends on. */
export interface HttpDeps {
  readonly handler: A2ARequestHandler
  log(line: string): void
}

/** Creates the server; the caller makes it listen. */
export function createHttpServer(deps: HttpDeps): Server {
  return createServer((request, response) => {
    serveRequest(deps, request, response).catch((error: unknown) => {
      deps.log(`request failed: ${error instanceof Error ? error.stack : String(error)}`)
      if (response.headersSent) response.destroy()
      else replyError(response, 500, null, -32603, 'The agent met an error of its own.')
    })
  })
}

async function serveRequest(
  deps: HttpDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const origin = request.headers.origin
  if (!LOOPBACK.test(request.headers.host ?? '') || (origin !== undefined && !isLoopback(origin))) {
    replyJson(response, 403, { error: 'this agent answers on the loopback interface only' })
    return
  }
  const path = new URL(request.url ?? '/', 'http://localhost').pathname
  if (path === `/${AGENT_CARD_PATH}`) {
    if (request.method !== 'GET') return refuseMethod(response, 'GET')
    replyJson(response, 200, AgentCard.toJSON(await deps.handler.getAgentCard()))
  } else if (path === RPC_PATH) {
    if (request.method !== 'POST') return refuseMethod(response, 'POST')
    await serveRpc(deps, request, response)
  } else {
    replyJson(response, 404, { error: `nothing here; the card is at /${AGENT_CARD_PATH}` })
  }
}

async function serveRpc(
  deps: HttpDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request)
  if (body === undefined) {
    // The rest of the body is not worth reading, so the connection ends with the reply.
    response.setHeader('connection', 'close')
    const limit = `the body is larger than ${MAX_BODY_BYTES} bytes`
    return replyError(response, 413, null, -32600, limit)
  }
  let call: unknown
  try {
    call = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return replyError(response, 200, null, -32700, 'the body is not JSON in UTF-8')
  }
  if (!isCall(call)) {
    const form = 'expected one JSON-RPC 2.0 request with jsonrpc, id and method'
    return replyError(response, 200, null, -32600, form)
  }
  try {
    const version = request.headers['a2a-version']
    const requested = parseVersion(typeof version === 'string' ? version : '')
    validateVersion(requested, await deps.handler.getAgentCard(), 'JSONRPC')
    const closed = new AbortController()
    response.once('close', () => closed.abort())
    const state = new Map([[CLOSED_KEY, closed.signal]])
    const context = new ServerCallContext({ requestedVersion: requested, state })
    const reply = await new JsonRpcTransportHandler(deps.handler).handle(call, context)
    if (Symbol.asyncIterator in reply) await replyStream(deps, response, call.id, reply)
    else replyJson(response, 200, hideInternal(deps, reply))
  } catch (error) {
    replyJson(response, 200, { jsonrpc: '2.0', id: call.id, error: encodeError(deps, error) })
  }
}

/** Only major and minor count in the negotiation; nothing at all means 0.3 (A2A 1.0, 3.6). */
function parseVersion(header: string): string {
  const trimmed = header.trim()
  if (trimmed === '') return '0.3'
  return /^(\d+\.\d+)(?:\.\d+)*$/.exec(trimmed)?.[1] ?? trimmed
}

interface Call extends Record<string, unknown> {
  readonly jsonrpc: '2.0'
  readonly id: string | number
  readonly method: string
}

function isCall(value: unknown): value is Call {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { jsonrpc, id, method } = value as Record<string, unknown>
  const named = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id))
  return jsonrpc === '2.0' && named && typeof method === 'string' && method !== ''
}

async function replyStream(
  deps: HttpDeps,
  response: ServerResponse,
  id: Call['id'],
  events: AsyncGenerator<object, void, undefined>,
): Promise<void> {
  // A refusal before the first event is an ordinary reply, not a stream.
  const first = await events.next()
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS)
  // A reader that leaves ends its own stream; the task does not notice.
  const left = new Promise<void>((resolve) => response.once('close', resolve))
  const write = async (event: object): Promise<void> => {
    if (response.write(`data: ${JSON.stringify(event)}\n\n`)) return
    const drained = new Promise<void>((resolve) => response.once('drain', resolve))
    await Promise.race([drained, left])
  }
  try {
    for (let next = first; next.done !== true;) {
      await write(next.value)
      const following = await Promise.race([events.next(), left])
      if (following === undefined || response.destroyed) break
      next = following
    }
  } catch (error) {
    await write({ jsonrpc: '2.0', id, error: encodeError(deps, error) })
  } finally {
    clearInterval(heartbeat)
    response.end()
    // Not awaited: it ends when the generator notices, by CLOSED_KEY, that nobody listens.
    events.return().catch((error: unknown) => deps.log(`stream: ${String(error)}`))
  }
}

function hideInternal(deps: HttpDeps, reply: { readonly error?: unknown }): object {
  const { error } = reply
  if (typeof error !== 'object' || error === null || !('code' in error)) return reply
  // The SDK passes the text of any exception on; what is not an A2A error is ours to keep.
  if (error.code !== -32603) return reply
  deps.log(`internal error: ${JSON.stringify(error)}`)
  return { ...reply, error: { code: -32603, message: 'The agent met an error of its own.' } }
}

function encodeError(deps: HttpDeps, error: unknown): object {
  if (error instanceof A2AError) return JsonRpcTransportHandler.mapToJSONRPCError(error)
  deps.log(`internal error: ${error instanceof Error ? error.stack : String(error)}`)
  return { code: -32603, message: 'The agent met an error of its own.' }
}

/** The whole body, or undefined when it is larger than allowed. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = Buffer.from(chunk as Uint8Array)
    size += bytes.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

function isLoopback(origin: string): boolean {
  return URL.canParse(origin) && LOOPBACK.test(new URL(origin).host)
}

function refuseMethod(response: ServerResponse, allowed: string): void {
  response.setHeader('allow', allowed)
  replyJson(response, 405, { error: `use ${allowed}` })
}

function replyError(
  response: ServerResponse,
  status: number,
  id: string | number | null,
  code: number,
  message: string,
): void {
  replyJson(response, status, { jsonrpc: '2.0', id, error: { code, message } })
}

function replyJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value)
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

/**
 * The A2A door over HTTP: cards and JSON-RPC 1.0 for every published agent, at `/a2a/<name>`.
 *
 * Refusals before a message is understood are HTTP statuses with a JSON-RPC error body. What is served in which state of the
 * work is operations.ts's; where a call goes is dispatch's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { CARD_MAX_AGE, isMatched, makeCard, type ServedCard } from './card.ts'
import { readBody } from './http-body.ts'
import {
  type HttpRefusal,
  LOOPBACK_HOSTS,
  readMediaType,
  refuseOrigin,
  refuseRepeats,
} from './http-guard.ts'
import { rpcFault } from './errors.ts'
import { answerRequest } from './operations.ts'
import {
  type A2aDesk,
  type A2aDoorOptions,
  type A2aDoorPorts,
  createDesk,
  type PublishedAgent,
} from './options.ts'
import { createUnread, sendBody } from './outgoing.ts'
import { encodeAnswer, parseRequest } from './rpc.ts'
import { parseTarget, type Target } from './target.ts'

export type { A2aDoorOptions, A2aDoorPorts, PublishedAgent } from './options.ts'

/** The door, to be mounted at `/a2a/*` with bodies unread. */
export interface A2aDoor {
  /** Answers one request. Never rejects; resolves when the answer was taken or the connection is gone. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Told once it listens: `http://127.0.0.1:7878`, which the cards then name. */
  servedAt(url: string): void
  /** Takes nothing new, lets running work end for a while, then stops it. */
  close(): Promise<void>
}

interface Reply {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** How long stopped work may take to say how it ended, milliseconds. */
const LAST_WORDS_MS = 1000

/** Opens the door. */
export function createA2aDoor(ports: A2aDoorPorts, options: A2aDoorOptions): A2aDoor {
  const closing = new AbortController()
  const desk = createDesk(ports, options, closing.signal)
  const allowed = (options.allowedHosts ?? LOOPBACK_HOSTS).map((host) => host.toLowerCase())
  const running = new Set<Promise<void>>()
  const unread = createUnread(desk.limits.maxUnreadBytes)
  let cards: ReadonlyMap<string, ServedCard> = new Map()
  let closed = false

  const answer = async (request: IncomingMessage, gone: AbortSignal): Promise<Reply> => {
    if (closed || running.size >= desk.limits.maxInFlight) return refusal(BUSY)
    if (unread.isFull()) return refusal(UNREAD)
    const refused = refuseRepeats(request.rawHeaders) ?? refuseOrigin(request.headers, allowed)
    if (refused !== undefined) return refusal(refused)
    const target = parseTarget(request.url ?? '')
    if (target.kind === 'card') return serveCard(request, cards.get(target.agent))
    const who = await options.authenticate(request.headers)
    if ('refused' in who) return refusal(who.refused)
    const agent = target.kind === 'rpc' ? findAgent(ports, target) : undefined
    if (agent === undefined || target.kind !== 'rpc') return refusal(NOT_FOUND)
    return serveRpc(desk, request, { agent, target, principal: who.principal, gone })
  }
  const visit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    response.on('error', () => undefined)
    const reply = await answer(request, gone.signal).catch((fault: unknown) => {
      desk.report(fault)
      return refusal({ status: 500, message: 'internal error' })
    })
    if (response.destroyed || response.headersSent) return
    const body = Buffer.from(reply.body ?? '')
    const length = reply.body === undefined ? {} : { 'content-length': String(body.length) }
    response.writeHead(reply.status, { ...length, ...reply.headers })
    // An answer that nobody reads is one in flight.
    await sendBody(response, body, unread, desk.limits.writeIdleMs)
  }
  return {
    handle: async (request, response) => {
      const done = visit(request, response)
      running.add(done)
      await done
      running.delete(done)
    },
    servedAt: (url) => {
      const secured = options.secured ?? false
      const base = url.replace(/\/+$/u, '')
      cards = new Map(
        ports.agents.map((agent) => {
          const at = `${base}/a2a/${encodeURIComponent(agent.name)}`
          return [agent.name, makeCard(agent, at, secured)]
        }),
      )
    },
    close: async () => {
      closed = true
      const settled = (): Promise<unknown> => Promise.allSettled([...running, ...desk.working])
      if (await within(settled(), desk.limits.drainMs)) return
      closing.abort()
      await within(settled(), LAST_WORDS_MS)
    },
  }
}

interface RpcVisit {
  readonly agent: PublishedAgent
  readonly target: Extract<Target, { kind: 'rpc' }>
  readonly principal: Parameters<typeof answerRequest>[1]['principal']
  readonly gone: AbortSignal
}

async function serveRpc(desk: A2aDesk, request: IncomingMessage, visit: RpcVisit): Promise<Reply> {
  if (request.method !== 'POST') {
    const message = 'POST a JSON-RPC request here; the card is at .well-known/agent-card.json'
    return refusal({ status: 405, message, headers: { allow: 'POST' } })
  }
  const type = readMediaType(request.headers)
  if ('refused' in type) return refusal(type.refused)
  const body = await readBody(request, desk.limits)
  if (body === undefined) return { status: 400 }
  if (!(body instanceof Uint8Array)) return refusal(body)
  const arrival = parseRequest(body)
  const headers = { 'content-type': type.mediaType }
  switch (arrival.kind) {
    case 'notification':
      return { status: 202 }
    case 'refused':
      return { status: 400, body: encodeAnswer(arrival.id, arrival.fault), headers }
    case 'request': {
      const version = headerOf(request, 'a2a-version') ?? visit.target.version
      const { agent, principal, gone } = visit
      const told = await answerRequest(
        desk,
        { agent, principal, request: arrival, gone },
        version,
      ).catch((fault: unknown) => {
        desk.report(fault)
        return rpcFault('internalError', 'internal error')
      })
      return { status: 200, body: encodeAnswer(arrival.id, told), headers }
    }
  }
}

function serveCard(request: IncomingMessage, card: ServedCard | undefined): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const headers = { allow: 'GET, HEAD' }
    return refusal({ status: 405, message: 'a card is read with GET', headers })
  }
  if (card === undefined) return refusal(NOT_FOUND)
  const headers = { etag: card.etag, 'cache-control': `public, max-age=${CARD_MAX_AGE}` }
  if (isMatched(card.etag, headerOf(request, 'if-none-match'))) return { status: 304, headers }
  return { status: 200, body: card.body, headers: { 'content-type': JSON_TYPE, ...headers } }
}

const JSON_TYPE = 'application/json'
const NOT_FOUND: HttpRefusal = { status: 404, message: 'no agent is published here by that name' }
const BUSY: HttpRefusal = {
  status: 503,
  message: 'too busy to take another request now',
  headers: { 'retry-after': '1' },
}

const UNREAD: HttpRefusal = {
  ...BUSY,
  message: 'too many bytes of answers are waiting to be read',
}

function findAgent(
  ports: A2aDoorPorts,
  target: { readonly agent: string },
): PublishedAgent | undefined {
  return ports.agents.find(({ name }) => name === target.agent)
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function refusal({ status, message, headers }: HttpRefusal): Reply {
  const body = encodeAnswer('null', rpcFault('invalidRequest', message))
  return { status, body, headers: { 'content-type': JSON_TYPE, ...headers } }
}

async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A server over HTTP that breaks no rule, in either era, and can be made to break one: each test changes what it is about. Raw on
 * purpose: no SDK lets itself be made so wrong.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { listen } from '../../../test/mcp/upstream-peer.ts'

export type Params = Readonly<Record<string, unknown>>

export interface Asked {
  /** POST, GET or DELETE. */
  readonly verb: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly id?: string | number
  readonly method: string
  readonly params: Params
  readonly era: 'modern' | 'legacy'
}

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON; text as it is. */
  readonly body?: unknown
}

/** A JSON-RPC error to answer with. */
export class Refusal {
  readonly code: number
  readonly status: number
  readonly data: unknown

  constructor(code: number, status = 200, data?: unknown) {
    this.code = code
    this.status = status
    this.data = data
  }
}

export type Handler = (params: Params, asked: Asked) => object | Refusal

/** A check that is left out. */
export type Lax =
  | 'meta'
  | 'method-header'
  | 'name-header'
  | 'origin'
  | 'session'
  | 'verb'
  | 'version-header'
  | 'version'

export interface SoundOptions {
  readonly era?: 'modern' | 'legacy' | 'dual'
  readonly capabilities?: Params
  readonly tools?: readonly unknown[]
  /** How many a page has. Default 1. */
  readonly pageSize?: number
  readonly prompts?: readonly unknown[]
  readonly resources?: readonly unknown[]
  readonly templates?: readonly unknown[]
  /** In place of its own; undefined: as its own. */
  readonly methods?: Readonly<Record<string, Handler | undefined>>
  readonly lax?: readonly Lax[]
  /** The last word on every answer. */
  readonly change?: (answer: Answer, asked: Asked) => Answer
}

const META = 'io.modelcontextprotocol/'
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26']
const SESSION = 'sound-session'
const INFO = { name: 'sound', version: '1.0.0' }
const CLOSED = { type: 'object', properties: {}, required: [], additionalProperties: false }

/** Tools that no API refuses. */
export const SOUND_TOOLS = [
  { name: 'find', description: 'Finds things.', inputSchema: CLOSED },
  { name: 'keep', description: 'Keeps things.', inputSchema: CLOSED, outputSchema: CLOSED },
] as const

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: {},
  resources: { subscribe: true },
}

/** Starts it; it is closed with the test. @returns its address. */
export async function serveSound(options: SoundOptions = {}): Promise<string> {
  const server = new SoundServer(options)
  const base = await listen((request, response, body) => {
    const asked = readAsked(request, body)
    const answer = server.answer(asked)
    const { status, headers = {}, body: said } = options.change?.(answer, asked) ?? answer
    const type = { 'content-type': 'application/json' }
    response.writeHead(status, said === undefined ? headers : { ...type, ...headers })
    response.end(
      typeof said === 'string' ? said : said === undefined ? undefined : JSON.stringify(said),
    )
  })
  return `${base}/mcp`
}

/** Changes the result of one method. */
export function changed(
  method: string,
  change: (result: Params) => unknown,
): Pick<SoundOptions, 'change'> {
  return {
    change(answer, asked) {
      const body = answer.body as { readonly result?: Params } | undefined
      if (asked.method !== method || body?.result === undefined) return answer
      return { ...answer, body: { ...body, result: change(body.result) } }
    },
  }
}

function readAsked(request: IncomingMessage, body: string): Asked {
  const { method: verb = '', headers, url: path = '' } = request
  const message = (body === '' ? {} : JSON.parse(body)) as {
    readonly id?: string | number
    readonly method?: string
    readonly params?: Params
  }
  const { method = '', params = {} } = message
  const meta = (params['_meta'] ?? {}) as Params
  const isModern =
    meta[`${META}protocolVersion`] !== undefined || headers['mcp-protocol-version'] === '2026-07-28'
  return {
    verb,
    path,
    headers,
    ...(message.id === undefined ? {} : { id: message.id }),
    method,
    params,
    era: isModern ? 'modern' : 'legacy',
  }
}

class SoundServer {
  readonly #options: SoundOptions
  readonly #methods: Readonly<Record<string, Handler | undefined>>

  constructor(options: SoundOptions) {
    this.#options = options
    this.#methods = { ...this.#own(), ...options.methods }
  }

  answer(asked: Asked): Answer {
    if (asked.headers.origin !== undefined && !this.#lax('origin')) return { status: 403 }
    if (asked.verb !== 'POST') {
      if (asked.headers['mcp-session-id'] !== undefined) return { status: 200 }
      return { status: this.#lax('verb') ? 200 : 405 }
    }
    const refused = asked.era === 'modern' ? this.#refuseModern(asked) : this.#refuseLegacy(asked)
    if (refused !== undefined) return said(asked, refused)
    if (asked.id === undefined) return { status: 202 }
    const isSession = asked.method === 'initialize' || asked.method === 'ping'
    const handler = isSession && asked.era === 'modern' ? undefined : this.#methods[asked.method]
    const unknown = new Refusal(-32601, asked.era === 'modern' ? 404 : 200)
    const answer = said(asked, handler?.(asked.params, asked) ?? unknown)
    if (asked.method !== 'initialize') return answer
    return { ...answer, headers: { 'mcp-session-id': SESSION } }
  }

  #refuseModern({ headers, method, params }: Asked): Refusal | undefined {
    if (this.#options.era === 'legacy') return new Refusal(-32600, 400)
    const meta = (params['_meta'] ?? {}) as Params
    const version = meta[`${META}protocolVersion`]
    if (version === undefined) return this.#lax('meta') ? undefined : new Refusal(-32602, 400)
    if (headers['mcp-protocol-version'] !== version && !this.#lax('version-header')) {
      return new Refusal(-32020, 400)
    }
    if (version !== '2026-07-28' && !this.#lax('version')) {
      return new Refusal(-32022, 400, { supported: ['2026-07-28'], requested: version })
    }
    if (headers['mcp-method'] !== method && !this.#lax('method-header')) {
      return new Refusal(-32020, 400)
    }
    const name = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }[method]
    const differs = name !== undefined && headers['mcp-name'] !== params[name]
    return differs && !this.#lax('name-header') ? new Refusal(-32020, 400) : undefined
  }

  #refuseLegacy({ headers, method }: Asked): Refusal | undefined {
    if (this.#options.era === 'modern') return new Refusal(-32022, 400)
    if (method === 'initialize' || this.#lax('session')) return undefined
    const { 'mcp-session-id': session, 'mcp-protocol-version': version = '2025-03-26' } = headers
    if (session === undefined) return new Refusal(-32600, 400)
    if (session !== SESSION) return new Refusal(-32600, 404)
    return LEGACY.includes(String(version)) ? undefined : new Refusal(-32600, 400)
  }

  #own(): Readonly<Record<string, Handler>> {
    const { capabilities = CAPABILITIES, tools = SOUND_TOOLS, pageSize = 1 } = this.#options
    const { prompts = [{ name: 'greet' }], templates = [] } = this.#options
    const { resources = [{ uri: 'sound://one', name: 'one' }] } = this.#options
    return {
      'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities }),
      initialize: ({ protocolVersion: wanted }) => ({
        protocolVersion: LEGACY.includes(String(wanted)) ? wanted : LEGACY[0],
        capabilities,
        serverInfo: INFO,
      }),
      ping: () => ({}),
      'tools/list': ({ cursor }) => {
        const from = cursor === undefined ? 0 : Number(cursor)
        if (!(from >= 0 && from < tools.length))
          return cursor === undefined ? { tools } : new Refusal(-32602)
        const next = from + pageSize
        const page = tools.slice(from, next)
        return { tools: page, ...(next < tools.length ? { nextCursor: String(next) } : {}) }
      },
      'prompts/list': () => ({ prompts }),
      'resources/list': () => ({ resources }),
      'resources/templates/list': () => ({ resourceTemplates: templates }),
      'tools/call': () => new Refusal(-32602),
      'prompts/get': () => new Refusal(-32602),
      'resources/read': (_, { era }) => new Refusal(era === 'modern' ? -32602 : -32002),
      'subscriptions/listen': () => ACKNOWLEDGED,
    }
  }

  #lax(check: Lax): boolean {
    return this.#options.lax?.includes(check) === true
  }
}

const ACKNOWLEDGED = {}

/** As it goes out. */
function said({ id, method, era }: Asked, outcome: object | Refusal): Answer {
  if (outcome instanceof Refusal) {
    const { code, status, data } = outcome
    const error = { code, message: 'no', ...(data === undefined ? {} : { data }) }
    return { status, body: { jsonrpc: '2.0', id, error } }
  }
  if (outcome === ACKNOWLEDGED) return acknowledgement(id)
  const modern = {
    resultType: 'complete',
    _meta: { [`${META}serverInfo`]: INFO },
    ...(/\/list$|discover$/.test(method) ? { ttlMs: 0, cacheScope: 'private' } : {}),
  }
  const result = era === 'modern' ? { ...modern, ...outcome } : outcome
  return { status: 200, body: { jsonrpc: '2.0', id, result } }
}

/** The first and only message of a subscription that ends at once. */
export function acknowledgement(
  id: string | number | undefined,
  method = 'notifications/subscriptions/acknowledged',
): Answer {
  const params = { notifications: {}, _meta: { [`${META}subscriptionId`]: id } }
  const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: event }
}

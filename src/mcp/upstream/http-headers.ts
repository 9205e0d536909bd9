/**
 * The headers of one HTTP server's messages: rebuilt for each of them, never taken from elsewhere; what
 * the operator configured travels, but not over what belongs to the message.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP.
 */
import { mirrorHeaders } from '../wire/headers.ts'
import { SESSION_HEADER } from '../wire/rev-2025-11-25.ts'
import { MCP_HEADERS, MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import type { FlatHeaders } from './http-exchange.ts'
import type { LinkRequest } from './link.ts'

export interface HttpEndpoint {
  /** http or https, with path and query. */
  readonly url: string
  /** The operator's headers for this peer, for example Authorization. */
  readonly headers: Readonly<Record<string, string>>
}

/** What every message of a link carries. */
export interface InForce {
  /** From `configuredHeaders`. */
  readonly configured: Readonly<Record<string, string>>
  /** What was agreed on. */
  readonly revision: string | undefined
  readonly session: string | undefined
}

/** Headers that belong to the message: configured ones must not override them. */
const OWN_HEADERS =
  /^(?:content-(?:type|length|encoding)|transfer-encoding|accept|host|connection|last-event-id|mcp-.*)$/i

/** The operator's, by lower-case name, without those that belong to the message. */
export function configuredHeaders({ headers }: HttpEndpoint): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !OWN_HEADERS.test(name))
      .map(([name, value]) => [name.toLowerCase(), value]),
  )
}

/** As they go out. */
export function flatHeaders(headers: Readonly<Record<string, string>>): FlatHeaders {
  return Object.entries(headers).flat()
}

/** Of a message that is no request, and of the end of a session. */
export function messageHeaders(inForce: InForce): FlatHeaders {
  return flatHeaders(baseHeaders(inForce))
}

/** Names that are remembered; what has more of them is asked for resources, each of which may have its own. */
const MOST_NAMES = 1024

/** The headers of one link's requests: those of the same method and name are the same until something else is in force. */
export class RequestHeaders {
  readonly #configured: InForce['configured']
  #inForce: InForce
  #known = new Map<string, Map<string | undefined, FlatHeaders>>()
  #names = 0

  constructor(configured: InForce['configured']) {
    this.#configured = configured
    this.#inForce = { configured, revision: undefined, session: undefined }
  }

  get inForce(): InForce {
    return this.#inForce
  }

  /** From now on. */
  put(revision: string | undefined, session: string | undefined): void {
    this.#inForce = { configured: this.#configured, revision, session }
    this.#forget()
  }

  of(request: LinkRequest): FlatHeaders {
    const { method, name, paramHeaders, revision } = request
    if (revision !== undefined) return flatHeaders(requestHeaders(this.#inForce, request))
    const same = this.#known.get(method)?.get(name) ?? this.#learn(request)
    if (paramHeaders === undefined || this.#inForce.revision !== MODERN_REVISION) return same
    return [...same, ...flatHeaders(lowerCase(paramHeaders))]
  }

  #learn({ method, name }: LinkRequest): FlatHeaders {
    if (this.#names >= MOST_NAMES) this.#forget()
    const request = name === undefined ? { method } : { method, name }
    const headers = flatHeaders(requestHeaders(this.#inForce, request))
    const names = this.#known.get(method) ?? new Map<string | undefined, FlatHeaders>()
    this.#known.set(method, names.set(name, headers))
    this.#names += 1
    return headers
  }

  #forget(): void {
    this.#known = new Map()
    this.#names = 0
  }
}

function baseHeaders(inForce: InForce): Record<string, string> {
  return {
    ...commonHeaders(inForce),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
}

/** Of a request; a modern one repeats what its body says. */
function requestHeaders(
  inForce: InForce,
  request: Pick<LinkRequest, 'method' | 'name' | 'paramHeaders' | 'revision'>,
): Record<string, string> {
  const { method, name, paramHeaders = {}, revision = inForce.revision } = request
  // Before a session revision is agreed on the header would claim what nobody said.
  const base = baseHeaders({
    ...inForce,
    revision: method === 'initialize' ? undefined : revision,
  })
  if (revision !== MODERN_REVISION) return base
  const body = { protocolVersion: revision, method, ...(name === undefined ? {} : { name }) }
  return { ...base, ...lowerCase(mirrorHeaders(body)), ...lowerCase(paramHeaders) }
}

/** Of a GET for an event stream. @param lastEventId where an earlier one stopped. */
export function streamHeaders(inForce: InForce, lastEventId: string | undefined): FlatHeaders {
  return flatHeaders({
    ...commonHeaders(inForce),
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  })
}

/** The session that an answer to `initialize` begins; undefined for what is no sound id. */
export function sessionOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const session = headers[SESSION_HEADER.toLowerCase()]
  return typeof session === 'string' && /^[\x21-\x7e]{1,1024}$/.test(session) ? session : undefined
}

function commonHeaders({ configured, revision, session }: InForce): Record<string, string> {
  return {
    ...configured,
    ...(revision === undefined ? {} : { [MCP_HEADERS.protocolVersion.toLowerCase()]: revision }),
    ...(session === undefined ? {} : { [SESSION_HEADER.toLowerCase()]: session }),
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

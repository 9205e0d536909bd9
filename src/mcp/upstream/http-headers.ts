/**
 * The headers of one HTTP server's messages: rebuilt for each of them, never taken from elsewhere; what
 * the operator configured travels, but not over what belongs to the message.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP.
 */
import { mirrorHeaders } from '../wire/headers.ts'
import { SESSION_HEADER } from '../wire/rev-2025-11-25.ts'
import { MCP_HEADERS, MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
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

/** Of a message that is no request, and of the end of a session. */
export function messageHeaders(inForce: InForce): Record<string, string> {
  return {
    ...commonHeaders(inForce),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
}

/** Of a request; a modern one repeats what its body says. */
export function requestHeaders(inForce: InForce, request: LinkRequest): Record<string, string> {
  const { method, name, paramHeaders = {}, revision = inForce.revision } = request
  // Before a session revision is agreed on the header would claim what nobody said.
  const base = messageHeaders({
    ...inForce,
    revision: method === 'initialize' ? undefined : revision,
  })
  if (revision !== MODERN_REVISION) return base
  const body = { protocolVersion: revision, method, ...(name === undefined ? {} : { name }) }
  return { ...base, ...lowerCase(mirrorHeaders(body)), ...lowerCase(paramHeaders) }
}

/** Of a GET for an event stream. @param lastEventId where an earlier one stopped. */
export function streamHeaders(
  inForce: InForce,
  lastEventId: string | undefined,
): Record<string, string> {
  return {
    ...commonHeaders(inForce),
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  }
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

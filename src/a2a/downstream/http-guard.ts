/**
 * What an HTTP request must be before its body is read: from a known host and origin, of a type that can be answered.
 */
import type { IncomingHttpHeaders } from 'node:http'

/** A refusal by status, with a reason for people. */
export interface HttpRefusal {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Names under which only this machine reaches itself. */
export const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Media types of a JSON-RPC body; the answer has the one the request had. @source A2A 1.0.1, 9.1 and 11.1 */
const MEDIA_TYPES: readonly string[] = ['application/json', 'application/a2a+json']

/** Headers that say one thing, by lower-case name. */
const SINGLE = new Map(
  [
    'Authorization',
    'Host',
    'Origin',
    'Content-Type',
    'MCP-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
    'Mcp-Session-Id',
    'A2A-Version',
  ].map((name) => [name.toLowerCase(), name]),
)

/**
 * Refuses a header that says one thing and came twice: of two values, whatever stands before this door may have read the
 * other one. Node gives the first of them, or both joined.
 *
 * @param raw names and values in turn, as `request.rawHeaders` has them.
 */
export function refuseRepeats(raw: readonly string[]): HttpRefusal | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const key = name.toLowerCase()
    if (!SINGLE.has(key)) continue
    if (seen.has(key)) {
      return {
        status: 400,
        message: `the header ${SINGLE.get(key) ?? key} came more than once: send it once`,
      }
    }
    seen.add(key)
  }
  return undefined
}

/**
 * Judges Host and Origin, against DNS rebinding.
 *
 * @param allowed host names without ports, lower case; IPv6 in brackets.
 */
export function refuseOrigin(
  headers: IncomingHttpHeaders,
  allowed: readonly string[],
): HttpRefusal | undefined {
  const host = hostOf(`http://${headers.host ?? ''}`)
  if (host === undefined || !allowed.includes(host)) {
    return { status: 403, message: 'the Host header names none of the hosts served here' }
  }
  const { origin } = headers
  if (origin === undefined) return undefined
  const from = /^https?:\/\//iu.test(origin) ? hostOf(origin) : undefined
  if (from !== undefined && allowed.includes(from)) return undefined
  return { status: 403, message: 'requests from this Origin are not served' }
}

/** Judges the type of a body. @returns the media type to answer in. */
export function readMediaType(
  headers: IncomingHttpHeaders,
): { readonly mediaType: string } | { readonly refused: HttpRefusal } {
  const [type, ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  const mediaType = type?.trim() ?? ''
  if (!MEDIA_TYPES.includes(mediaType)) {
    return refuseType('expected Content-Type: application/json (or application/a2a+json)')
  }
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/u.test(charset)) {
    return refuseType('expected charset utf-8')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    return refuseType('expected no Content-Encoding')
  }
  return { mediaType }
}

function refuseType(message: string): { readonly refused: HttpRefusal } {
  return { refused: { status: 415, message } }
}

function hostOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { hostname, username, pathname } = new URL(url)
  if (hostname === '' || username !== '' || pathname !== '/') return undefined
  return hostname.toLowerCase()
}

/**
 * What an HTTP request must be before its body is read: from a known host and origin, of a type that can be answered.
 *
 * @source MCP 2026-07-28, transports, Streamable HTTP, security: Origin and Host against DNS rebinding
 */
import type { IncomingHttpHeaders } from 'node:http'

import { encodeError } from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { Reply } from './answer.ts'

/** A refusal by status, with a reason for people. */
export interface HttpRefusal {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A refusal of a request that was not read, so that there is no id to answer. */
export function refusalReply({ status, message, headers }: HttpRefusal): Reply {
  const body = encodeError(undefined, { code: RPC_ERRORS.invalidRequest, message })
  return { status, body, ...(headers === undefined ? {} : { headers }) }
}

/** Names under which only this machine reaches itself. */
export const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Headers that say one thing, by lower-case name; and `mcp-param-*`. */
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
    'Last-Event-ID',
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
  if (raw.length > MANY_HEADERS * 2) return refuseRepeatsOfMany(raw)
  for (let index = 2; index < raw.length; index += 2) {
    const name = raw[index]!
    for (let before = 0; before < index; before += 2) {
      const other = raw[before]!
      // Names of one length are few, and hardly two of them begin alike.
      if (other.length !== name.length || !beginsAlike(other, name)) continue
      if (other.toLowerCase() === name.toLowerCase() && isSingle(name.toLowerCase()))
        return refuseRepeat(name)
    }
  }
  return undefined
}

/** So many names are compared with each other; a set finds repeated ones among more. */
const MANY_HEADERS = 24

function refuseRepeatsOfMany(raw: readonly string[]): HttpRefusal | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const key = name.toLowerCase()
    if (!isSingle(key)) continue
    if (seen.has(key)) return refuseRepeat(name)
    seen.add(key)
  }
  return undefined
}

/** Letters differ in one bit by their case; what else does is told apart by whoever looks closer. */
function beginsAlike(one: string, other: string): boolean {
  return ((one.charCodeAt(0) ^ other.charCodeAt(0)) & ~0x20) === 0
}

function isSingle(key: string): boolean {
  return SINGLE.has(key) || key.startsWith('mcp-param-')
}

function refuseRepeat(name: string): HttpRefusal {
  return {
    status: 400,
    message: `the header ${SINGLE.get(name.toLowerCase()) ?? name} came more than once: send it once`,
  }
}

/**
 * Judges Host and Origin, and the host in a target that names one: it counts before Host does (RFC 9112, 3.2.2).
 *
 * @param allowed host names without ports, lower case; IPv6 in brackets.
 */
export function refuseOrigin(
  headers: IncomingHttpHeaders,
  allowed: readonly string[],
  target = '/',
): HttpRefusal | undefined {
  const host = hostOfHeader(headers.host ?? '')
  if (host === undefined || !allowed.includes(host)) {
    return { status: 403, message: 'the Host header names none of the hosts served here' }
  }
  const named = target.startsWith('/')
    ? host
    : hostOf(/^[^/?#]*\/\/[^/?#]*/u.exec(target)?.[0] ?? '')
  if (named === undefined || !allowed.includes(named)) {
    return { status: 403, message: 'the request names none of the hosts served here' }
  }
  const { origin } = headers
  if (origin === undefined) return undefined
  const from = /^https?:\/\//i.test(origin) ? hostOf(origin) : undefined
  if (from === undefined || !allowed.includes(from)) {
    return { status: 403, message: 'requests from this Origin are not served' }
  }
  return undefined
}

const MAX_KEPT = 200
const MAX_KEY = 400

/** Judges Content-Type and Accept of a POST. */
export function refuseMediaTypes(headers: IncomingHttpHeaders): HttpRefusal | undefined {
  const { accept, 'content-type': type, 'content-encoding': encoding } = headers
  for (const good of goodTypes)
    if (good.type === type && good.accept === accept && good.encoding === encoding) return undefined
  const refused = judgeMediaTypes(headers)
  if (refused !== undefined || `${type}${accept}`.length > MAX_KEY) return refused
  goodTypes[nextGood] = { type, accept, encoding }
  nextGood = (nextGood + 1) % MAX_GOOD
  return undefined
}

function judgeMediaTypes(headers: IncomingHttpHeaders): HttpRefusal | undefined {
  const [type, ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  if (type?.trim() !== 'application/json') {
    return { status: 415, message: 'expected Content-Type: application/json' }
  }
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    return { status: 415, message: 'expected charset utf-8' }
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    return { status: 415, message: 'expected no Content-Encoding' }
  }
  if (takes(headers, 'application/json') && takes(headers, 'text/event-stream')) return undefined
  return { status: 406, message: 'expected Accept: application/json, text/event-stream' }
}

/** Judges Accept of a GET, which is answered by an event stream only. */
export function refuseListening(headers: IncomingHttpHeaders): HttpRefusal | undefined {
  if (takes(headers, 'text/event-stream')) return undefined
  return { status: 406, message: 'expected Accept: text/event-stream' }
}

/** Whether Accept lets this type through; nothing said takes everything. */
function takes({ accept }: IncomingHttpHeaders, name: string): boolean {
  if (accept === undefined) return true
  const accepts = accept.toLowerCase().split(',').map(mediaRange)
  const family = name.slice(0, name.indexOf('/'))
  return accepts.includes(name) || accepts.includes(`${family}/*`) || accepts.includes('*/*')
}

function mediaRange(text: string): string {
  const [range, ...parameters] = text.split(';')
  const refused = parameters.some((one) => /^q=0(\.0*)?$/.test(one.trim()))
  return refused ? '' : (range ?? '').trim()
}

/** Headers that were found good, for callers send the same ones with each request. */
const goodTypes: {
  readonly type: string | undefined
  readonly accept: string | undefined
  readonly encoding: string | undefined
}[] = []
const MAX_GOOD = 8
let nextGood = 0
/** Hosts that were read. What is long is read each time, and when there are too many all are forgotten. */
const hosts = new Map<string, string>()

/** The last one that was asked for: callers of one door mostly name it alike. */
let lateHost: { readonly header: string; readonly host: string | undefined } | undefined

function hostOfHeader(header: string): string | undefined {
  if (lateHost?.header === header) return lateHost.host
  const host = hostOf(`http://${header}`)
  if (header.length <= MAX_KEY) lateHost = { header, host }
  return host
}

function hostOf(url: string): string | undefined {
  const known = hosts.get(url)
  if (known !== undefined) return known
  const host = parseHost(url)
  if (host === undefined || url.length > MAX_KEY) return host
  if (hosts.size >= MAX_KEPT) hosts.clear()
  hosts.set(url, host)
  return host
}

function parseHost(url: string): string | undefined {
  try {
    const { hostname, username, pathname } = new URL(url)
    return hostname === '' || username !== '' || pathname !== '/'
      ? undefined
      : hostname.toLowerCase()
  } catch {
    return undefined
  }
}

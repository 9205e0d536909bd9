/**
 * The one client for every address that came from outside: which may be gone to, how much is read, how long is waited.
 *
 * Names are judged by the address that is dialled, not by one that was looked up before. What the answer means is the
 * caller's to decide; nothing it says of a failure holds a secret.
 */
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, request, type Dispatcher } from 'undici'
import { classifyAddress, type AddressClass } from './address-class.ts'
import { OAuthFailure } from './oauth-failure.ts'

/** A request to an address that came from outside. */
export interface GuardedRequest {
  readonly url: string
  /** What is there, for messages: "the token endpoint". */
  readonly what: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/** What came. A redirect that may not be followed comes as any other status. */
export interface GuardedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** An object, when the body is JSON of one. */
  readonly json: Readonly<Record<string, unknown>> | undefined
  /** What came in its place, when it is none: in words. */
  readonly instead: string
}

/** @throws OAuthFailure `unreachable`, or `forbidden_address` when nothing was sent. */
export type GuardedFetch = (request: GuardedRequest) => Promise<GuardedAnswer>

/** As `dns.lookup`, for all addresses of a name. */
export type ResolveName = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Bounds of one request. */
export interface GuardOptions {
  /** Default `dns.lookup`. */
  readonly resolveName?: ResolveName
  /** Of a body. Default 256 KiB. */
  readonly maxBytes?: number
  /** From the first byte sent to the last received, redirects included. Default 15 seconds. */
  readonly timeoutMs?: number
}

const MAX_REDIRECTS = 3
/** No metadata and no tokens are that long; four times as much, nested, takes half a second to parse. */
const MAX_BYTES = 256 * 1024
const TIMEOUT_MS = 15_000

/**
 * @param operators addresses that the operator configured: their origins are his to name, and where they are on loopback, or in a
 * private network, other addresses may be there too.
 */
export function createGuardedFetch(
  operators: readonly string[],
  options: GuardOptions = {},
): GuardedFetch {
  const trust = trustOf(operators, options.resolveName ?? systemLookup)
  return async (wanted) => {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
    const signal = AbortSignal.any([wanted.signal, timeout])
    try {
      return await follow(trust, { ...wanted, signal }, options.maxBytes ?? MAX_BYTES)
    } catch (cause) {
      if (wanted.signal.aborted) throw wanted.signal.reason
      if (cause instanceof OAuthFailure) throw cause
      throw unreachable(wanted, timeout.aborted ? 'did not answer in time' : reasonOf(cause), cause)
    }
  }
}

/** The scheme, host and form of an address, before anything is dialled. @returns why it may not be gone to. */
export function refuseAddress(url: string, operators: readonly string[]): string | undefined {
  return judgeUrl(trustOf(operators, systemLookup), url)
}

/** An address without what may be secret in it. */
export function showAddress(url: string): string {
  if (!URL.canParse(url)) return 'an address that is none'
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`.slice(0, 300)
}

interface Trust {
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
  readonly isOnLoopback: boolean
  readonly resolveName: ResolveName
}

function trustOf(operators: readonly string[], resolveName: ResolveName): Trust {
  const urls = operators.filter((url) => URL.canParse(url)).map((url) => new URL(url))
  return {
    hosts: new Set(urls.map(({ hostname }) => hostname)),
    origins: new Set(urls.map(({ origin }) => origin)),
    isOnLoopback: urls.some(({ hostname }) => isLoopbackName(hostname)),
    resolveName,
  }
}

function judgeUrl(trust: Trust, address: string): string | undefined {
  if (address.length > 8192 || !URL.canParse(address)) return 'it is no URL'
  const url = new URL(address)
  if (url.username !== '' || url.password !== '') return 'it has a user name in it'
  if (url.protocol === 'https:') return undefined
  if (url.protocol !== 'http:') return `it is ${url.protocol.slice(0, 20)} and not https:`
  if (trust.origins.has(url.origin)) return undefined
  return trust.isOnLoopback && isLoopbackName(url.hostname)
    ? undefined
    : 'it is http: and not https:'
}

async function follow(trust: Trust, wanted: GuardedRequest, maxBytes: number) {
  let url = wanted.url
  for (let redirects = 0; ; redirects += 1) {
    const refused = judgeUrl(trust, url)
    if (refused !== undefined) throw forbidden(wanted, url, refused)
    const sent = redirects === 0 ? wanted : withoutCredentials(wanted, url)
    const answer = await exchange(trust, { ...sent, url }, maxBytes)
    const location = answer.headers['location']
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.status)
    // What a body or a client's secret went to is never moved elsewhere.
    if (!isRedirect || wanted.method === 'POST' || typeof location !== 'string') return answer
    if (redirects === MAX_REDIRECTS) {
      throw unreachable(wanted, `redirects more than ${MAX_REDIRECTS} times`)
    }
    if (!URL.canParse(location, url)) throw forbidden(wanted, location, 'it is no URL')
    url = new URL(location, url).href
  }
}

function withoutCredentials(wanted: GuardedRequest, url: string): GuardedRequest {
  if (new URL(url).origin === new URL(wanted.url).origin) return wanted
  const kept = Object.entries(wanted.headers ?? {}).filter(([name]) =>
    ['accept', 'content-type', 'mcp-protocol-version'].includes(name.toLowerCase()),
  )
  return { ...wanted, headers: Object.fromEntries(kept) }
}

async function exchange(
  trust: Trust,
  wanted: GuardedRequest,
  maxBytes: number,
): Promise<GuardedAnswer> {
  const url = new URL(wanted.url)
  const { mayDial, lookup } = await guardDial(trust, url)
  const literal = withoutBrackets(url.hostname)
  // Literals are dialled without being looked up.
  if (isIP(literal) !== 0 && !mayDial(literal)) {
    throw forbidden(wanted, wanted.url, 'it is in a network of its own')
  }
  // An agent of its own: no connection that was opened for somebody else is taken over.
  const agent = new Agent({ connect: { lookup }, maxHeaderSize: 32 * 1024 })
  try {
    const response = await request(url, {
      dispatcher: agent,
      method: wanted.method ?? 'GET',
      headers: { accept: 'application/json', 'accept-encoding': 'identity', ...wanted.headers },
      body: wanted.body ?? null,
      signal: wanted.signal,
    })
    return await readAnswer(response, wanted, maxBytes)
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(wanted, wanted.url, 'it is in a network of its own')
    throw cause
  } finally {
    void agent.destroy()
  }
}

/** The judgement of each address at the moment in which it is dialled. */
async function guardDial(trust: Trust, url: URL) {
  const literal = withoutBrackets(url.hostname)
  const isOperators = trust.origins.has(url.origin)
  const isPlain = url.protocol === 'http:' && !isOperators
  // Asked once and before: the operator's own hosts say which private networks are meant.
  const mayBePrivate = !isOperators && (await isAnyPrivate(trust))
  const mayDial = (address: string) => {
    const kind = classifyAddress(address)
    // The operator may mean such an address, but no name of his comes to mean one later.
    if (isOperators) return kind !== 'special' || isIP(literal) !== 0
    if (kind === 'loopback') return trust.isOnLoopback && isLoopbackName(url.hostname)
    if (isPlain) return false
    return kind === 'public' || (kind === 'private' && mayBePrivate)
  }
  const lookup: LookupFunction = (hostname, options, callback) => {
    trust.resolveName(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null) return callback(error, [])
      if (first === undefined || !addresses.every(({ address }) => mayDial(address))) {
        return callback(new ForbiddenDial(), [])
      }
      if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
  return { mayDial, lookup }
}

class ForbiddenDial extends Error {
  readonly code = 'COMITY_FORBIDDEN_DIAL'
}

function isForbidden(cause: unknown): boolean {
  if (cause instanceof ForbiddenDial) return true
  return cause instanceof Error && cause.cause !== undefined && isForbidden(cause.cause)
}

async function isAnyPrivate(trust: Trust): Promise<boolean> {
  const found = await Promise.all([...trust.hosts].map((host) => classesOf(host, trust)))
  return found.some((classes) => classes.length > 0 && classes.every((kind) => kind === 'private'))
}

function classesOf(hostname: string, trust: Trust): Promise<AddressClass[]> {
  const literal = withoutBrackets(hostname)
  if (isIP(literal) !== 0) return Promise.resolve([classifyAddress(literal)])
  return new Promise((resolve) => {
    trust.resolveName(hostname, { all: true }, (error, addresses) =>
      resolve(error === null ? addresses.map(({ address }) => classifyAddress(address)) : []),
    )
  })
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** By its spelling alone: what a name resolves to is its owner's to change. */
function isLoopbackName(hostname: string): boolean {
  const literal = withoutBrackets(hostname)
  if (isIP(literal) !== 0) return classifyAddress(literal) === 'loopback'
  return literal === 'localhost' || literal.endsWith('.localhost')
}

async function readAnswer(
  response: Dispatcher.ResponseData,
  wanted: GuardedRequest,
  maxBytes: number,
): Promise<GuardedAnswer> {
  const { statusCode: status, headers } = response
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw unreachable(wanted, `answered with more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  const coding = String(headers['content-encoding'] ?? 'identity')
  if (coding.trim().toLowerCase() !== 'identity') {
    const shown = /^[\w-]{1,20}/.exec(coding)?.[0] ?? 'something'
    return { status, headers, json: undefined, instead: `${status} packed as ${shown}` }
  }
  const type = String(headers['content-type'] ?? '')
  if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    const shown = /^[\w.+/-]{1,60}/.exec(type)?.[0] ?? 'no content type'
    return { status, headers, json: undefined, instead: `${status} with ${shown}` }
  }
  const json = parseObject(Buffer.concat(chunks))
  return { status, headers, json, instead: `${status} with JSON that is no object` }
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function forbidden(wanted: GuardedRequest, url: string, why: string): OAuthFailure {
  return new OAuthFailure(
    'forbidden_address',
    `${wanted.what} is said to be at ${showAddress(url)}, where we do not go: ${why}`,
  )
}

function unreachable(wanted: GuardedRequest, why: string, cause?: unknown): OAuthFailure {
  const message = `${wanted.what} at ${showAddress(wanted.url)} ${why}`
  return new OAuthFailure('unreachable', message, { cause })
}

function reasonOf(cause: unknown): string {
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  const code = inner instanceof Error && 'code' in inner ? String(inner.code) : ''
  return code === '' ? 'cannot be reached' : `cannot be reached (${code.slice(0, 40)})`
}

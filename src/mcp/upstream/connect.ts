/**
 * Which era a server speaks: asks once with `server/discover`, which has no effects, and falls back
 * to `initialize`. Never opens with anything that could act.
 *
 * What shows a modern server is its discover result or an error code that only 2026-07-28 has;
 * everything else, silence included, means an older one. The fallback hangs on no single code. What an
 * earlier connection found is assumed; where the server shows that it is not so, it is asked once more.
 *
 * @source MCP 2026-07-28, basic, versioning and backward compatibility; 2025-11-25, lifecycle.
 */
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { hopParams } from '../wire/codec.ts'
import { LEGACY_REVISION, LEGACY_REVISIONS } from '../wire/rev-2025-11-25.ts'
import { MODERN_META, MODERN_ONLY_CODES, MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { encodeJson, readValue } from '../wire/spans.ts'
import type { Era } from './era.ts'
import { LinkFailure, type Agreement, type Link } from './link.ts'

/** What the server said of itself. Claims; they drive nothing but what is asked of it. */
export interface PeerFacts extends Agreement {
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Name and version. */
  readonly callsItself?: string
  readonly instructions?: string
}

export interface Connected {
  readonly link: Link
  readonly facts: PeerFacts
}

export interface ConnectOptions {
  /** Locks the revision; nothing else is tried. */
  readonly revision?: string
  /** What an earlier connection to the same endpoint found: a legacy server is not probed again. Not used under a lock. */
  readonly era?: Era
  /** Client capabilities for a session of that revision. Default none. */
  readonly declare?: (revision: string) => Readonly<Record<string, unknown>>
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /** How long silence to the probe is waited for, milliseconds. Default 5000. */
  readonly probeMs?: number
  /** How long the whole may take, starting of the server included, milliseconds. Default 60000. */
  readonly startMs?: number
}

/** Revisions that `initialize` may agree on; the oldest differs in HTTP only. */
const ACCEPTED: ReadonlySet<string> = new Set([...LEGACY_REVISIONS, '2024-11-05'])
const DEFAULT_PROBE_MS = 5_000
const DEFAULT_START_MS = 60_000

type Probe =
  | { readonly kind: 'modern'; readonly facts: PeerFacts }
  /** `sure`: the server said so itself. */
  | { readonly kind: 'legacy'; readonly why: string; readonly sure: boolean }
  | { readonly kind: 'failed'; readonly failure: LinkFailure }

/**
 * Opens a link and agrees on a revision.
 *
 * @param open makes a fresh link: a server that ends on the probe is started once more.
 * @throws LinkFailure saying what to change; nothing with effects was sent.
 */
export async function connect(
  open: () => Promise<Link>,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connected> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.startMs ?? DEFAULT_START_MS)])
  const assumed = options.revision === undefined ? options.era?.assumed() : undefined
  const fail = (error: unknown): never => {
    options.era?.doubt()
    throw error
  }
  try {
    return await attempt(open, options, assumed, limit, signal)
  } catch (error) {
    if (assumed?.era !== 'legacy' || !refusedInitialize(error)) return fail(error)
  }
  options.era?.broke()
  return attempt(open, options, undefined, limit, signal).catch(fail)
}

async function attempt(
  open: () => Promise<Link>,
  options: ConnectOptions,
  assumed: Agreement | undefined,
  limit: AbortSignal,
  signal: AbortSignal,
): Promise<Connected> {
  const link = await open()
  try {
    const facts = await agree(link, options, assumed, limit)
    if (facts !== 'reopen') return { link, facts }
  } catch (error) {
    await link.close()
    throw limit.aborted && !signal.aborted ? tooSlow(link, options) : explained(error, link)
  }
  await link.close()
  const second = await open()
  try {
    const facts = await initialize(second, LEGACY_REVISION, options, limit)
    options.era?.found(facts, false)
    return { link: second, facts }
  } catch (error) {
    await second.close()
    throw explained(error, second)
  }
}

/** The server answered `initialize`, and not as a server of sessions does. */
function refusedInitialize(error: unknown): boolean {
  if (!(error instanceof LinkFailure)) return false
  const { reason, status = 0 } = error
  if (reason === 'unclear') return status >= 400 && status < 500
  return reason === 'refused' || reason === 'unreadable'
}

async function agree(
  link: Link,
  options: ConnectOptions,
  assumed: Agreement | undefined,
  signal: AbortSignal,
): Promise<PeerFacts | 'reopen'> {
  const { revision, era } = options
  if (revision !== undefined && revision !== MODERN_REVISION) {
    return initialize(link, revision, options, signal)
  }
  if (assumed?.era === 'legacy') {
    const facts = await initialize(link, assumed.revision, options, signal)
    era?.found(facts, facts.revision !== assumed.revision)
    return facts
  }
  const probing = new AbortController()
  const probe = discover(link, options, AbortSignal.any([signal, probing.signal]))
  const first = await Promise.race([probe, silence(options.probeMs ?? DEFAULT_PROBE_MS, probing)])
  if (revision === MODERN_REVISION) return lockedModern(first === 'silent' ? await probe : first)
  if (first === 'silent') return initializeOrLate(link, probe, probing, options, signal)
  switch (first.kind) {
    case 'modern':
      era?.found(first.facts, true)
      return first.facts
    case 'legacy': {
      if (assumed !== undefined && first.sure) era?.broke()
      const facts = await initialize(link, LEGACY_REVISION, options, signal, first.why)
      era?.found(facts, first.sure)
      return facts
    }
    case 'failed':
      // Some old servers end themselves when they are spoken to before `initialize`.
      if (first.failure.reason === 'broken' && link.transport === 'stdio') return 'reopen'
      throw first.failure
  }
}

function lockedModern(probe: Probe): PeerFacts {
  if (probe.kind === 'modern') return probe.facts
  if (probe.kind === 'failed') throw probe.failure
  const what = `the configuration locks \`revision: ${MODERN_REVISION}\`, but the server does not speak it: ${probe.why}; remove the lock or update the server`
  throw new LinkFailure('unreachable', false, what)
}

/** A slow starter may still answer the probe; whichever answer is sound first decides. */
async function initializeOrLate(
  link: Link,
  probe: Promise<Probe>,
  probing: AbortController,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<PeerFacts> {
  // Over HTTP the silent request holds a connection; on stdio it costs nothing to leave it open.
  if (link.transport === 'http') probing.abort()
  const late = probe.then((found) => (found.kind === 'modern' ? found.facts : undefined))
  const old = initialize(link, LEGACY_REVISION, options, signal, 'it did not answer the probe')
  const first = await Promise.race([late, old.catch(() => undefined)])
  const found = first ?? (await lateModern(link, late, old, probing, options)) ?? (await old)
  // A server that answered `initialize` may only have been slow to answer the probe.
  options.era?.found(found, found.era === 'modern')
  return found
}

/** One of the two has failed. A modern server may refuse `initialize` before it answers the probe. */
async function lateModern(
  link: Link,
  late: Promise<PeerFacts | undefined>,
  old: Promise<PeerFacts>,
  probing: AbortController,
  options: ConnectOptions,
): Promise<PeerFacts | undefined> {
  const patience = silence(options.probeMs ?? DEFAULT_PROBE_MS, probing)
  const refused = await old.then(
    () => false,
    () => true,
  )
  if (!refused || link.transport !== 'stdio') return undefined
  const modern = await Promise.race([late, patience])
  return modern === 'silent' ? undefined : modern
}

async function discover(
  link: Link,
  options: ConnectOptions,
  signal: AbortSignal,
  again = true,
): Promise<Probe> {
  const params = hopParams(undefined, {
    era: 'modern',
    protocolVersion: MODERN_REVISION,
    clientCapabilities: encodeJson({}),
    clientInfo: options.clientInfo,
  })
  try {
    const answer = await link.request({
      id: link.nextId(),
      method: 'server/discover',
      params,
      revision: MODERN_REVISION,
      followRedirect: true,
      signal,
    })
    if (answer.kind === 'result') return readDiscover(link, answer)
    // A revision that the server names is to be tried (basic, versioning), even the one it refused.
    const retry = again && offered(answer)?.includes(MODERN_REVISION) === true
    return retry ? await discover(link, options, signal, false) : readRefusal(answer)
  } catch (error) {
    if (!(error instanceof LinkFailure)) throw error
    const old = ['refused', 'unclear', 'unreadable'].includes(error.reason)
    if (!old) return { kind: 'failed', failure: error }
    // A server in trouble, or one that is asked too often, says nothing of what it speaks.
    const sure = error.status === undefined || (error.status < 500 && error.status !== 429)
    return { kind: 'legacy', why: error.message, sure }
  }
}

function readDiscover(link: Link, answer: RpcResult): Probe {
  const result = objectOf(readValue(answer.bytes, answer.result.value))
  const versions = stringsOf(result.supportedVersions)
  if (versions === undefined) {
    return { kind: 'legacy', why: 'it answered server/discover with something else', sure: true }
  }
  if (!versions.includes(MODERN_REVISION)) return otherVersions(versions)
  const agreement: Agreement = { era: 'modern', revision: MODERN_REVISION }
  link.agree(agreement)
  const meta = objectOf(result._meta)
  return { kind: 'modern', facts: readFacts(agreement, result, meta[MODERN_META.serverInfo]) }
}

function readRefusal(answer: RpcError): Probe {
  const why = `it answered server/discover with error ${answer.code}`
  if (!MODERN_ONLY_CODES.has(answer.code)) return { kind: 'legacy', why, sure: true }
  const versions = offered(answer)
  if (versions !== undefined && !versions.includes(MODERN_REVISION)) return otherVersions(versions)
  const what =
    versions === undefined
      ? `the server speaks ${MODERN_REVISION} but refuses to be asked what it offers: error ${answer.code}`
      : `the server refuses ${MODERN_REVISION} and offers it in the same answer, twice: error ${answer.code}`
  return { kind: 'failed', failure: new LinkFailure('unreachable', false, what) }
}

/** The revisions that a refusal names. */
function offered({ code, bytes, data }: RpcError): readonly string[] | undefined {
  if (!MODERN_ONLY_CODES.has(code) || data === undefined) return undefined
  return stringsOf(objectOf(readValue(bytes, data)).supported)
}

/** A server that names only session revisions is reached by `initialize`. */
function otherVersions(versions: readonly string[]): Probe {
  const why = `it supports ${versions.join(', ') || 'no revision at all'}`
  if (versions.some((version) => ACCEPTED.has(version))) return { kind: 'legacy', why, sure: true }
  const known = `${MODERN_REVISION}, ${LEGACY_REVISIONS.join(', ')}`
  const failure = new LinkFailure(
    'unreachable',
    false,
    `no revision in common: ${why}; we speak ${known}`,
  )
  return { kind: 'failed', failure }
}

async function initialize(
  link: Link,
  revision: string,
  options: ConnectOptions,
  signal: AbortSignal,
  probed?: string,
): Promise<PeerFacts> {
  const context = probed === undefined ? '' : ` (before that ${probed})`
  const params = encodeJson({
    protocolVersion: revision,
    capabilities: options.declare?.(revision) ?? {},
    clientInfo: readValue(options.clientInfo),
  })
  const answer = await link.request({
    id: link.nextId(),
    method: 'initialize',
    params,
    followRedirect: true,
    signal,
  })
  if (answer.kind === 'error') {
    const said = `the server refused initialize with error ${answer.code}: ${answer.message.slice(0, 300)}`
    throw new LinkFailure('refused', false, `${said}${context}`)
  }
  const result = objectOf(readValue(answer.bytes, answer.result.value))
  const agreed = result.protocolVersion
  if (typeof agreed !== 'string' || !ACCEPTED.has(agreed)) {
    const said = typeof agreed === 'string' ? agreed.slice(0, 40) : 'no protocolVersion'
    throw new LinkFailure(
      'refused',
      false,
      `the server answered initialize with ${said}; we speak ${[...ACCEPTED].join(', ')}`,
    )
  }
  if (options.revision !== undefined && agreed !== options.revision) {
    const what = `the configuration locks \`revision: ${options.revision}\`, but the server answered ${agreed}`
    throw new LinkFailure('unreachable', false, what)
  }
  const agreement: Agreement = { era: 'legacy', revision: agreed }
  link.agree(agreement)
  await link.notify('notifications/initialized')
  return readFacts(agreement, result, result.serverInfo)
}

function readFacts(
  agreement: Agreement,
  result: Readonly<Record<string, unknown>>,
  info: unknown,
): PeerFacts {
  const { name, version } = objectOf(info)
  const { instructions } = result
  return {
    ...agreement,
    capabilities: objectOf(result.capabilities),
    ...(typeof name === 'string'
      ? {
          callsItself: `${name} ${typeof version === 'string' ? version : ''}`.trim().slice(0, 200),
        }
      : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}

function silence(ms: number, probing: AbortController): Promise<'silent'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('silent'), ms)
    timer.unref()
    probing.signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  })
}

/** The failure with what the server printed, so that "exited with code 1" says why. */
function explained(error: unknown, link: Link): unknown {
  const printed = link.complaints().slice(-1000)
  if (!(error instanceof LinkFailure) || printed === '') return error
  const { reason, sent, status } = error
  return new LinkFailure(reason, sent, `${error.message}; it printed: ${printed}`, {
    cause: error,
    ...(status === undefined ? {} : { status }),
  })
}

function tooSlow(link: Link, options: ConnectOptions): unknown {
  const ms = options.startMs ?? DEFAULT_START_MS
  return explained(
    new LinkFailure('unreachable', false, `the server did not answer within ${ms} ms`),
    link,
  )
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Readonly<Record<string, unknown>>) : {}
}

function stringsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.filter((item): item is string => typeof item === 'string')
}

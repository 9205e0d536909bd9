/**
 * Which era a server speaks: asks once with `server/discover`, which has no effects, and falls back
 * to `initialize`. Never opens with anything that could act.
 *
 * What an earlier connection found is assumed; where the server shows that it is not so, it is asked
 * once more. Silence and everything that is not of 2026-07-28 means an older server.
 *
 * @source MCP 2026-07-28, basic, versioning and backward compatibility; 2025-11-25, lifecycle.
 */
import { LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { encodeJson, readValue } from '../wire/spans.ts'
import type { Era } from './era.ts'
import { objectOf, type PeerFacts, readFacts } from './facts.ts'
import { LinkFailure, type Agreement, type Link } from './link.ts'
import { ACCEPTED, discover, type Probe } from './probe.ts'

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

const DEFAULT_PROBE_MS = 5_000
const DEFAULT_START_MS = 60_000
/** How long a server may take to take the notification that ends the handshake, milliseconds. */
const INITIALIZED_MS = 2_000

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
    // What could not even be reached says nothing against what it was found to speak.
    const reached = error instanceof LinkFailure && error.reason !== 'unreachable'
    if (reached) options.era?.doubt()
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
  const probe = discover(link, options.clientInfo, AbortSignal.any([signal, probing.signal]))
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
      return reopenAfter(first.failure, link)
  }
}

/** Some old servers end themselves when they are spoken to before `initialize`. */
function reopenAfter(error: unknown, link: Link): 'reopen' {
  const ended = error instanceof LinkFailure && error.reason === 'broken'
  if (ended && link.transport === 'stdio') return 'reopen'
  throw error
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
): Promise<PeerFacts | 'reopen'> {
  // Over HTTP the silent request holds a connection; on stdio it costs nothing to leave it open.
  if (link.transport === 'http') probing.abort()
  const late = probe.then((found) => (found.kind === 'modern' ? found.facts : undefined))
  const old = initialize(link, LEGACY_REVISION, options, signal, 'it did not answer the probe')
  const first = await Promise.race([late, old.catch(() => undefined)])
  const modern = first ?? (await lateModern(link, late, old, probing, options))
  const found = modern ?? (await old.catch((error: unknown) => reopenAfter(error, link)))
  if (found === 'reopen') return found
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
  await tellInitialized(link)
  return readFacts(agreement, result, result.serverInfo)
}

/** However the server answers it: what is asked next shows whether the session is of use. */
async function tellInitialized(link: Link): Promise<void> {
  const waiting = new AbortController()
  const told = link.notify('notifications/initialized').catch((error: unknown) => {
    if (!(error instanceof LinkFailure)) throw error
  })
  await Promise.race([told, silence(INITIALIZED_MS, waiting)])
  waiting.abort()
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
    new LinkFailure('unclear', false, `the server did not answer within ${ms} ms`),
    link,
  )
}

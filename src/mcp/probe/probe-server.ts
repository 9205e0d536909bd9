/**
 * The probe of one server: what it speaks, what it offers, which rules it breaks, and what model APIs will say to its tools. Sends
 * nothing that could act, ends in time, and leaves no process and no session behind.
 */
import type { Dispatcher } from 'undici'
import { objectOf } from '../upstream/facts.ts'
import type { Credentials } from '../upstream/credentials.ts'
import type { HttpEndpoint } from '../upstream/http-headers.ts'
import { wayOf, createPool } from '../upstream/http.ts'
import type { ServerCommand } from '../upstream/supervise.ts'
import { startBudget, type Budget } from './budget.ts'
import { checkHeaders, checkMethods, checkOrigin, checkSession } from './check-http.ts'
import { checkItems, type JudgeSchema } from './check-items.ts'
import { checkModern, checkUnknown } from './check-odd.ts'
import type { Discovery, Spoken } from './discovery.ts'
import { findOverHttp } from './find-http.ts'
import { findOverStdio } from './find-stdio.ts'
import { createFindings, type Findings } from './findings.ts'
import { judged } from './judge-reply.ts'
import { makeReport, type Told } from './make-report.ts'
import type { Asking, ClientInfo } from './raw.ts'
import { readLists, type ReadList } from './read-lists.ts'
import type { AuthFacts, ProbeReport } from './report.ts'
import { createRawHttp, type RawHttp } from './wire-http.ts'

/** What is probed. */
export type ProbeTarget =
  | (HttpEndpoint & {
      readonly transport: 'http'
      /** What its messages bear, beside its headers; where there is neither it is seen as by a stranger. */
      readonly credentials?: Credentials
    })
  | (ServerCommand & { readonly transport: 'stdio' })

export interface ProbeDeps {
  readonly clientInfo: ClientInfo
  /** What a command's minimal environment is chosen from. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly judgeSchema: JudgeSchema
  /** Learns how one logs in, without doing it. Over HTTP only. @param challenges of a 401; undefined when there was none. */
  learnAuth(challenges: readonly string[] | undefined, signal: AbortSignal): Promise<AuthFacts>
  /** Default: a pool of our own. */
  readonly dispatcher?: Dispatcher
}

export interface ProbeOptions {
  /** Everything together, milliseconds. Default 90000. */
  readonly wholeMs?: number
  /** One request, milliseconds. Default 8000. */
  readonly requestMs?: number
  /** The first answer of a command, milliseconds. Default 30000. */
  readonly startMs?: number
  /** One answer, and all that a process prints, bytes. Default 16 MiB. */
  readonly maxBytes?: number
}

/** How the target is shown. */
export type Shown = ProbeReport['target']

const DEFAULT_WHOLE_MS = 90_000
const DEFAULT_REQUEST_MS = 8_000
const DEFAULT_START_MS = 30_000
const DEFAULT_MAX_BYTES = 16 * 1024 * 1024
/** How long compiling all schemas may take, milliseconds. */
const SCHEMAS_MS = 20_000

/** Probes it. @param shown how it is named in the report. */
export async function probeServer(
  target: ProbeTarget,
  shown: Shown,
  deps: ProbeDeps,
  signal: AbortSignal,
  options: ProbeOptions = {},
): Promise<ProbeReport> {
  const { wholeMs = DEFAULT_WHOLE_MS, requestMs = DEFAULT_REQUEST_MS } = options
  const since = performance.now()
  const budget = startBudget(wholeMs, requestMs, signal)
  const run: Run = {
    deps,
    options,
    budget,
    findings: createFindings(() => budget.request() === 0),
    since,
    shown,
  }
  return target.transport === 'stdio' ? probeStdio(target, run) : probeHttp(target, run)
}

interface Run extends Told {
  readonly deps: ProbeDeps
  readonly options: ProbeOptions
  readonly budget: Budget
}

async function probeStdio(server: ServerCommand, run: Run): Promise<ProbeReport> {
  const { deps, options, budget, findings } = run
  const { startMs = DEFAULT_START_MS, maxBytes = DEFAULT_MAX_BYTES } = options
  const { clientInfo, environment } = deps
  const found = await findOverStdio({
    server,
    environment,
    budget,
    maxBytes,
    startMs,
    clientInfo,
    findings,
  })
  try {
    const lists = await lookAt(found, run)
    await found.close()
    return makeReport(found, lists, run)
  } finally {
    await found.close()
  }
}

async function probeHttp(
  target: Extract<ProbeTarget, { transport: 'http' }>,
  run: Run,
): Promise<ProbeReport> {
  const { deps, options, budget, findings } = run
  const { clientInfo } = deps
  const { maxBytes = DEFAULT_MAX_BYTES } = options
  const { credentials, url, headers } = target
  const { origin } = new URL(url)
  const dispatcher = deps.dispatcher ?? createPool(origin)
  const bears = credentials === undefined ? {} : { credentials }
  const endpoint = { url, headers }
  const wire = createRawHttp({
    endpoint,
    way: wayOf(origin, { dispatcher, ...bears }),
    budget,
    maxBytes,
  })
  const isStranger = credentials === undefined && Object.keys(headers).length === 0
  const bare = isStranger
    ? wire
    : createRawHttp({
        endpoint: { url, headers: {} },
        way: wayOf(origin, { dispatcher }),
        budget,
        maxBytes,
      })
  try {
    const sse = { dispatcher, ...bears, budget, maxBytes, clientInfo }
    const found = await findOverHttp({ bare, wire, endpoint, sse, clientInfo, findings })
    try {
      const lists = await lookAt(found, run)
      await lookAtHttp(found, wire, run)
      const isThere = found.unreachable === undefined || found.refused !== undefined
      const challenges = bare.challenges() ?? wire.challenges()
      return makeReport(found, lists, run, isThere ? await learnAuth(challenges, run) : undefined)
    } finally {
      await found.close()
    }
  } finally {
    if (deps.dispatcher === undefined) await dispatcher.destroy()
  }
}

/** Everything that is the same over every transport. */
async function lookAt(found: Discovery, run: Run): Promise<readonly ReadList[]> {
  const { findings, deps } = run
  const lists: ReadList[] = []
  for (const spoken of [found.modern, found.legacy]) {
    if (spoken === undefined) continue
    findings.resume()
    spoken.wire?.whenGone((method, why) => {
      findings.add('server.ended', why, `${method} ${spoken.asking.revision}`)
      findings.pause(`what came after ${method} of ${spoken.asking.revision}: it was gone`)
    })
    const asking = judged(spoken.asking, findings)
    judgeOpened(spoken, findings)
    const capabilities = objectOf(spoken.opened['capabilities'])
    const isSaid = Object.keys(spoken.opened).length > 0
    const read = await readLists(asking, isSaid ? capabilities : undefined, findings)
    // The same items in two revisions are judged once, in the newer.
    if (lists.length === 0) checkItems(read, asking, inTime(run), findings)
    lists.push(...read)
    await checkUnknown(asking, capabilities, findings)
    if (isWired(spoken) && asking.era === 'modern') {
      await checkModern(spoken, asking, deps.clientInfo, findings)
    }
    outOfTime(run, asking)
  }
  judgeEras(found, findings)
  return lists
}

async function lookAtHttp(found: Discovery, wire: RawHttp, run: Run): Promise<void> {
  const { findings, deps } = run
  const { modern, legacy, revisions } = found
  if (modern !== undefined) await checkHeaders(wire, modern, deps.clientInfo, findings)
  const hasSessions = revisions.some(({ by, spoken }) => by === 'initialize' && spoken)
  if (modern !== undefined && !hasSessions) await checkMethods(wire, findings)
  if (legacy !== undefined) await checkSession(legacy, findings)
  const spoken = modern ?? legacy
  if (spoken !== undefined && isWired(spoken)) {
    await checkOrigin(wire, spoken, deps.clientInfo, findings)
  }
}

/** What the first answer of a revision has to hold. */
function judgeOpened({ asking, opened }: Spoken, findings: Findings): void {
  const { era, revision } = asking
  const hasCapabilities =
    typeof opened['capabilities'] === 'object' && opened['capabilities'] !== null
  if (era === 'legacy') {
    const { name, version } = objectOf(opened['serverInfo'])
    const sound = hasCapabilities && typeof name === 'string' && typeof version === 'string'
    if (!sound) findings.add('init.shape', undefined, `initialize ${revision}`)
  } else if (Object.keys(opened).length > 0) {
    if (!hasCapabilities) findings.add('discover.capabilities')
    const { supportedVersions: versions } = opened
    const sound = Array.isArray(versions) && versions.includes(revision)
    if (!sound) findings.add('discover.versions', JSON.stringify(versions) ?? 'missing')
  }
  if (objectOf(opened['capabilities'])['logging'] !== undefined) {
    findings.add('deprecated.logging')
  }
}

function judgeEras(
  { modern, legacy, revisions, asked, unreachable }: Discovery,
  findings: Findings,
): void {
  if (unreachable !== undefined) return
  if (modern === undefined && legacy !== undefined) findings.add('era.sessions-only')
  if (revisions.some(({ transport, spoken }) => transport === 'http+sse' && spoken)) {
    findings.add('deprecated.http-sse')
  }
  for (const method of new Set(asked())) {
    if (method === 'roots/list') findings.add('deprecated.roots')
    if (method === 'sampling/createMessage') findings.add('deprecated.sampling')
    // Roots were declared, and anybody may ping.
    if (method !== 'roots/list' && method !== 'ping') findings.add('ask.undeclared', method)
  }
}

async function learnAuth(
  challenges: readonly string[] | undefined,
  { deps, budget, findings }: Run,
): Promise<AuthFacts> {
  const facts = await deps.learnAuth(challenges, budget.signal)
  for (const { rule, saw } of facts.faults) findings.add(rule, saw)
  return facts
}

/** The judge of schemas, for as long as there is time. */
function inTime({ deps, budget, findings }: Run): JudgeSchema {
  let left = SCHEMAS_MS
  return (schema) => {
    if (left <= 0 || budget.request() === 0) {
      findings.skip('not all schemas were compiled: it took too long')
      return undefined
    }
    const since = performance.now()
    const fault = deps.judgeSchema(schema)
    left -= performance.now() - since
    return fault
  }
}

function outOfTime({ budget, findings }: Run, { revision }: Asking): void {
  if (budget.request() === 0) {
    findings.skip(
      `the time was used up at ${revision}: what is told of it and of what came after is not whole`,
    )
  }
}

function isWired(
  spoken: Spoken,
): spoken is Spoken & { readonly wire: NonNullable<Spoken['wire']> } {
  return spoken.wire !== undefined
}

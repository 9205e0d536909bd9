/**
 * Recorded calls that only read, made once more on each of two revisions: through gate and record, as calls of this user.
 *
 * What policy or pins do not class as read now is left, whatever it was when it was recorded.
 */
import type { Dispatch, Dispatched } from '../../core/ports/doors.ts'
import type { NewCall } from '../../core/words/call.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import { LOCAL } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { jsonText, mcpNative } from '../../mcp/wire/native.ts'
import { MODERN_REVISION } from '../../mcp/wire/rev-2026-07-28.ts'
import { encodeJson, setMembers } from '../../mcp/wire/spans.ts'
import { openLive } from '../admin/asking.ts'
import type { Live } from '../admin/operator.ts'
import type { HostParts } from '../admin/parts.ts'
import { compareAnswers, summaryOf } from './compare-answers.ts'
import { medianOf } from './median.ts'
import { COMPAT_DOOR, type RecordedRead } from './recorded-reads.ts'
import type { CallDifference, ReplayedCalls } from './words.ts'

/** One revision, reached. */
export interface ReplaySide {
  readonly revision: string
  readonly dispatch: Dispatch
}

export interface Replay {
  readonly calls: Omit<ReplayedCalls, 'found'>
  readonly fromMs?: number
  readonly toMs?: number
}

const CALL_MS = 60_000
const EMPTY = encodeJson({})

/** Makes the calls one after another. @param sides the older revision, then the newer. */
export async function replayReads(
  parts: Pick<HostParts, 'catalogue' | 'clock' | 'policy'>,
  peer: string,
  reads: readonly RecordedRead[],
  sides: readonly [ReplaySide, ReplaySide],
  live: Live,
): Promise<Replay> {
  const left = new Map<string, number>()
  const leave = (reason: string): void => void left.set(reason, (left.get(reason) ?? 0) + 1)
  const different: CallDifference[] = []
  const times: [number[], number[]] = [[], []]
  let [replayed, same, unsteady] = [0, 0, 0]
  for (const [index, read] of reads.entries()) {
    if (live.signal.aborted) {
      leave('called off')
      continue
    }
    live.event({
      event: 'progress',
      progress: index + 1,
      total: reads.length,
      message: read.exposed,
    })
    const call = await callOf(parts, peer, read)
    if (typeof call === 'string') {
      leave(call)
      continue
    }
    const made = await makeTwice(parts, call, sides, index % 2 === 1, live)
    if ('left' in made) {
      leave(made.left)
      continue
    }
    replayed += 1
    for (const at of [0, 1] as const) times[at].push(made.answers[at].ms)
    const [from, to] = made.answers
    const compared = compareAnswers(from.outcome, to.outcome, made.again)
    unsteady += compared.unsteady
    if (compared.same) same += 1
    else different.push(differenceOf(read, from, to, compared.places))
  }
  const [fromMs, toMs] = times.map(medianOf)
  return {
    calls: {
      replayed,
      same,
      different,
      left: [...left].map(([reason, count]) => ({ reason, count })),
      unsteady,
    },
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  }
}

interface Answered extends Dispatched {
  readonly ms: number
}

type Made =
  | { readonly answers: readonly [Answered, Answered]; readonly again: Outcome }
  | { readonly left: string }

/** Once on each revision, and once more on the older. @param isSwapped the newer one goes first, so that neither is always the warm one. */
async function makeTwice(
  parts: Pick<HostParts, 'clock'>,
  call: NewCall,
  [older, newer]: readonly [ReplaySide, ReplaySide],
  isSwapped: boolean,
  live: Live,
): Promise<Made> {
  const order = isSwapped ? [newer, older, older] : [older, newer, older]
  const answers: Answered[] = []
  for (const side of order) {
    const answered = await make(parts, call, side, live)
    const why = notComparable(answered.outcome)
    if (why !== undefined) return { left: `${why} (on ${side.revision})` }
    answers.push(answered)
  }
  const [first, second, third] = answers
  if (first === undefined || second === undefined || third === undefined)
    throw new TypeError('three answers to three calls')
  return { answers: isSwapped ? [second, first] : [first, second], again: third.outcome }
}

async function make(
  { clock }: Pick<HostParts, 'clock'>,
  call: NewCall,
  { dispatch, revision }: ReplaySide,
  live: Live,
): Promise<Answered> {
  const opened = openLive({ signal: live.signal, event: () => undefined }, CALL_MS, false)
  const started = performance.now()
  try {
    const door = `${COMPAT_DOOR}${revision}`
    const made = { ...call, door, deadlineAt: clock.now() + CALL_MS }
    return { ...(await dispatch(made, opened.exchange)), ms: performance.now() - started }
  } finally {
    opened.close()
  }
}

/** @returns why it cannot be made now. */
async function callOf(
  { catalogue, policy }: Pick<HostParts, 'catalogue' | 'policy'>,
  peer: string,
  read: RecordedRead,
): Promise<NewCall | string> {
  const route =
    read.kind === 'resource'
      ? await catalogue.resolve('resource', read.exposed, LOCAL)
      : (await catalogue.find(peer, read.capability, [read.kind]))?.route
  if (route?.peer !== peer) return 'it is not offered any more, or this user may not see it'
  const args =
    read.operation === 'read' ? jsonTextOf({ uri: route.exposed }) : jsonText(read.arguments)
  const { risk, effect, rule } = policy.decide(LOCAL, route, args)
  if (risk !== 'read') return `it is classed as ${risk} now`
  if (effect !== 'allow') return `a rule says ${effect} (${rule})`
  return {
    route,
    principal: LOCAL,
    operation: read.operation,
    native: mcpNative(paramsOf(route, read, args.bytes), MODERN_REVISION),
    arguments: args,
    door: COMPAT_DOOR,
    deadlineAt: 0,
    trace: {},
  }
}

function paramsOf(route: Route, { operation }: RecordedRead, args: Uint8Array): Uint8Array {
  if (operation === 'read') return args
  return setMembers(EMPTY, undefined, { name: encodeJson(route.exposed), arguments: args })
}

/** What says nothing of a revision: it never left, or it would need a person. */
function notComparable(outcome: Outcome): string | undefined {
  if (outcome.state === 'input_required' || outcome.state === 'auth_required')
    return 'it asks a question'
  if (outcome.state === 'working') return 'it became long work'
  if (outcome.state !== 'failed' || outcome.ran !== 'no') return undefined
  if (outcome.code === 'pin_changed' || outcome.code === 'unknown_capability')
    return 'what it calls differs'
  if (outcome.origin === 'policy' || outcome.origin === 'validation') return outcome.detail
  return outcome.code === 'canceled_before_send' ? 'called off' : undefined
}

function differenceOf(
  { kind, capability }: RecordedRead,
  from: Answered,
  to: Answered,
  places: readonly string[],
): CallDifference {
  return {
    kind,
    capability,
    callIds: { from: from.callId, to: to.callId },
    from: saidOf(from.outcome),
    to: saidOf(to.outcome),
    places,
  }
}

function saidOf(outcome: Outcome): string {
  const summary = summaryOf(outcome)
  return 'detail' in outcome ? `${summary}: ${outcome.detail.slice(0, 300)}` : summary
}

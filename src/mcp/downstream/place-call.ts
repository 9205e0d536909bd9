/**
 * Places one call: from a visit and a route to dispatch and back to an answer. The spine of tools, reads and prompts.
 *
 * Where the eras of caller and peer differ, questions are bridged here: a caller with a session is asked live, one of
 * 2026-07-28 by `input_required`, whether its peer keeps the call open or not.
 */
import type { Begun, Dispatched } from '../../core/ports/doors.ts'
import type { Continuation, Idempotency, NewCall, Operation } from '../../core/words/call.ts'
import type { JsonText } from '../../core/words/native.ts'
import { longWorkOf } from '../../core/words/outcome.ts'
import { riskOf } from '../../core/words/risk.ts'
import type { Route } from '../../core/words/route.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { badParams, type Answer } from './answer.ts'
import { inNameOf } from './asked-by.ts'
import { awaitEnd, resumeTask } from './delegation.ts'
import { askCaller, askParked, askToOpen, tooManyRounds, type Placed } from './ask-caller.ts'
import { openEnvelope, readUnasked, type Round, type Sealed } from './envelope.ts'
import { openExchange, type OpenExchange } from './exchange.ts'
import { linkedUris } from './links.ts'
import { askInRounds } from './live-rounds.ts'
import { createCall } from './new-call.ts'
import type { Door } from './options.ts'
import { answerOutcome, readableAnswer } from './outcome.ts'
import type { By, ParkedCall } from './parked.ts'
import { handOut } from './tasks.ts'
import { urlsToOpen } from './url-required.ts'
import type { Visit } from './visit.ts'

/** @param args what policy and schema look at, already checked strictly. */
export function placeCall(
  door: Door,
  visit: Visit,
  route: Route,
  operation: Operation,
  args: JsonText,
): Answer | Promise<Answer> {
  const placed: Placed = { door, visit, route }
  const earlier = openEnvelope(door, visit, route.exposed)
  if (earlier !== undefined && earlier.kind !== 'round') return earlier
  if (earlier?.sealed.kind === 'parked') return resumeParked(placed, earlier, earlier.sealed)
  if (earlier?.sealed.kind === 'task' && door.ports.delegation !== undefined) {
    const { delegation } = door.ports
    const shown = { door, delegation, visit, exposed: route.exposed, round: earlier.round }
    return resumeTask(shown, earlier.sealed.taskId, earlier.answers)
  }
  if (earlier?.sealed.kind === 'again') {
    const unopened = checkOpened(placed, earlier, earlier.sealed)
    if (unopened !== undefined) return unopened
  }
  const unasked = earlier === undefined ? readUnasked(visit, route.peer) : undefined
  if (unasked !== undefined && 'kind' in unasked) return unasked
  const { limits, ports } = door
  const askable = canBeAsked(visit)
  const isLasting = operation === 'call' && takesTasks(visit) && ports.delegation !== undefined
  const rounds = askable ? limits.maxRounds * limits.questionMs : 0
  const call = createCall(door, visit, route, operation, args, {
    continuation: unasked ?? continuationOf(earlier),
    idempotency: singleUse(route, operation, earlier),
    patientMs: isLasting ? limits.taskMs : rounds,
  })
  // The exchange keeps the time: what a person takes to answer is not the call's.
  const leftMs = isLasting ? limits.taskMs : limits.callMs
  const opened = openExchange(visit, leftMs, door.deadlines, isLasting)
  const round = earlier?.round ?? 0
  if (visit.era !== 'modern') return runAsked(placed, call, opened)
  if (!askable && !isLasting) return run(placed, call, opened, round)
  const by = { principal: visit.principal.id, asker: visit, bytes: visit.request.bytes.length }
  const parked = isLasting
    ? beginLasting(placed, by, call, opened)
    : door.parked.begin(by, opened, (exchange) =>
        ports.dispatch(call, inNameOf(route.peer, exchange)),
      )
  return answerNext(placed, parked, round)
}

/** Of this era, and its handles are for the caller to keep. */
function takesTasks({ era, can }: Visit): boolean {
  return era === 'modern' && can.tasks === 'own'
}

/** A call that becomes a task when it takes long. */
function beginLasting(
  { door, route }: Placed,
  by: By<Visit>,
  call: NewCall,
  opened: OpenExchange,
): ParkedCall<Visit> {
  let begun: Promise<Begun> | undefined
  const keep = async (): Promise<TaskRecord | undefined> => (await begun)?.keep()
  return door.parked.begin({ ...by, keep }, opened, async (exchange) => {
    begun = door.ports.delegation?.begin(call, inNameOf(route.peer, exchange))
    return (await begun)?.reply ?? door.ports.dispatch(call, exchange)
  })
}

/** The call of one who can be asked nothing while it runs. */
async function run(
  placed: Placed,
  call: NewCall,
  opened: OpenExchange,
  round: number,
): Promise<Answer> {
  const { door, route } = placed
  try {
    return finish(
      placed,
      await door.ports.dispatch(call, inNameOf(route.peer, opened.exchange)),
      round,
    )
  } finally {
    opened.close()
  }
}

/** The call of one with a session, who is asked on it. */
async function runAsked(placed: Placed, call: NewCall, opened: OpenExchange): Promise<Answer> {
  const { door, route } = placed
  try {
    const exchange = inNameOf(route.peer, opened.exchange)
    const dispatched = await door.ports.dispatch(call, exchange)
    const ended = await askInRounds(placed, dispatched, exchange, (continuation) =>
      door.ports.dispatch({ ...call, continuation }, exchange),
    )
    return 'kind' in ended ? ended : finish(placed, ended, 0)
  } finally {
    opened.close()
  }
}

function canBeAsked({ can }: Visit): boolean {
  return can.form || can.url || can.sampling || can.roots
}

/** A retry that takes over the call it was asked by. */
async function resumeParked(
  placed: Placed,
  earlier: Round,
  sealed: Extract<Sealed, { kind: 'parked' }>,
): Promise<Answer> {
  const { door, visit } = placed
  const call =
    sealed.instance === door.parked.instance ? door.parked.find(sealed.parked) : undefined
  if (call === undefined) return lost(visit, earlier.callId)
  // While one retry waits the round is the same, and what comes next is its own.
  if (call === 'over' || call.round() !== earlier.round || call.isAwaited())
    return badParams('requestState was used already: it holds for one retry only')
  const fault = call.faultOf(earlier.answers)
  if (fault !== undefined) return badParams(fault)
  call.resume(visit, earlier.answers)
  return answerNext(placed, call, 0)
}

async function answerNext(placed: Placed, call: ParkedCall<Visit>, round: number): Promise<Answer> {
  const coming = call.next()
  const task = await keptWhenLong(placed.door, call, coming)
  if (task !== undefined) return handOut(placed.door, task)
  const next = await coming
  return next.kind === 'ended'
    ? finish(placed, next.dispatched, round)
    : askParked(placed, call, next.questions)
}

/** What takes longer than its caller is to wait becomes a task; what asks meanwhile is asked first. */
async function keptWhenLong(
  { limits, report }: Door,
  call: ParkedCall<Visit>,
  coming: Promise<unknown>,
): Promise<TaskRecord | undefined> {
  if (call.keep === undefined) return undefined
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(late.resolve, limits.taskAfterMs, 'late')
  try {
    if ((await Promise.race([coming, late.promise])) !== 'late' || call.isAsking()) return undefined
    const task = await call.keep()
    if (task === undefined) return undefined
    call.release()
    // Its end is told by its task.
    coming.catch(report)
    return task
  } catch (fault) {
    // Not on record, so not shown: it is waited for as any other call. What the call itself threw comes again.
    report(fault)
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

/** What waited for the answers is gone: what it did before that nobody here knows. */
function lost(visit: Visit, callId: string): Answer {
  const text =
    'It is not known whether this ran: the process in which the call waited for these answers has ended, or gave it up.\n' +
    `Do not simply repeat it. What is on record: comity explain ${callId}`
  const meta = { state: 'unknown', code: 'process_died', callId, ran: 'unknown' } as const
  return readableAnswer(visit, text, meta)
}

/** Whether every address was opened; what there is to say when not. */
function checkOpened(
  placed: Placed,
  { answers, round, callId }: Round,
  sealed: Extract<Sealed, { kind: 'again' }>,
): Answer | undefined {
  const given = sealed.urls.map(({ key }) => answers.find((answer) => answer.key === key))
  if (given.some((answer) => answer !== undefined && answer.action !== 'accept')) {
    const text = `The peer ${sealed.peer} wants an address opened before it goes on, and that was declined; nothing ran.`
    const meta = { state: 'failed', code: 'peer_error', callId, ran: 'no' } as const
    return readableAnswer(placed.visit, text, meta)
  }
  if (!given.includes(undefined)) return undefined
  const { approvalId, urls } = sealed
  const of = { callId, round, ...(approvalId === undefined ? {} : { approvalId }) }
  return askToOpen(placed, urls, of)
}

function continuationOf(earlier: Round | undefined): Continuation | undefined {
  if (earlier === undefined) return undefined
  if (earlier.sealed.kind === 'parked' || earlier.sealed.kind === 'task') return undefined
  const { callId, answers, sealed } = earlier
  const approval = sealed.approvalId === undefined ? {} : { approvalId: sealed.approvalId }
  return sealed.kind === 'state'
    ? { callId, handle: sealed.handle, answers, ...approval }
    : // From the start: the peer is given back nothing, the approval goes on.
      {
        callId,
        handle: { peer: sealed.peer, kind: 'mcp_state', sealed: '' },
        answers: [],
        ...approval,
      }
}

/** A round of an act goes on once, also after a restart and when two come at once; what only reads may be repeated. */
function singleUse(
  { kind, hints, trusted }: Route,
  operation: Operation,
  earlier: Round | undefined,
): Idempotency | undefined {
  if (earlier === undefined || operation !== 'call') return undefined
  if (riskOf(kind, hints, trusted) === 'read') return undefined
  return { key: `mcp round ${earlier.digest}`, digest: earlier.digest }
}

/** @param round of the state that this call went on from, 0 for none. */
function finish(placed: Placed, dispatched: Dispatched, round: number): Answer | Promise<Answer> {
  const { door, visit, route } = placed
  const { outcome, callId, approvalId, task } = dispatched
  if (task !== undefined && longWorkOf(outcome) !== undefined)
    return goOnAsTask(placed, task, round)
  if (outcome.state === 'input_required' || outcome.state === 'auth_required')
    return askCaller(placed, { ...dispatched, outcome }, round + 1)
  const urls = visit.era === 'modern' ? urlsToOpen(outcome) : undefined
  if (urls !== undefined) {
    if (round >= door.limits.maxRounds) return tooManyRounds(door, visit, dispatched)
    const approval = approvalId === undefined ? {} : { approvalId }
    return askToOpen(placed, urls, { callId, round: round + 1, ...approval })
  }
  const answer = answerOutcome(visit, dispatched)
  reportLinks(door, visit, route, answer)
  return answer
}

/** The peer goes on with it as a task. @param round of the state that led there. */
function goOnAsTask(
  { door, visit, route }: Placed,
  task: TaskRecord,
  round: number,
): Answer | Promise<Answer> {
  const { delegation } = door.ports
  if (takesTasks(visit) || delegation === undefined) return handOut(door, task)
  return awaitEnd({ door, delegation, visit, exposed: route.exposed, round }, task)
}

function reportLinks(door: Door, visit: Visit, route: Route, answer: Answer): void {
  if (answer.kind !== 'result' || answer.revision === undefined) return
  const uris = linkedUris(answer.bytes)
  if (uris.length > 0) door.ports.catalogue.linked(visit.principal, route.peer, uris)
}

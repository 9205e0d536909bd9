/**
 * Dispatch: NEW work, one attempt. Gate, open, send once, settle. Nothing is ever sent twice from here.
 *
 * `Ledger.open` comes before the send and is durable for acts with effects; from `dispatched` on, silence is `unknown`.
 * Old work (answers, cancels, news of tasks) is resume's; it may call this file, never the reverse.
 */
import { gateQuestions } from './gate-questions.ts'
import type { Delegate, Delegated, Dispatch, Dispatched } from './ports/doors.ts'
import type { Tasks } from './ports/tasks.ts'
import type { Translator } from './ports/translator.ts'
import type { Exchange, StopReason, Upstream, UpstreamOf, WireFacts } from './ports/upstream.ts'
import type { Clock, Ids } from './ports/world.ts'
import {
  adapterFault,
  type Earlier,
  notKept,
  notSendable,
  openCall,
  type OpenedCall,
  type Passed,
  type RecordPorts,
  settleCall,
  settleLater,
} from './record-call.ts'
import { step } from './step.ts'
import type { AcceptanceRule } from './words/acceptance.ts'
import type { NewCall, OutboundCall } from './words/call.ts'
import { type Failed, longWorkOf, type Outcome, ranOf, refused } from './words/outcome.ts'
import type { Answer } from './words/question.ts'
import type { TaskRecord } from './words/task.ts'

/** Work of this process behind a task. */
export interface Running {
  stop(why: StopReason): void
  /** Takes answers to what it asks, by the keys in its task; others are left. Its row tells when it resolves. Absent: it asks nothing here. */
  answer?(answers: readonly Answer[]): Promise<void>
  /** Settles when it has ended and that is on record. Absent where a door waits for it. */
  readonly ended?: Promise<unknown>
}

/** By the task it is served as. */
export type RunningWork = Map<string, Running>

export interface DispatchPorts extends RecordPorts {
  readonly running: RunningWork
  readonly upstreamOf: UpstreamOf
  readonly tasks: Tasks
  readonly translator: Translator
  readonly clock: Clock
  readonly ids: Ids
  /** Calls back when it is aborted, once; core knows no events. @returns the way to stop. */
  onAbort(signal: AbortSignal, listener: () => void): () => void
  /** The acceptance rule configured for an agent. */
  acceptanceOf(peer: string): AcceptanceRule | undefined
  /** Whether a finished task of this peer is judged at all. */
  isJudged(task: TaskRecord): boolean
}

/** Makes the two ways into new work: a call awaited to its outcome, and a delegation whose task is known at once. */
export function createDispatch(ports: DispatchPorts): {
  readonly dispatch: Dispatch
  readonly delegate: Delegate
} {
  const delegate: Delegate = async (call, exchange) => {
    const outbound = admit(ports, call)
    const task = isTask(outbound) ? newTask(ports, outbound) : undefined
    const opened = await openCall(ports, outbound, task, exchange)
    if ('refused' in opened && opened.earlier !== undefined)
      return delegatedEarlier(ports, outbound, opened.earlier, opened.refused)
    if ('refused' in opened) {
      const reply = Promise.resolve({ callId: outbound.callId, outcome: opened.refused })
      return { callId: outbound.callId, reply }
    }
    exchange.opened?.(outbound.callId)
    if (task === undefined)
      return { callId: outbound.callId, reply: sendAndSettle(ports, outbound, opened, exchange) }
    const stop = exchange.stop?.bind(exchange)
    if (stop !== undefined) ports.running.set(task.id, { stop })
    const reply = sendAsTask(ports, outbound, opened, exchange, task).finally(() => {
      ports.running.delete(task.id)
    })
    return { callId: outbound.callId, task, reply }
  }
  const dispatch: Dispatch = (call, exchange) => {
    const hasMore = isTask(call) || call.idempotency !== undefined
    return hasMore
      ? delegate(call, exchange).then(({ reply }) => reply)
      : dispatchPlainly(ports, call, exchange)
  }
  return { dispatch, delegate }
}

/** The attempt that a call becomes. */
export function admit(ports: DispatchPorts, call: NewCall): OutboundCall {
  return { ...call, callId: ports.ids.call(), openedAt: ports.clock.now() }
}

/** What was made of the same message before. */
export async function delegatedEarlier(
  ports: DispatchPorts,
  { principal }: OutboundCall,
  { callId, taskId }: Earlier,
  outcome: Outcome,
): Promise<Delegated> {
  const task = taskId === undefined ? undefined : await ports.tasks.load(taskId, principal)
  const told = task === undefined ? {} : { task }
  return { callId, ...told, earlier: true, reply: Promise.resolve({ callId, outcome, ...told }) }
}

/** A delegation always is a task of ours; another call is one when its door asks for it. */
function isTask(call: NewCall): boolean {
  return call.operation === 'delegate' || call.asTask === true
}

/**
 * As `delegate` for what has no task and no earlier call: the path of nearly every call. Its promises are chained by hand, an
 * async function would keep what it holds for each of them.
 */
function dispatchPlainly(
  ports: DispatchPorts,
  call: NewCall,
  exchange: Exchange,
): Promise<Dispatched> {
  try {
    const outbound = admit(ports, call)
    const opening = openCall(ports, outbound, undefined, exchange)
    return opening instanceof Promise
      ? opening.then((opened) => sendOpened(ports, outbound, opened, exchange))
      : sendOpened(ports, outbound, opening, exchange)
  } catch (error) {
    return Promise.reject(error)
  }
}

function sendOpened(
  ports: DispatchPorts,
  call: OutboundCall,
  opened: OpenedCall,
  exchange: Exchange,
): Promise<Dispatched> {
  const { callId } = call
  if ('refused' in opened) return Promise.resolve({ callId, outcome: opened.refused })
  exchange.opened?.(callId)
  return sendAndSettle(ports, call, opened, exchange)
}

function sendAndSettle(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  exchange: Exchange,
): Promise<Dispatched> {
  const settle = (outcome: Outcome): Dispatched | Promise<Dispatched> =>
    settleSent(ports, call, passed, outcome)
  try {
    const sent = send(ports, call, passed, exchange)
    return sent instanceof Promise ? sent.then(settle) : Promise.resolve(settle(sent))
  } catch (error) {
    return Promise.reject(error)
  }
}

function settleSent(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  outcome: Outcome,
): Dispatched | Promise<Dispatched> {
  if (longWorkOf(outcome) !== undefined) return keepLongWork(ports, call, passed, outcome)
  const told = toldBack(ports, call, outcome)
  // Rides in the next commit: a crash before it reads as unknown, which over-reports and never loses.
  settleLater(ports, call.callId, outcome)
  return dispatchedAs(call, passed, told)
}

async function sendAsTask(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  exchange: Exchange,
  task: TaskRecord,
): Promise<Dispatched> {
  return settleTask(ports, call, passed, await send(ports, call, passed, exchange), task)
}

/** The peer made a task of a call that was none: its handle is on record before anyone is shown it. */
export async function keepLongWork(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  outcome: Outcome,
): Promise<Dispatched> {
  const task = newTask(ports, call)
  try {
    if ((await ports.ledger.keep(call.callId, task, [])) === 'kept')
      return await settleTask(ports, call, passed, outcome, task)
  } catch (error) {
    ports.onFault(`the task of call ${call.callId} at ${call.route.peer} is not on record`, error)
  }
  const lost: Outcome = {
    state: 'unknown',
    because: 'peer_unclear',
    detail: `${call.route.peer} goes on with it as a task of its own, which could not be put on record here and is not followed`,
  }
  settleLater(ports, call.callId, lost)
  return dispatchedAs(call, passed, lost)
}

/** Settles a call whose task is on record, and moves the task by its outcome. */
export async function settleTask(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  outcome: Outcome,
  task: TaskRecord,
): Promise<Dispatched> {
  const told = toldBack(ports, call, outcome)
  const result = dispatchedAs(call, passed, told)
  // A task served to another protocol's caller holds what that caller can be given.
  const held = call.asTask === true ? told : outcome
  const now = new Date(ports.clock.now()).toISOString()
  let stepped = step(task, { kind: 'status', outcome: held }, now, ports.isJudged(task))
  const done = await settleCall(ports, call.callId, outcome, (error) => {
    if (error !== undefined) {
      const handle = 'handle' in held ? held.handle : undefined
      stepped = step(task, { kind: 'status', outcome: notKept(error, handle) }, now, false)
    }
    return { barrier: true, task: stepped.commit }
  })
  const ended = done === 'late' ? await ports.tasks.load(task.id, task.owner) : undefined
  if (ended !== undefined) return { ...result, task: ended }
  return { ...result, task: { ...stepped.commit.next, version: task.version + 1 } }
}

/** What the caller's protocol can be told of it. The record and the task keep the peer's own outcome. */
export function toldBack(ports: DispatchPorts, call: OutboundCall, outcome: Outcome): Outcome {
  if (call.native.protocol === call.route.protocol) return outcome
  const back = ports.translator.outcome(outcome, call.native.protocol)
  if (back.dropped.length > 0) {
    ports.ledger.note(call.callId, { kind: 'dropped', facts: { fields: back.dropped } })
  }
  return back.value
}

/** What a door is told of it. */
export function dispatchedAs(
  { callId }: OutboundCall,
  { approvalId }: Passed,
  outcome: Outcome,
): Dispatched {
  return approvalId === undefined ? { callId, outcome } : { callId, outcome, approvalId }
}

/** The one send of a call that is on record. @returns at once when it is not sent. Never rejects. */
export function send(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  exchange: Exchange,
): Outcome | Promise<Outcome> {
  const ready = readyToSend(ports, call, passed, exchange)
  return 'state' in ready ? ready : new Leaving(ports, call).call(ready, exchange)
}

/** A call as its peer gets it, and that peer. */
interface Ready {
  readonly upstream: Upstream
  readonly translated: OutboundCall
}

function readyToSend(
  ports: DispatchPorts,
  call: OutboundCall,
  passed: Passed,
  exchange: Exchange,
): Ready | Failed {
  const stopped = notSendable(ports, call, passed, exchange)
  if (stopped !== undefined) return stopped
  const upstream = ports.upstreamOf(call.route.peer)
  if (upstream === undefined)
    return refused('transport', 'peer_unreachable', `no peer is configured as ${call.route.peer}`)
  const translated = translateRequest(ports, call)
  return 'state' in translated ? translated : { upstream, translated }
}

/** A call on its way to its peer. */
class Leaving {
  /** Whether bytes of it may have left. */
  #left = false
  readonly #ports: DispatchPorts
  readonly #call: OutboundCall

  constructor(ports: DispatchPorts, call: OutboundCall) {
    this.#ports = ports
    this.#call = call
  }

  call({ upstream, translated }: Ready, exchange: Exchange): Outcome | Promise<Outcome> {
    try {
      const answered = upstream.call(
        translated,
        gateQuestions(this.#ports, this.#call, exchange),
        (facts) => this.#noteLeft(facts),
        (outcome) => noteLate(this.#ports, this.#call, outcome),
      )
      return answered.catch((error: unknown) => adapterFault(error, this.#left))
    } catch (error) {
      return adapterFault(error, this.#left)
    }
  }

  #noteLeft(facts: WireFacts): void {
    this.#left = true
    this.#ports.ledger.note(this.#call.callId, { kind: 'dispatched', facts })
  }
}

/** What an answer says that nobody waits for any more: whoever settles an unknown call wants to read it. */
function noteLate({ ledger }: DispatchPorts, { callId }: OutboundCall, outcome: Outcome): void {
  const { state } = outcome
  const why = `the peer answered after the call had ended: ${state}`
  ledger.note(callId, { kind: 'late_news', facts: { why, state, ran: ranOf(outcome) } })
}

function translateRequest(ports: DispatchPorts, call: OutboundCall): OutboundCall | Failed {
  if (call.native.protocol === call.route.protocol) return call
  try {
    const { value, dropped } = ports.translator.request(call)
    if (dropped.length > 0)
      ports.ledger.note(call.callId, { kind: 'dropped', facts: { fields: dropped } })
    return { ...call, native: value }
  } catch (error) {
    return refused(
      'validation',
      'unsupported',
      `cannot be said to ${call.route.peer}: ${(error as Error).message}`,
    )
  }
}

/** The row of a call's task, as it begins. */
export function newTask(ports: DispatchPorts, call: OutboundCall): TaskRecord {
  const now = new Date(call.openedAt).toISOString()
  const acceptance = ports.acceptanceOf(call.route.peer)
  return {
    id: ports.ids.task(),
    version: 0,
    owner: call.principal,
    peer: call.route.peer,
    capability: call.route.capability,
    callId: call.callId,
    ...(call.servedAs === undefined ? {} : { servedAs: call.servedAs }),
    state: 'submitted',
    title: titleOf(call),
    ...(call.contextId === undefined ? {} : { contextId: call.contextId }),
    questions: [],
    artifacts: [],
    ...(acceptance === undefined ? {} : { acceptance }),
    ...(call.taskTtlMs === undefined ? {} : { ttlMs: call.taskTtlMs }),
    verdict: { state: 'not_judged' },
    createdAt: now,
    updatedAt: now,
  }
}

/** Of a delegation its message, of any other call what was called. */
function titleOf({ arguments: given, operation, route }: OutboundCall): string {
  const args = given.value()
  const message =
    typeof args === 'object' && args !== null && 'message' in args ? args.message : undefined
  const text =
    typeof message === 'string'
      ? message.replace(/\s+/gu, ' ').trim()
      : operation === 'delegate'
        ? ''
        : route.capability
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

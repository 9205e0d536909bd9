/**
 * A call and its record: gate, `open` and `settle` for new work and old, so that both are refused and told alike.
 *
 * No fault of the record becomes an exception here: before the send it is a refusal, after it the outcome still reaches its
 * caller and the fault whoever watches this process. A leaf beside gate.ts; it sends nothing.
 */
import { actKey, idempotencyOf, twinOutcome } from './admit.ts'
import { type GatePorts, type GateVerdict, passGate, stillPasses } from './gate.ts'
import type { Ledger, Opened, Opening, Recorded } from './ports/ledger.ts'
import type { Exchange } from './ports/upstream.ts'
import type { Idempotency, OutboundCall } from './words/call.ts'
import { ComityError } from './words/errors.ts'
import { type Failed, type Handle, type Outcome, refused } from './words/outcome.ts'
import type { TaskRecord } from './words/task.ts'

export interface RecordPorts extends GatePorts {
  readonly ledger: Ledger
  /** Told of faults that no caller waits for. */
  onFault(what: string, error: unknown): void
}

/** The call that the same message made before. */
export type Earlier = Extract<Recorded, { kind: 'recorded' }>

/** What the gate let through. */
export type Passed = Extract<GateVerdict, { kind: 'pass' }>

/** What came of the gate and of `open`; what is refused was never sent. */
export type OpenedCall = Passed | { readonly refused: Outcome; readonly earlier?: Earlier }

/**
 * Gate and `open`, in that order; what comes back refused is on record where there is one.
 *
 * @param task created with the call.
 * @returns at once where nothing is waited for: a read without a key that needs no person.
 */
export function openCall(
  ports: RecordPorts,
  call: OutboundCall,
  task?: TaskRecord,
  exchange?: Exchange,
): OpenedCall | Promise<OpenedCall> {
  const idempotency = idempotencyOf(ports.digest, call)
  if (idempotency !== undefined) return openUnderKey(ports, call, { idempotency, task, exchange })
  const verdict = passGate(ports, call)
  const over = { idempotency, task, exchange }
  return verdict instanceof Promise
    ? verdict.then((known) => openPassed(ports, call, known, over))
    : openPassed(ports, call, verdict, over)
}

interface OpenedWith {
  readonly idempotency: Idempotency | undefined
  readonly task: TaskRecord | undefined
  readonly exchange: Exchange | undefined
}

async function openUnderKey(
  ports: RecordPorts,
  call: OutboundCall,
  over: OpenedWith & { readonly idempotency: Idempotency },
): Promise<OpenedCall> {
  const known = await ports.ledger.recorded(over.idempotency)
  if (known !== undefined) return sayRecorded(known)
  return openPassed(ports, call, await passGate(ports, call), over)
}

function openPassed(
  ports: RecordPorts,
  call: OutboundCall,
  verdict: GateVerdict,
  over: OpenedWith,
): OpenedCall | Promise<OpenedCall> {
  if (verdict.kind === 'refused') {
    ports.ledger.refuse(call, verdict.outcome, verdict.decision)
    return { refused: verdict.outcome }
  }
  let opened: Opened | Promise<Opened>
  try {
    opened = ports.ledger.open(openingOf(ports, call, verdict, over))
    // Right behind it, not after it: an equal call may be opened in the very commit that this one waits for.
    over.exchange?.onGone?.(() => ports.ledger.callerGone(call.callId))
  } catch (error) {
    opened = sayUnwritable(error)
  }
  if (!(opened instanceof Promise)) return sayOpened(ports, call, verdict, opened)
  return opened.catch(sayUnwritable).then((known) => sayOpened(ports, call, verdict, known))
}

function openingOf(
  ports: RecordPorts,
  call: OutboundCall,
  { decision, approvalId }: Passed,
  { task, idempotency }: OpenedWith,
): Opening {
  // Whatever the agent's risk is, an answer moves its work on.
  const sideEffect = decision.risk !== 'read' || call.operation === 'answer'
  const opening = {
    call,
    actKey: sideEffect ? actKey(ports.digest, call) : '',
    sideEffect,
    decision,
  }
  if (approvalId === undefined && task === undefined && idempotency === undefined) return opening
  return {
    ...opening,
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(task === undefined ? {} : { task }),
    ...(idempotency === undefined ? {} : { idempotency }),
  }
}

/** The record may also take no more for a reason of its own: too large, too many. */
function sayUnwritable(error: unknown): Opened {
  if (error instanceof ComityError) return { kind: 'unwritable', detail: error.message }
  throw error
}

function sayOpened(
  ports: RecordPorts,
  call: OutboundCall,
  passed: Passed,
  opened: Opened,
): OpenedCall {
  if (opened.kind === 'opened') return passed
  if (opened.kind === 'recorded' || opened.kind === 'key_conflict') return sayRecorded(opened)
  const outcome = notOpened(opened)
  if (opened.kind !== 'unwritable') ports.ledger.refuse(call, outcome, passed.decision)
  return { refused: outcome }
}

/** Not put on record once more: it says nothing new of the call that is there. */
function sayRecorded(known: Recorded): { readonly refused: Outcome; readonly earlier?: Earlier } {
  const { callId } = known
  if (known.kind === 'key_conflict') {
    const detail = `this idempotency key was used before with other content (call ${callId}); nothing was sent, new content needs a new key`
    return { refused: refused('validation', 'key_conflict', detail) }
  }
  return {
    earlier: known,
    refused: {
      state: 'unknown',
      because: 'unsettled_twin',
      twinOf: callId,
      detail: `not sent: the same message is call ${callId} already; comity explain ${callId} says what became of it`,
    },
  }
}

function notOpened(opened: Exclude<Opened, Recorded | { kind: 'opened' }>): Outcome {
  switch (opened.kind) {
    case 'twin':
      return twinOutcome(opened)
    case 'approval_spent':
      return refused(
        'policy',
        'approval_required',
        'the approval of this call was used meanwhile, by another call or by this very round; nothing was sent, call again from the start to ask anew',
      )
    case 'unwritable':
      return refused(
        'policy',
        'record_unwritable',
        `the record cannot be written (${opened.detail}), so nothing with effects is sent; reads go on`,
      )
  }
}

/** Asked after `open` and just before the send: what let the call through still does, and its caller still wants it. */
export function notSendable(
  ports: RecordPorts,
  call: OutboundCall,
  passed: Passed,
  exchange: Exchange,
): Failed | undefined {
  const changed = stillPasses(ports, call, passed.decision)
  const isStopped = exchange.stopping?.isStopped ?? exchange.signal.aborted
  if (changed !== undefined || !isStopped) return changed
  return exchange.stopReason() === 'deadline'
    ? refused('transport', 'deadline_before_send', 'the deadline passed before anything was sent')
    : refused('transport', 'canceled_before_send', 'canceled before anything was sent')
}

/** An adapter resolves to an outcome whatever the peer does; a throw is our own fault and must not lose what left. */
export function adapterFault(error: unknown, left: boolean): Outcome {
  const what = error instanceof Error ? error.message : String(error)
  return left
    ? {
        state: 'unknown',
        because: 'sent_no_answer',
        detail: `sent, and then this side failed: ${what}`,
      }
    : refused('transport', 'not_sent', `this side failed before anything was sent: ${what}`)
}

/** The record refuses this very content, now and later: it is larger than what is kept of one task. */
export function isNotKept(error: unknown): error is ComityError {
  return error instanceof ComityError && error.code === 'not_allowed'
}

/** What a task ends with whose content is not kept. */
export function notKept(error: ComityError, handle: Handle | undefined): Failed {
  return {
    state: 'failed',
    origin: 'protocol',
    ran: 'yes',
    code: 'protocol_violation',
    detail: `what was handed over is not kept here: ${error.message}`,
    ...(handle === undefined ? {} : { handle }),
  }
}

const LATER = { barrier: false } as const

/** Settles a call without waiting for the disk. */
export function settleLater(ports: RecordPorts, callId: string, outcome: Outcome): void {
  try {
    const settled = ports.ledger.settle(callId, outcome, LATER)
    if (settled instanceof Promise)
      settled.catch((error: unknown) => tellUnsettled(ports, callId, outcome, error))
  } catch (error) {
    tellUnsettled(ports, callId, outcome, error)
  }
}

function tellUnsettled(
  ports: RecordPorts,
  callId: string,
  outcome: Outcome,
  error: unknown,
): 'settled' {
  ports.onFault(`the outcome of call ${callId} (${outcome.state}) is not on record yet`, error)
  return 'settled'
}

/**
 * Settles a call. What the disk refuses is kept and written later; the caller gets the outcome in any case.
 *
 * @param settlement made anew, with the error, when the record refuses the content of the task: it then ends without.
 * @returns as `Ledger.settle`.
 */
export async function settleCall(
  ports: RecordPorts,
  callId: string,
  outcome: Outcome,
  settlement: (refused?: ComityError) => Parameters<Ledger['settle']>[2],
): Promise<'settled' | 'late'> {
  try {
    return await ports.ledger.settle(callId, outcome, settlement())
  } catch (error) {
    if (!isNotKept(error)) return tellUnsettled(ports, callId, outcome, error)
    try {
      return await ports.ledger.settle(callId, outcome, settlement(error))
    } catch (again) {
      return tellUnsettled(ports, callId, outcome, again)
    }
  }
}

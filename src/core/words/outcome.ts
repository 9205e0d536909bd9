/**
 * The one closed set of outcomes. JSON-RPC errors, `isError`, task states, dropped sockets and time-outs all become one of these.
 *
 * A caller's deadline passing is not among them: the wait ends, the work goes on (see `wait.ts`).
 */
import type { ArtifactChunk } from './artifact.ts'
import type { Native } from './native.ts'
import type { Question } from './question.ts'

/** Everything needed to go on after the process that sent the call is gone. Opaque to core; made and read by the peer's adapter. */
export interface Handle {
  readonly peer: string
  /** Long work at a peer is followed by its handle; `mcp_state` goes on with the same call only. */
  readonly kind: 'mcp_state' | 'mcp_task' | 'a2a_task'
  readonly sealed: string
  /** Remote ids in clear, for provenance and people. */
  readonly taskId?: string
  readonly contextId?: string
}

export type FailureCode =
  | 'unknown_capability'
  | 'pin_changed'
  | 'denied'
  | 'approval_required'
  | 'approval_denied'
  | 'bad_arguments'
  | 'gate_changed'
  | 'key_conflict'
  | 'record_unwritable'
  | 'not_sent'
  | 'peer_unreachable'
  | 'peer_crashed'
  | 'peer_error'
  | 'credentials_missing'
  | 'protocol_violation'
  | 'unsupported'
  | 'canceled_before_send'
  | 'deadline_before_send'
  | 'task_terminal'

export type UnknownBecause =
  | 'sent_no_answer'
  | 'process_died'
  | 'cancel_unconfirmed'
  | 'deadline'
  | 'unsettled_twin'
  | 'peer_unclear'

export interface Failed {
  readonly state: 'failed'
  readonly origin: 'peer' | 'protocol' | 'policy' | 'validation' | 'transport'
  /** Whether it ran at the peer. `no` only when that is known. */
  readonly ran: 'no' | 'yes'
  readonly code: FailureCode
  /** Our words: what was expected, what came, what to change. */
  readonly detail: string
  readonly approvalId?: string
  /** Of the peer's task, when it is that task which failed. */
  readonly handle?: Handle
  /** The peer's own error object, when it sent one. */
  readonly native?: Native
}

export interface Unknown {
  readonly state: 'unknown'
  readonly because: UnknownBecause
  readonly detail: string
  /** The unsettled call this one is a twin of. */
  readonly twinOf?: string
  /** Of a task whose own agent says that it does not know: it can be asked about again. */
  readonly handle?: Handle
}

export type Outcome =
  | {
      readonly state: 'answered'
      readonly native: Native
      readonly text: string
      readonly contextId?: string
    }
  | {
      readonly state: 'completed'
      readonly native: Native
      readonly toolError: boolean
      readonly handle?: Handle
      readonly artifacts?: readonly ArtifactChunk[]
    }
  | {
      readonly state: 'working'
      readonly handle: Handle
      readonly text?: string
      readonly native?: Native
    }
  | {
      readonly state: 'input_required' | 'auth_required'
      readonly handle: Handle
      readonly questions: readonly Question[]
      readonly native?: Native
    }
  | Failed
  | {
      readonly state: 'rejected' | 'canceled'
      readonly text: string
      readonly handle?: Handle
      readonly native?: Native
    }
  | Unknown

export type OutcomeState = Outcome['state']

/** The outcome of long work at a peer: it goes on there, and is followed by this handle. Undefined for everything else. */
export function longWorkOf(outcome: Outcome): Handle | undefined {
  if (outcome.state !== 'working' && outcome.state !== 'input_required') return undefined
  return outcome.handle.kind === 'mcp_state' ? undefined : outcome.handle
}

/** Whether the work ran, as far as it is known; what `_meta["comity/outcome"].ran` says. */
export function ranOf(outcome: Outcome): 'yes' | 'no' | 'unknown' {
  switch (outcome.state) {
    case 'failed':
      return outcome.ran
    case 'unknown':
      return 'unknown'
    case 'rejected':
      return 'no'
    case 'canceled':
      return 'unknown'
    case 'answered':
    case 'completed':
    case 'working':
    case 'input_required':
    case 'auth_required':
      return 'yes'
  }
}

/** A refusal before anything left: nothing ran. */
export function refused(
  origin: Failed['origin'],
  code: FailureCode,
  detail: string,
  approvalId?: string,
): Failed {
  return {
    state: 'failed',
    origin,
    ran: 'no',
    code,
    detail,
    ...(approvalId === undefined ? {} : { approvalId }),
  }
}

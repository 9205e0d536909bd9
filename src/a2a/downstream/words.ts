/**
 * What a caller of a published agent is told about an outcome, in our words.
 *
 * Core's and the peers' details name servers and tools, which are not this caller's to see: each code has words of its own
 * here. The operator finds the rest by the call's id.
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Failed, FailureCode, Outcome, Unknown } from '../../core/words/outcome.ts'
import { ranOf } from '../../core/words/outcome.ts'
import type { TaskRecord } from '../../core/words/task.ts'

/** Key of our object in a task's metadata. */
export const OUTCOME_META = 'comity/outcome'
/** Key in a message's metadata by which a caller overrides an unsettled twin, knowingly. */
export const INSIST_META = 'comity/insist'

/** What `metadata["comity/outcome"]` says. */
export interface OutcomeMeta {
  readonly state: string
  /** The failure's code, or why it is unknown. */
  readonly code?: string
  readonly callId: string
  readonly approvalId?: string
  readonly twinOf?: string
  /** Our task on record, which outlives this process. Absent when nothing was opened. */
  readonly taskId?: string
  /** Absent when the row alone does not tell. */
  readonly ran?: 'yes' | 'no' | 'unknown'
}

const FAILURES = {
  unknown_capability: () => 'This skill is not available to you.',
  pin_changed: () =>
    'What stands behind this skill changed since the operator accepted it. The operator sees the difference with: comity pins',
  denied: () => 'The rules of this gateway deny this call.',
  approval_required: sayApproval,
  approval_denied: () => 'A person denied this call.',
  bad_arguments: ({ detail }) => detail,
  gate_changed: () => 'The rules changed while the call was being placed; send it again.',
  key_conflict: () => 'The messageId was used before for a message with other content.',
  record_unwritable: () =>
    'The record of this gateway cannot be written, so nothing with effects is sent.',
  not_sent: () => 'The call could not be sent to the system behind this skill.',
  peer_unreachable: () => 'The system behind this skill cannot be reached.',
  peer_crashed: () => 'The system behind this skill broke down.',
  peer_error: sayPeerError,
  credentials_missing: () =>
    'The system behind this skill asks for credentials that the operator has to configure.',
  protocol_violation: () => 'The system behind this skill answered, but not as its protocol says.',
  unsupported: () => 'This cannot be said to the system behind this skill.',
  canceled_before_send: () => 'Canceled before anything was sent.',
  deadline_before_send: () => 'The deadline passed before anything was sent.',
  task_terminal: () => 'The task has ended and takes nothing more.',
} as const satisfies Record<FailureCode, (outcome: Failed) => string>

/** An outcome that is no success, for the caller; undefined when there is nothing to add to the task itself. */
export function sayOutcome(outcome: Outcome, callId: string): string | undefined {
  switch (outcome.state) {
    case 'failed':
      return `${FAILURES[outcome.code](outcome)} ${outcome.ran === 'no' ? 'Nothing ran.' : 'It ran and did not succeed.'}`
    case 'unknown':
      return sayUnknown(outcome, callId)
    case 'completed':
      return outcome.toolError ? TOOL_ERROR : undefined
    case 'rejected':
    case 'canceled':
      return outcome.text === '' ? undefined : outcome.text
    case 'answered':
      return outcome.text
    case 'input_required':
    case 'auth_required':
      return outcome.questions.map(({ text }) => text).join('\n')
    case 'working':
      return outcome.text
  }
}

/** The same when only the row is left. */
export function sayRow(task: TaskRecord): string | undefined {
  switch (task.state) {
    case 'failed':
      return task.artifacts.length > 0
        ? TOOL_ERROR
        : `It did not succeed. The operator sees why with: comity explain ${task.callId}`
    case 'unknown':
      return mayHaveRun(task.callId)
    case 'submitted':
    case 'working':
    case 'completed':
      return undefined
    case 'input_required':
    case 'auth_required':
    case 'rejected':
    case 'canceled':
    case 'answered':
      return task.theirWords
  }
}

/** What programs read of an outcome. */
export function metaOf({ callId, outcome, approvalId }: Dispatched, taskId?: string): OutcomeMeta {
  const approval = outcome.state === 'failed' ? (outcome.approvalId ?? approvalId) : approvalId
  const twinOf = outcome.state === 'unknown' ? outcome.twinOf : undefined
  return {
    state: outcome.state,
    ...(outcome.state === 'failed' ? { code: outcome.code } : {}),
    ...(outcome.state === 'unknown' ? { code: outcome.because } : {}),
    callId,
    ...(approval === undefined ? {} : { approvalId: approval }),
    ...(twinOf === undefined ? {} : { twinOf }),
    ...(taskId === undefined ? {} : { taskId }),
    ran: ranOf(outcome),
  }
}

/** The same when only the row is left: of a failed one it is not known whether it ran, unless it left something. */
export function rowMeta(task: TaskRecord): OutcomeMeta {
  const ran = rowRan(task)
  return {
    state: task.state,
    callId: task.callId,
    taskId: task.id,
    ...(ran === undefined ? {} : { ran }),
  }
}

const TOOL_ERROR = 'The skill ran and reports an error; what it says is in the artifact.'

function rowRan(task: TaskRecord): OutcomeMeta['ran'] {
  switch (task.state) {
    case 'submitted':
      return undefined
    case 'failed':
      return task.artifacts.length > 0 ? 'yes' : undefined
    case 'unknown':
    case 'canceled':
      return 'unknown'
    case 'rejected':
      return 'no'
    case 'working':
    case 'input_required':
    case 'auth_required':
    case 'completed':
    case 'answered':
      return 'yes'
  }
}

function sayApproval({ approvalId }: Failed): string {
  if (approvalId === undefined) return "This call needs a person's approval; send it again to ask."
  return (
    `This call needs a person's approval (${approvalId}). A person runs: comity approve ${approvalId}\n` +
    'Then send the same skill and the same arguments in a new message (a new messageId, no taskId); it passes once.'
  )
}

function sayPeerError({ native }: Failed): string {
  const value = native?.value()
  const message =
    typeof value === 'object' && value !== null && 'message' in value ? value.message : undefined
  const said = typeof message === 'string' ? ` It says: “${message.slice(0, 500)}”.` : ''
  return `The system behind this skill answered with an error.${said}`
}

function sayUnknown(outcome: Unknown, callId: string): string {
  if (outcome.twinOf === undefined) return mayHaveRun(callId)
  return (
    `This was not sent: an equal call (${outcome.twinOf}) may have run and is not settled. Do not repeat it blindly. ` +
    `The operator sees what is known with: comity explain ${outcome.twinOf}\n` +
    `To send it all the same, put {"${INSIST_META}": "${outcome.twinOf}"} into the metadata of a new message.`
  )
}

function mayHaveRun(callId: string): string {
  return (
    'It may have run; nobody here knows. Do not repeat it blindly: find out first what happened. ' +
    `The operator sees what is known with: comity explain ${callId}`
  )
}

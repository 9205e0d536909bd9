/**
 * What operators and embedding programs can do with a host: the verbs behind the CLI, the control socket and the library.
 *
 * Every parameter and answer is plain JSON, so a verb is the same in process and over the socket.
 */
import type { ArtifactRecord } from '../../core/words/artifact.ts'
import type { Approval } from '../../core/words/approval.ts'
import type { Verdict } from '../../core/words/acceptance.ts'
import type { PinChange } from '../../core/words/pin.ts'
import type { DeprecatedUse, MigrationReport } from '../../core/ports/migration.ts'
import type { PeerCounts } from '../../core/ports/peer.ts'
import type { TaskState } from '../../core/words/task.ts'
import type { CompatInput, CompatReport, MigrationChange } from '../migration/words.ts'

export type { Approval, PinChange, Verdict }

/** How a running verb speaks to whoever waits: events while it runs, and the signal by which it is called off. */
export interface Live {
  readonly signal: AbortSignal
  event(event: LiveEvent): void
  /** Resolves when the verb's answer has left. Left out where it is returned in process. */
  readonly answered?: Promise<void>
}

/** How a process came to own the store: `comity up`, started for stdio hosts, one host's own, embedded, or for one command. */
export type OwnerKind = 'up' | 'shared' | 'standalone' | 'library' | 'command'

export type LiveEvent =
  | {
      readonly event: 'progress'
      readonly progress?: number
      readonly total?: number
      readonly message?: string
    }
  | { readonly event: 'log'; readonly level: string; readonly text: string }
  | {
      readonly event: 'task'
      readonly taskId: string
      readonly state: TaskState
      readonly text?: string
    }

export interface PeerLine {
  readonly peer: string
  readonly protocol: 'mcp' | 'a2a'
  readonly state: 'starting' | 'ready' | 'failed' | 'disabled'
  readonly transport: string
  readonly revision?: string
  readonly callsItself?: string
  readonly detail?: string
  /** What it offers is what it offered in an earlier run, when it was last listed: ISO string. It is still starting. */
  readonly storedAt?: string
  /** What it did that its protocol does not know; absent while it is not connected. */
  readonly counts?: PeerCounts
  /** How its callers are divided between two revisions, and what came of it. */
  readonly migration?: MigrationReport
  /** Deprecated features of the protocol that it was seen to use; left out where there are none. */
  readonly deprecated?: readonly DeprecatedUse[]
  readonly capabilities: readonly CapabilityLine[]
  readonly leftOut: readonly {
    readonly kind: string
    readonly name: string
    readonly reason: string
  }[]
}

export interface CapabilityLine {
  readonly kind: string
  /** The peer's own name or URI. */
  readonly name: string
  readonly exposed: string
  readonly title?: string
  readonly risk: string
  /** What the policy would do with a call by the local principal, before its arguments are known. */
  readonly effect: string
  readonly fingerprint: string
  readonly endpoint: string
  /** Its definition changed and was not accepted: not listed to callers, not callable. */
  readonly withdrawn: boolean
}

export interface StatusReport {
  readonly version: string
  readonly pid: number
  readonly config: string
  readonly store: string
  readonly url?: string
  readonly process: ProcessReport
  readonly record: RecordReport
  readonly peers: readonly PeerLine[]
  readonly ignored: readonly { readonly path: string; readonly reason: string }[]
}

/** The process that answers. */
export interface ProcessReport {
  readonly kind: OwnerKind
  /** ISO string. */
  readonly since: string
  readonly socket?: string
  /** Stdio hosts that are connected through it. */
  readonly pipes: number
  /** Calls that run now. */
  readonly acts: number
  /** The configuration file is not what it was when this process read it. */
  readonly configChanged: boolean
}

/** What stands in the store that somebody or something has to do with. */
export interface RecordReport {
  readonly entries: number
  readonly pendingApprovals: number
  readonly openTasks: number
  /** Capabilities whose pins do not fit the ledger: refused until accepted. */
  readonly mistrustedPins: number
  /** Calls that an earlier process left without an answer, found when this one began. */
  readonly recovered: number
}

export interface StopInput {
  /** Breaks off what runs instead of letting it answer for a bounded while. */
  readonly now?: boolean
  /** Another process takes the store over: its stdio hosts wait for it. */
  readonly takeover?: boolean
}

/** Who was asked to end, and what was still running then. */
export interface StopReport {
  readonly pid: number
  readonly kind: OwnerKind
  readonly pipes: number
  readonly acts: number
  /** Followed on by the next process. */
  readonly openTasks: number
}

export interface PromptInput {
  /** `peer/name`, or the exposed name. */
  readonly target: string
  readonly arguments: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

export interface LogsInput {
  readonly peer: string
  /** How many of the last lines. */
  readonly lines?: number
  /** Goes on with every new line, as `log` events of level `stderr`, until it is called off. */
  readonly follow?: boolean
}

/** What a peer printed beside the protocol: its words, secrets masked. */
export interface LogsReport {
  readonly peer: string
  readonly state: PeerLine['state']
  readonly lines: readonly string[]
  /** Why it does not run, with what it printed last. */
  readonly detail?: string
}

export interface OutcomeReport {
  readonly state: string
  readonly ran: 'yes' | 'no' | 'unknown'
  readonly code?: string
  /** Our words. */
  readonly detail?: string
  readonly toolError?: boolean
  readonly approvalId?: string
  readonly twinOf?: string
}

export interface QuestionReport {
  readonly key: string
  readonly kind: string
  /** The peer's words. */
  readonly text: string
  /** The peer's form: a schema for `form`, a URL for `url`. */
  readonly form?: unknown
}

export interface AnswerInput {
  readonly key: string
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly text?: string
  readonly data?: unknown
}

export interface CallInput {
  /** `peer/name`, or the exposed name. */
  readonly target: string
  /** The arguments as JSON text, so that integers beyond 2^53 arrive as written. */
  readonly argumentsText: string
  readonly timeoutMs?: number
  readonly insist?: string
  /** Which questions the caller can be asked. */
  readonly canAnswer?: boolean
  /** Goes on after questions: what the report before said under `continuation`, and the answers. */
  readonly continuation?: { readonly sealed: unknown; readonly answers: readonly AnswerInput[] }
}

export interface CallReport {
  readonly callId: string
  readonly outcome: OutcomeReport
  /** The peer's result (or error) as JSON text, byte for byte. */
  readonly resultText?: string
  readonly questions?: readonly QuestionReport[]
  readonly continuation?: unknown
  /** The task as which the peer goes on with it, or went. */
  readonly task?: TaskReport
}

export interface DelegateInput {
  readonly agent: string
  readonly message: string
  readonly data?: unknown
  readonly contextId?: string
  readonly referenceTaskIds?: readonly string[]
  readonly insist?: string
  /** One deadline over card, send, question, poll and read, milliseconds. Undefined: return as soon as the task is on record. */
  readonly waitMs?: number
  /** Undefined with no `waitMs` and no process to follow it: wait until the agent has taken the task, at most this long. */
  readonly acceptMs?: number
}

export interface TaskReport {
  readonly taskId: string
  readonly peer: string
  /** Work of an agent, or a call of an MCP server's tool. */
  readonly of: 'agent' | 'tool'
  /** What was called there, by its own name; left out in records of older releases. */
  readonly capability?: string
  readonly state: TaskState
  /** `still_working` when a wait ended before the work did. */
  readonly wait: 'over' | 'still_working'
  readonly next: 'agent' | 'you' | 'operator' | 'nobody'
  /** Who holds the authoritative state. */
  readonly authority: string
  readonly title: string
  readonly owner: string
  /** The published agent whose caller it belongs to: that caller answers it, nobody here. */
  readonly servedAs?: string
  readonly callId: string
  readonly remoteTaskId?: string
  readonly contextId?: string
  /** The agent's words. */
  readonly theirWords?: string
  readonly questions: readonly QuestionReport[]
  readonly artifacts: readonly ArtifactRecord[]
  /** What an MCP server handed back, its result or error as JSON text; only where one task is asked for. */
  readonly resultText?: string
  readonly verdict: Verdict
  /** Until then its owner may read it; left out when that has no end. */
  readonly expiresAt?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface DelegateReport {
  readonly callId: string
  readonly outcome: OutcomeReport
  readonly task?: TaskReport
  /** A direct Message's text; there is no task then. */
  readonly answerText?: string
}

export interface EntryLine {
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly callId?: string
  readonly taskId?: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly hash: string
}

export interface LedgerReport {
  readonly entries: readonly EntryLine[]
  readonly verified?: {
    readonly ok: boolean
    readonly entries: number
    readonly firstBad?: number
    readonly detail?: string
    /** What signed checkpoints prove; absent when the chain itself is broken. */
    readonly checkpoints?: CheckpointLines
  }
}

export interface CheckpointLines {
  readonly state: 'none' | 'proven' | 'unproven'
  readonly count: number
  readonly newest?: { readonly seq: number; readonly at: string }
  /** The public key, base64url. */
  readonly key?: string
  readonly notes: readonly string[]
}

/** Everything that is on record about one call, or one task with its calls. */
export interface ExplainReport {
  readonly callId: string
  readonly call: Readonly<Record<string, unknown>>
  readonly argumentsText?: string
  readonly entries: readonly EntryLine[]
  readonly task?: TaskReport
}

/** The verbs. @throws ComityError `not_found`, `not_allowed`, `usage` for what the caller can mend. */
export interface Operator {
  status(input: { readonly waitMs?: number }, live: Live): Promise<StatusReport>
  call(input: CallInput, live: Live): Promise<CallReport>
  read(
    input: { readonly target: string; readonly timeoutMs?: number },
    live: Live,
  ): Promise<CallReport>
  /** Fetches a prompt. */
  prompt(input: PromptInput, live: Live): Promise<CallReport>
  /** @throws ComityError `usage` for a peer that prints nothing here. */
  logs(input: LogsInput, live: Live): Promise<LogsReport>
  /** Starts a peer anew that waits after failures. @throws ComityError `not_found`, `usage`, `internal` saying why it failed. */
  restart(input: { readonly peer: string }, live: Live): Promise<{ readonly peer: string }>
  /** Asks this process to end. @throws ComityError `conflict` when it ends by itself only. */
  endProcess(input: StopInput, live: Live): Promise<StopReport>
  delegate(input: DelegateInput, live: Live): Promise<DelegateReport>
  tasks(input: { readonly all?: boolean }, live: Live): Promise<readonly TaskReport[]>
  task(
    input: { readonly taskId: string; readonly waitMs?: number },
    live: Live,
  ): Promise<TaskReport>
  artifact(
    input: { readonly taskId: string; readonly artifactId: string },
    live: Live,
  ): Promise<{ readonly record: ArtifactRecord; readonly base64: string }>
  answer(
    input: {
      readonly taskId: string
      readonly text?: string
      readonly data?: unknown
      readonly action?: AnswerInput['action']
      readonly waitMs?: number
    },
    live: Live,
  ): Promise<{
    /** Of the answer's own call: what `explain` and `settle` take. */
    readonly callId: string
    readonly outcome: OutcomeReport
    readonly task: TaskReport
  }>
  cancel(
    input: { readonly taskId: string },
    live: Live,
  ): Promise<{ readonly confirmed: string; readonly detail: string; readonly task: TaskReport }>
  approvals(input: { readonly all?: boolean }, live: Live): Promise<readonly Approval[]>
  decideApproval(
    input: { readonly id: string; readonly decision: 'approved' | 'denied' },
    live: Live,
  ): Promise<Approval>
  pins(
    input: Record<string, never>,
    live: Live,
  ): Promise<readonly (PinChange & { readonly class: string; readonly lines: readonly string[] })[]>
  acceptPins(
    input: { readonly peer: string; readonly name?: string },
    live: Live,
  ): Promise<{ readonly accepted: number }>
  ledger(
    input: { readonly limit?: number; readonly id?: string; readonly verify?: boolean },
    live: Live,
  ): Promise<LedgerReport>
  explain(input: { readonly id: string }, live: Live): Promise<ExplainReport>
  settle(
    input: { readonly callId: string; readonly as: 'ran' | 'did_not_run'; readonly note?: string },
    live: Live,
  ): Promise<{ readonly callId: string; readonly settled: string }>
  /** Compares two revisions of a server. @throws ComityError `not_found`, `usage`. */
  compat(input: CompatInput, live: Live): Promise<CompatReport>
  /** Makes a canary's revision everyone's. @throws ComityError `not_found`, `usage` where there is no canary. */
  promote(input: { readonly peer: string }, live: Live): Promise<MigrationChange>
  /** Takes everyone back from a canary. @throws ComityError as `promote`. */
  rollback(input: { readonly peer: string }, live: Live): Promise<MigrationChange>
}

export type Verb = keyof Operator

/** Every verb by name, for the socket's table; a verb left out does not compile. */
export const VERBS: Readonly<Record<Verb, true>> = {
  status: true,
  call: true,
  read: true,
  prompt: true,
  logs: true,
  restart: true,
  endProcess: true,
  delegate: true,
  tasks: true,
  task: true,
  artifact: true,
  answer: true,
  cancel: true,
  approvals: true,
  decideApproval: true,
  pins: true,
  acceptPins: true,
  ledger: true,
  explain: true,
  settle: true,
  compat: true,
  promote: true,
  rollback: true,
}

/**
 * A task of ours as an A2A Task: state, our words, artifacts, and what programs read in `comity/outcome`.
 *
 * `unknown` is TASK_STATE_UNSPECIFIED, which the protocol calls unknown or indeterminate: never FAILED, which would invite a
 * repetition. A refusal before anything ran is REJECTED.
 */
import { randomUUID } from 'node:crypto'
import { assertNever } from '../../core/words/assert-never.ts'
import type { Artifact, ArtifactPart } from '../../core/words/artifact.ts'
import type { TaskRecord, TaskState } from '../../core/words/task.ts'
import { encodeWire } from '../wire/codec.ts'
import type { Artifact as WireArtifact, Message, Part, Task } from '../wire/messages.ts'
import type { TaskStateName } from '../wire/rev-1-0.ts'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { HeldTask, Stand } from './memory.ts'
import { askingParts } from './questions.ts'
import { sayOffers } from './skills.ts'
import { metaOf, OUTCOME_META, type OutcomeMeta, rowMeta, sayOutcome, sayRow } from './words.ts'

const STATES = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  input_required: 'TASK_STATE_INPUT_REQUIRED',
  auth_required: 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  answered: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  rejected: 'TASK_STATE_REJECTED',
  canceled: 'TASK_STATE_CANCELED',
  unknown: 'TASK_STATE_UNSPECIFIED',
} as const satisfies Record<TaskState, TaskStateName>

/** How a caller refers to a task and what it said last. */
export interface Reference {
  readonly id: string
  readonly contextId: string | undefined
  /** JSON text of the message, when history is asked for and the message is kept. */
  readonly message: string | undefined
}

/** A task with a row, as JSON text. @param dispatched what is known beyond the row, in this process. */
export function encodeRow(
  record: TaskRecord,
  artifacts: readonly Artifact[],
  reference: Reference,
  dispatched: Dispatched | undefined,
): string {
  // Known facts count only as long as the row still says the same; later news of the task is the row's.
  const outcome = dispatched?.task?.state === record.state ? dispatched : undefined
  const words = outcome === undefined ? sayRow(record) : sayOutcome(outcome.outcome, outcome.callId)
  const said = words === undefined ? [] : [{ text: words }]
  const isAsking = record.state === 'input_required' && record.questions.length > 0
  const raw = createRaw()
  return encodeTask(raw, reference, {
    state: STATES[record.state],
    at: record.updatedAt,
    parts: isAsking ? askingParts(record.questions) : said,
    ...(isAsking ? { asks: `:${record.questions.map(({ key }) => key).join(',')}` } : {}),
    meta: outcome === undefined ? rowMeta(record) : metaOf(outcome, record.id),
    artifacts: artifacts.map((artifact) => artifactOf(artifact, raw)),
  })
}

/** A task without a row, as JSON text. */
export function encodeHeld(
  held: HeldTask,
  stand: Exclude<Stand, { kind: 'placed' }>,
  reference: Reference,
): string {
  return encodeTask(createRaw(), reference, { at: held.since, ...shownOf(stand) })
}

interface Shown {
  readonly state: TaskStateName
  readonly at: string
  readonly parts: readonly Part[]
  readonly meta?: OutcomeMeta
  readonly artifacts?: readonly WireArtifact[]
  /** Which questions these parts ask. */
  readonly asks?: string
}

function shownOf(stand: Exclude<Stand, { kind: 'placed' }>): Omit<Shown, 'at'> {
  switch (stand.kind) {
    case 'asking': {
      const data = { skills: stand.offers, expected: { skill: '<id>', arguments: {} } }
      const text = sayOffers(stand.why, stand.offers)
      return {
        state: 'TASK_STATE_INPUT_REQUIRED',
        parts: [{ text }, { data, mediaType: 'application/json' }],
      }
    }
    case 'placing':
      return { state: 'TASK_STATE_SUBMITTED', parts: [] }
    case 'refused': {
      const { outcome, callId } = stand.dispatched
      const text = sayOutcome(outcome, callId)
      return {
        state: outcome.state === 'unknown' ? STATES.unknown : 'TASK_STATE_REJECTED',
        parts: text === undefined ? [] : [{ text }],
        meta: metaOf(stand.dispatched),
      }
    }
    case 'no_skill':
      return {
        state: 'TASK_STATE_REJECTED',
        parts: [{ text: 'This skill is not available to you now. Nothing ran.' }],
      }
    case 'canceled':
      return {
        state: 'TASK_STATE_CANCELED',
        parts: [{ text: 'Canceled before a skill was chosen. Nothing ran.' }],
      }
    default:
      return assertNever(stand)
  }
}

function encodeTask(raw: Raw, { id, contextId, message }: Reference, shown: Shown): string {
  const said: Message = {
    // Reading a task again gives the same message: its id follows from the task, its state and what is asked.
    messageId: `${id}:${shown.state}${shown.asks ?? ''}`,
    role: 'ROLE_AGENT',
    taskId: id,
    ...(contextId === undefined ? {} : { contextId }),
    parts: shown.parts,
  }
  const task: Task = {
    id,
    ...(contextId === undefined ? {} : { contextId }),
    status: {
      state: shown.state,
      timestamp: shown.at,
      ...(shown.parts.length === 0 ? {} : { message: said }),
    },
    ...(shown.artifacts === undefined || shown.artifacts.length === 0
      ? {}
      : { artifacts: shown.artifacts }),
    ...(shown.meta === undefined ? {} : { metadata: { [OUTCOME_META]: shown.meta } }),
  }
  const history = message === undefined ? {} : { history: [raw.place(message)] }
  return raw.finish({ ...encodeWire('Task', task), ...history })
}

function artifactOf({ artifactId, name, content }: Artifact, raw: Raw): WireArtifact {
  return {
    artifactId,
    ...(name === undefined ? {} : { name }),
    // At least one by the protocol.
    parts: content.length === 0 ? [{ text: '' }] : content.map((part) => partOf(part, raw)),
  }
}

function partOf(part: ArtifactPart, raw: Raw): Part {
  const labels = {
    ...(part.mediaType === undefined ? {} : { mediaType: part.mediaType }),
    ...(part.filename === undefined ? {} : { filename: part.filename }),
  }
  switch (part.kind) {
    case 'text':
      return { text: part.text, ...labels }
    case 'raw':
      return { raw: Buffer.from(part.bytes).toString('base64'), ...labels }
    case 'url':
      return { url: part.url, ...labels }
    case 'data':
      return { data: raw.place(part.json), ...labels }
    default:
      return assertNever(part)
  }
}

/** JSON texts that travel as they are within a value of ours: parsed, they would lose digits. */
interface Raw {
  place(json: string): string
  finish(value: unknown): string
}

function createRaw(): Raw {
  // Drawn anew each time, so that no text that came from outside can name a place.
  const mark = randomUUID()
  const texts: string[] = []
  return {
    place: (json) => `${mark}:${texts.push(json) - 1}`,
    finish: (value) =>
      JSON.stringify(value).replaceAll(
        new RegExp(`"${mark}:(\\d+)"`, 'gu'),
        (_all, index: string) => texts[Number(index)] ?? 'null',
      ),
  }
}

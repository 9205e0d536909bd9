/**
 * The work itself: which step is next follows from the record alone, so a restart needs no memory.
 *
 * Each step ends in one commit. A step that was cut off before its commit is simply done again:
 * reading twice is harmless, and nothing has been told to anyone before the commit.
 */
import { TaskState } from '@a2a-js/sdk'
import type { Brief, BriefReader } from './brief.ts'
import type { Reading } from './citation.ts'
import { compareReadings } from './compare.ts'
import { askForTarget, takeBrief } from './conversation.ts'
import { DocumentsError, type Documents } from './documents.ts'
import { forgeQuote } from './forge.ts'
import { writeReport } from './report.ts'
import { ListError } from './requirement-list.ts'
import { verifyAnswer } from './target.ts'
import { deliverChunk, enterState, textPart } from './task-changes.ts'
import { stateOf, type TaskRecord } from './task-record.ts'
import type { Change, TaskRoom } from './task-room.ts'

/** What the work depends on. */
export interface ResearchDeps {
  readonly documents: Documents
  readonly reader: BriefReader
  /** Resolves after this many milliseconds, sooner when the agent stops. */
  pause(ms: number): Promise<void>
  log(line: string): void
}

/** How the work is done. */
export interface ResearchOptions {
  /** Milliseconds between two steps; default 0. */
  readonly paceMs: number
  /** Falsifies one quote of the report, to show that a host notices; default false. */
  readonly forge: boolean
}

/** Chunks end at a line's end, so they are this long or a little longer. */
const CHUNK_LENGTH = 8_192

/** Works on a task until it is done, refused or waiting for somebody. Never throws. */
export async function runResearch(
  room: TaskRoom,
  deps: ResearchDeps,
  options: ResearchOptions,
): Promise<void> {
  try {
    for (;;) {
      const step = decideStep(room.record)
      if (step === undefined) return
      await deps.pause(options.paceMs)
      if (!(await room.commit(await step(room.record, deps, options)))) return
    }
  } catch (error) {
    await failTask(room, deps, error)
  }
}

/** Does one step's work and says what it changes. */
type Step = (record: TaskRecord, deps: ResearchDeps, options: ResearchOptions) => Promise<Change>

function decideStep(record: TaskRecord): Step | undefined {
  const state = stateOf(record)
  const begun = state === TaskState.TASK_STATE_SUBMITTED || state === TaskState.TASK_STATE_WORKING
  const { brief, readings, drafts, delivered } = record
  if (!begun) return undefined
  if (brief === undefined) return begin
  if (record.target === undefined) {
    return record.answer === undefined ? ask : checkAnswer(brief, record.answer)
  }
  if (readings.from === undefined) return readSide(brief, 'from')
  if (readings.to === undefined) return readSide(brief, 'to')
  if (drafts === undefined) return draftDelivery(brief, readings.from, readings.to, record.target)
  if (!delivered.differences) return deliverDifferences(drafts.differences)
  if (delivered.reportChunks < drafts.report.length) {
    return deliverReportChunk(drafts.report, delivered.reportChunks)
  }
  return complete
}

/** The first message is the last thing that was saved before anybody looked at it. */
const begin: Step = (record, { reader }) => {
  const message = record.task.history.at(-1)
  if (message === undefined) return fail('This task has no message to begin from.')
  return Promise.resolve((draft) => takeBrief(draft, message, reader))
}

const ask: Step = (_record, { reader }) => Promise.resolve((draft) => askForTarget(draft, reader))

function checkAnswer(brief: Brief, answer: NonNullable<TaskRecord['answer']>): Step {
  return async (_record, deps) => {
    const verdict = await verifyAnswer(deps.documents, brief.scope.target.package, answer)
    if (verdict.state === 'doubtful') {
      return (draft) => askForTarget(draft, deps.reader, verdict.problem)
    }
    const { target } = verdict
    return work(
      `${target.package} declares ${target.dependency} ${target.sdkRange} (${target.citation.document}, line ${target.citation.lines.start}).`,
      (draft) => {
        draft.target = target
      },
    )
  }
}

function readSide(brief: Brief, side: 'from' | 'to'): Step {
  return async (_record, { documents }) => {
    const document = brief.scope[side]
    const read = await documents.read(document)
    if (read.state === 'refused') {
      return fail(`I cannot read ${document}. The documents server says: ${read.problem}`)
    }
    // As a reader counts: nothing after the last line feed is no line.
    const count = read.reading.text.replace(/\n$/, '').split('\n').length
    return work(`Read ${document}, version ${read.reading.version}, ${count} lines.`, (draft) => {
      draft.readings[side] = read.reading
    })
  }
}

function draftDelivery(
  brief: Brief,
  from: Reading,
  to: Reading,
  target: NonNullable<TaskRecord['target']>,
): Step {
  return (_record, _deps, options) => {
    const comparison = compareReadings(from, to, target)
    const report = writeReport(brief.goal, comparison)
    const markdown = options.forge ? forgeQuote(report) : report.markdown
    const drafts = {
      differences: `${JSON.stringify(comparison.differences, null, 2)}\n`,
      report: cutIntoChunks(markdown),
    }
    const { rows, notScored } = comparison.differences
    const text = `Compared: ${rows.length} requirements differ, ${notScored.length} rows are not scored.`
    return Promise.resolve(
      work(text, (draft) => {
        draft.drafts = drafts
      }),
    )
  }
}

function deliverDifferences(text: string): Step {
  return () =>
    Promise.resolve((draft) => {
      draft.delivered.differences = true
      const part = textPart(text, 'differences.json', 'application/json')
      return deliverChunk(draft, 'differences.json', 'Every changed row, for programs', part, true)
    })
}

function deliverReportChunk(chunks: readonly string[], index: number): Step {
  return () =>
    Promise.resolve((draft) => {
      draft.delivered.reportChunks = index + 1
      const part = textPart(chunks[index] ?? '', 'report.md', 'text/markdown')
      const last = index === chunks.length - 1
      return deliverChunk(draft, 'report.md', 'The comparison, for people', part, last)
    })
}

const complete: Step = () =>
  Promise.resolve((draft) => {
    // What remains worth keeping now is the delivery itself.
    delete draft.drafts
    draft.readings = {}
    const text = 'Done: report.md for people, differences.json for programs.'
    return enterState(draft, TaskState.TASK_STATE_COMPLETED, [textPart(text)])
  })

function work(text: string, change: (draft: TaskRecord) => void): Change {
  return (draft) => {
    change(draft)
    return enterState(draft, TaskState.TASK_STATE_WORKING, [textPart(text)])
  }
}

function fail(text: string): Promise<Change> {
  return Promise.resolve((draft) =>
    enterState(draft, TaskState.TASK_STATE_FAILED, [textPart(text)]),
  )
}

/** What a caller may know of a fault is told; anything else goes to the log only. */
async function failTask(room: TaskRoom, deps: ResearchDeps, error: unknown): Promise<void> {
  const known = error instanceof ListError || error instanceof DocumentsError
  deps.log(`task ${room.record.task.id} failed: ${error instanceof Error ? error.stack : error}`)
  const text = known ? error.message : 'The agent met an error of its own; its log has the details.'
  try {
    await room.commit((draft) => enterState(draft, TaskState.TASK_STATE_FAILED, [textPart(text)]))
  } catch (saving) {
    // The disk refuses: the task stays as it was and goes on after the next start.
    deps.log(`task ${room.record.task.id} could not be saved: ${String(saving)}`)
  }
}

function cutIntoChunks(text: string): string[] {
  const chunks: string[] = []
  for (let at = 0; at < text.length;) {
    const lineEnd = text.indexOf('\n', at + CHUNK_LENGTH)
    const end = lineEnd < 0 ? text.length : lineEnd + 1
    chunks.push(text.slice(at, end))
    at = end
  }
  return chunks
}

/**
 * One step of a task: (task, news) → what it is next and what is owed. Pure; resume commits it.
 *
 * States move only along `TASK_MOVES`. News for a task that has ended is late: recorded, moving nothing, artifacts neither.
 */
import type { Effect, TaskCommit } from './ports/tasks.ts'
import {
  applyChunk,
  type ArtifactChunk,
  type ArtifactRecord,
  type ArtifactWrite,
} from './words/artifact.ts'
import type { Native } from './words/native.ts'
import { longWorkOf, type Outcome } from './words/outcome.ts'
import {
  ERROR_ARTIFACT,
  RESULT_ARTIFACT,
  TASK_MOVES,
  isTerminal,
  type TaskNews,
  type TaskRecord,
  type TaskState,
} from './words/task.ts'

export interface Step {
  readonly commit: TaskCommit
  /** Nothing of the task moved: it had ended, or the move is not in the table. */
  readonly late: boolean
  /** Whether a follower should go on. */
  readonly follow: boolean
}

/**
 * @param now ISO string.
 * @param judged the task will be judged when it completes: by its acceptance rule or by a judge of the host.
 */
export function step(task: TaskRecord, news: TaskNews, now: string, judged: boolean): Step {
  if (isTerminal(task.state)) return late(task, news, `news for a task that is ${task.state}`)
  if (news.kind === 'artifact') {
    const applied = applyChunk(task.artifacts, news.chunk)
    const next = { ...withCursor(task, news.cursor), artifacts: applied.records, updatedAt: now }
    return { commit: { next, writes: [applied.write] }, late: false, follow: true }
  }
  const state = taskStateOf(news.outcome)
  if (!TASK_MOVES[task.state].includes(state))
    return late(task, news, `${task.state} does not move to ${state}`)
  const collected = collect(task, news)
  const ended = isTerminal(state)
  const completed = state === 'completed'
  const artifacts = ended
    ? collected.records.map((record) => ({ ...record, complete: true }))
    : collected.records
  const next: TaskRecord = {
    ...withoutWords(withCursor(task, news.cursor)),
    state,
    ...(news.outcome.state === 'unknown' ? { because: news.outcome.because } : {}),
    ...handleOf(news.outcome, task),
    ...wordsOf(news),
    questions: 'questions' in news.outcome ? news.outcome.questions : [],
    artifacts,
    verdict: completed && judged ? { state: 'pending' } : task.verdict,
    updatedAt: now,
  }
  const follow = isFollowed(state)
  const named = 'handle' in news.outcome && news.outcome.handle !== undefined
  // Work of this process that goes on at its peer: nobody follows it yet.
  const begins = task.handle === undefined && longWorkOf(news.outcome) !== undefined
  const effects = begins ? FOLLOWED : owed(task.state, state, completed && judged, named)
  const moved = state !== task.state
  return {
    commit: {
      next,
      writes: collected.writes,
      ...(effects === undefined ? {} : { effects }),
      ...(moved
        ? {
            entry: {
              kind: 'task_changed',
              facts: { from: task.state, to: state, artifacts: artifacts.length },
            },
          }
        : {}),
    },
    late: false,
    follow,
  }
}

const FOLLOWED: readonly Effect[] = [{ do: 'follow' }]

/** What is owed after a move. Undefined leaves a running follower its lease: it is owed already. */
function owed(
  from: TaskState,
  to: TaskState,
  judge: boolean,
  named: boolean,
): readonly Effect[] | undefined {
  if (judge) return [{ do: 'judge' }]
  // Its agent says that it does not know, and may learn: looked at now and then, as one that waits.
  if (to === 'unknown' && named)
    return isFollowed(from) || from === 'input_required' ? undefined : [{ do: 'follow' }]
  if (to === 'unknown') return from === 'unknown' ? undefined : [{ do: 'find' }]
  // A task that waits for an answer is looked at now and then: its agent may go on without one.
  if (to === 'input_required')
    return isFollowed(from) || from === to ? undefined : [{ do: 'follow' }]
  if (!isFollowed(to)) return []
  return isFollowed(from) ? undefined : [{ do: 'follow' }]
}

function isFollowed(state: TaskState): boolean {
  return state === 'working' || state === 'auth_required'
}

/** The task state an outcome of its call or of the peer means. */
function taskStateOf(outcome: Outcome): TaskState {
  if (outcome.state !== 'completed') return outcome.state
  return outcome.toolError ? 'failed' : 'completed'
}

function collect(
  task: TaskRecord,
  news: TaskNews,
): { records: readonly ArtifactRecord[]; writes: readonly ArtifactWrite[] } {
  const chunks: readonly ArtifactChunk[] =
    news.kind === 'snapshot'
      ? news.artifacts.map((chunk) => ({ ...chunk, append: false }))
      : news.kind === 'status'
        ? artifactsOf(news.outcome)
        : []
  let records = task.artifacts
  const writes: ArtifactWrite[] = []
  for (const chunk of chunks) {
    const applied = applyChunk(records, chunk)
    records = applied.records
    writes.push(applied.write)
  }
  return { records, writes }
}

/** What came with the end: artifacts, or an MCP server's own words, which are kept as they came. */
function artifactsOf(outcome: Outcome): readonly ArtifactChunk[] {
  if (outcome.state === 'completed') {
    return outcome.artifacts ?? nativeArtifact(RESULT_ARTIFACT, outcome.native)
  }
  return outcome.state === 'failed' ? nativeArtifact(ERROR_ARTIFACT, outcome.native) : []
}

function nativeArtifact(artifactId: string, native: Native | undefined): readonly ArtifactChunk[] {
  if (native?.protocol !== 'mcp') return []
  const part = { kind: 'raw', bytes: native.bytes, mediaType: 'application/json' } as const
  return [{ artifactId, name: artifactId, append: false, last: true, parts: [part] }]
}

function late(task: TaskRecord, news: TaskNews, why: string): Step {
  const what =
    news.kind === 'artifact' ? { artifactId: news.chunk.artifactId } : { state: news.outcome.state }
  return {
    commit: {
      next: task,
      writes: [],
      entry: { kind: 'late_news', facts: { why, kind: news.kind, ...what } },
    },
    late: true,
    follow: false,
  }
}

function withCursor(task: TaskRecord, cursor: string | undefined): TaskRecord {
  return cursor === undefined ? task : { ...task, cursor }
}

function withoutWords(task: TaskRecord): Omit<TaskRecord, 'because' | 'theirWords'> {
  const { because: _because, theirWords: _theirWords, ...rest } = task
  return rest
}

function handleOf(
  outcome: Outcome,
  task: TaskRecord,
): Partial<Pick<TaskRecord, 'handle' | 'contextId'>> {
  const handle = 'handle' in outcome ? outcome.handle : undefined
  const contextId =
    handle?.contextId ??
    (outcome.state === 'answered' ? outcome.contextId : undefined) ??
    task.contextId
  return {
    ...(handle === undefined ? {} : { handle }),
    ...(contextId === undefined ? {} : { contextId }),
  }
}

function wordsOf(
  news: Exclude<TaskNews, { kind: 'artifact' }>,
): Partial<Pick<TaskRecord, 'theirWords'>> {
  const { outcome } = news
  const words =
    news.text ??
    ('text' in outcome ? outcome.text : undefined) ??
    (outcome.state === 'failed' || outcome.state === 'unknown' ? outcome.detail : undefined) ??
    ('questions' in outcome
      ? outcome.questions.map((question) => question.text).join('\n')
      : undefined)
  return words === undefined || words === '' ? {} : { theirWords: words }
}

/**
 * Reads one stream of a task's events, never longer than it says something.
 *
 * Before a resting state is believed, the task is read once: the snapshot is the authoritative form
 * and holds what a dropped event would have brought. A silent stream is not waited for: the task is
 * read beside it, and a stream that missed what the task shows is given up.
 *
 * @source A2A 1.0.1, 3.1.6 and 9.4.2
 */
import type { TaskNews } from '../../core/words/task.ts'
import type { StreamItem } from '../bindings/jsonrpc.ts'
import type { Received } from '../bindings/rpc-response.ts'
import { describeViolations, parseWire, REPLY_LIMITS } from '../wire/codec.ts'
import type { TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../wire/messages.ts'
import { isTerminal } from '../wire/rev-1-0.ts'
import { spanAt, wholeSpan } from '../wire/span.ts'
import { chunkOfEvent, NOTHING_TAKEN, type Taken, takeChunk } from './artifacts.ts'
import { sealHandle } from './handle.ts'
import type { OpenStream } from './open-streams.ts'
import { outcomeOfStatus, wordsOf } from './outcome.ts'
import { readTask, type Snapshot, takeTask } from './read-task.ts'
import { isResting, takeInto, type Watch } from './watch.ts'

/**
 * - `rest`: the task rests; following ends.
 * - `lively`: the stream brought something and ended early.
 * - `empty`: it ended without bringing anything new.
 * - `silent`: it was opened and never said anything.
 */
export type StreamEnd = 'rest' | 'lively' | 'empty' | 'silent'

type News = AsyncGenerator<TaskNews, StreamEnd>
const MAX_SILENCE_MS = 60_000

/**
 * Yields the news of one stream and closes it.
 *
 * @param begun the snapshot its first event was, when that has been read already.
 */
export async function* readStream(watch: Watch, stream: OpenStream, begun?: Snapshot): News {
  let events = begun === undefined ? 0 : 1
  let patienceMs = watch.options.silenceMs
  try {
    if (begun !== undefined) yield takeInto(watch, begun)
    let pending = stream.items.next()
    while (true) {
      const item = await within(pending, patienceMs, watch.signal)
      if (item === 'aborted') return 'empty'
      if (item === 'silence') {
        const seen = yield* lookBeside(watch)
        if (seen === 'rest') return 'rest'
        if (watch.signal.aborted) return 'empty'
        if (events === 0) return 'silent'
        // It missed what the task shows: given up, since late events on top of a snapshot would double.
        if (seen === 'missed') return 'lively'
        patienceMs = Math.min(patienceMs * 2, MAX_SILENCE_MS)
        continue
      }
      const end = item.done === true ? 'over' : yield* takeItem(watch, item.value)
      if (end === 'rest') return 'rest'
      if (end === 'over') return events > 1 ? 'lively' : 'empty'
      events += 1
      patienceMs = watch.options.silenceMs
      pending = stream.items.next()
    }
  } finally {
    // Lets go of the connection only: the agent is told nothing.
    stream.close()
  }
}

async function* takeItem(
  watch: Watch,
  item: StreamItem,
): AsyncGenerator<TaskNews, 'rest' | 'over' | 'go_on'> {
  if (item.kind === 'event') return yield* takeEvent(watch, item.received)
  if (watch.signal.aborted) return 'over'
  // A failed step is no failed task: the task is looked up before anything is said about it.
  if (item.kind === 'error')
    watch.note(watch.ref.taskId, `the stream failed: ${item.error.message}`)
  else if (item.how === 'broken') watch.note(watch.ref.taskId, `the stream broke: ${item.detail}`)
  return 'over'
}

async function* takeEvent(
  watch: Watch,
  received: Received,
): AsyncGenerator<TaskNews, 'rest' | 'over' | 'go_on'> {
  const parsed = parseWire('StreamResponse', received.value, REPLY_LIMITS)
  if (!parsed.ok) {
    const what = `an event that is not A2A 1.0: ${describeViolations(parsed.violations)}`
    watch.note(watch.ref.taskId, what)
    return 'over'
  }
  const event = parsed.value
  if ('task' in event) {
    const taken = takeTask(
      watch.link!.peer,
      part(received, 'task'),
      watch.ref,
      watch.options.limits,
    )
    if (!('snapshot' in taken)) {
      watch.note(watch.ref.taskId, taken.unreadable)
      return 'over'
    }
    yield takeInto(watch, taken.snapshot)
    return isResting(taken.snapshot.task.status.state) ? 'rest' : 'go_on'
  }
  if ('statusUpdate' in event) return yield* takeStatus(watch, event.statusUpdate, received)
  if ('artifactUpdate' in event) yield* takeArtifact(watch, event.artifactUpdate, received)
  return 'go_on'
}

async function* takeStatus(
  watch: Watch,
  event: TaskStatusUpdateEvent,
  received: Received,
): AsyncGenerator<TaskNews, 'rest' | 'go_on'> {
  if (event.taskId !== watch.ref.taskId) return 'go_on'
  const { state } = event.status
  const said = newsOfStatus(watch, event, received)
  if (!isResting(state)) {
    watch.state = state
    yield said
    return 'go_on'
  }
  const snapshot = await look(watch)
  const settled = snapshot !== undefined && isResting(snapshot.task.status.state)
  if (settled) yield takeInto(watch, snapshot)
  else if (snapshot !== undefined && !isTerminal(state)) {
    // It asked and has gone on since: what it shows now counts.
    yield takeInto(watch, snapshot)
    return 'go_on'
  } else yield said
  return 'rest'
}

function newsOfStatus(watch: Watch, event: TaskStatusUpdateEvent, received: Received): TaskNews {
  const contextId = event.contextId === '' ? watch.ref.contextId : event.contextId
  const handle = sealHandle(watch.link!.peer, {
    ...watch.ref,
    ...(contextId === undefined ? {} : { contextId }),
  })
  const words = wordsOf(event.status.message)
  const span = spanAt(received.text, [['statusUpdate', 'status_update'], ['status']])
  const status = span === undefined ? '{}' : received.text.slice(span.start, span.end)
  // In the form of a Task, which is what core keeps; the status itself is as received.
  const ids = { id: event.taskId, ...(contextId === undefined ? {} : { contextId }) }
  const text = `${JSON.stringify(ids).slice(0, -1)},"status":${status}}`
  return {
    kind: 'status',
    outcome: outcomeOfStatus({ status: event.status, handle, text }),
    ...(words === '' ? {} : { text: words }),
  }
}

async function* takeArtifact(
  watch: Watch,
  event: TaskArtifactUpdateEvent,
  received: Received,
): AsyncGenerator<TaskNews, void> {
  if (event.taskId !== watch.ref.taskId) return
  const { text } = received
  const span = spanAt(text, [['artifactUpdate', 'artifact_update'], ['artifact']])
  const chunk = chunkOfEvent(event, text, span ?? wholeSpan(text))
  const step = takeChunk(watch.taken ?? NOTHING_TAKEN, chunk, watch.options.limits)
  watch.taken = step.taken
  if (step.chunk === undefined || step.chunk.parts.length < chunk.parts.length) {
    const what = `artifact ${JSON.stringify(chunk.artifactId.slice(0, 80))} passes the limits of a task and is not taken`
    watch.note(watch.ref.taskId, what)
  }
  if (step.chunk !== undefined) yield { kind: 'artifact', chunk: step.chunk }
}

/** Reads the task while a stream is silent; what the stream missed is yielded. */
async function* lookBeside(watch: Watch): AsyncGenerator<TaskNews, 'rest' | 'missed' | 'same'> {
  const snapshot = await look(watch)
  if (snapshot === undefined) return 'same'
  const { state } = snapshot.task.status
  const same = state === watch.state && sameTaken(snapshot.taken, watch.taken ?? NOTHING_TAKEN)
  if (same && !isResting(state)) return 'same'
  yield takeInto(watch, snapshot)
  return isResting(state) ? 'rest' : 'missed'
}

async function look(watch: Watch): Promise<Snapshot | undefined> {
  const { options } = watch
  const read = await readTask(watch.link!, watch.ref, {
    signal: watch.signal,
    timeoutMs: Math.min(options.readTimeoutMs, options.silenceMs),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  if (read.kind === 'task') return read.snapshot
  if (!watch.signal.aborted) watch.note(watch.ref.taskId, read.detail)
  return undefined
}

function sameTaken(left: Taken, right: Taken): boolean {
  if (left.size !== right.size) return false
  return [...left].every(([id, held]) => right.get(id)?.bytes === held.bytes)
}

/** A member of a received object, with its own text. */
function part(received: Received, ...names: string[]): Received {
  const span = spanAt(received.text, [names])
  const value = received.value as Readonly<Record<string, unknown>>
  const name = names.find((spelling) => Object.hasOwn(value, spelling))
  return {
    value: name === undefined ? undefined : value[name],
    text: span === undefined ? 'null' : received.text.slice(span.start, span.end),
  }
}

async function within<T>(
  pending: Promise<T>,
  ms: number,
  signal: AbortSignal,
): Promise<T | 'silence' | 'aborted'> {
  if (signal.aborted) return 'aborted'
  let timer: NodeJS.Timeout | undefined
  let onAbort: (() => void) | undefined
  try {
    return await Promise.race([
      pending,
      new Promise<'silence'>((resolve) => (timer = setTimeout(() => resolve('silence'), ms))),
      new Promise<'aborted'>((resolve) => {
        onAbort = () => resolve('aborted')
        signal.addEventListener('abort', onAbort, { once: true })
      }),
    ])
  } finally {
    clearTimeout(timer)
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort)
  }
}

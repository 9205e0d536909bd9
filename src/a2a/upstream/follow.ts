/**
 * Follows one remote task: only yields, never tells the agent anything but "read" and "subscribe".
 *
 * A closed stream says nothing about the task, so after every end that is not a resting state the
 * task itself is read. Ends at a terminal state, at a question, or when the agent stayed out of reach
 * for the whole budget; goes on through auth-required, which may resolve by itself.
 *
 * @source A2A 1.0.1, 3.1.6 (subscribe), 4.1.3 (states), 7.6.1 (auth-required)
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../core/ports/world.ts'
import type { TaskNews } from '../../core/words/task.ts'
import { METHODS } from '../wire/rev-1-0.ts'
import type { TaskRef } from './handle.ts'
import type { Connect } from './link.ts'
import type { OpenStream, OpenStreams } from './open-streams.ts'
import { readStream } from './read-stream.ts'
import { digestOf, readTask, tenantOf } from './read-task.ts'
import { type FollowOptions, isResting, takeInto, type Watch } from './watch.ts'

/** What following needs. */
export interface FollowDeps {
  readonly connect: Connect
  readonly streams: OpenStreams
  readonly clock: Clock
  /** Steps that failed on the way, for the record of whoever runs this. */
  note(taskId: string, what: string): void
}

/** After so many streams that brought nothing, the task is only read. */
const MAX_EMPTY_STREAMS = 3

/**
 * Yields the news of a task.
 *
 * @param after the cursor of the last snapshot on record: an equal one is not yielded again.
 */
export async function* followTask(
  deps: FollowDeps,
  ref: TaskRef,
  after: string | undefined,
  options: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<TaskNews> {
  const watch: Watch = { ref, options, signal, digest: after, note: deps.note }
  let pauseMs = options.pollMinMs
  let emptyStreams = 0
  let reachedAt = deps.clock.now()

  while (!signal.aborted) {
    // The card is asked for again only when the agent is out of reach: a read must not cost two.
    const link = watch.link ?? (await deps.connect(signal))
    if (link.kind !== 'link') {
      deps.note(ref.taskId, link.detail)
    } else {
      watch.link = link
      if (link.capabilities.streaming === true && emptyStreams < MAX_EMPTY_STREAMS) {
        const ended = yield* stream(deps, watch)
        if (ended === 'rest' || signal.aborted) return
        emptyStreams =
          ended === 'silent' ? MAX_EMPTY_STREAMS : ended === 'empty' ? emptyStreams + 1 : 0
        if (ended === 'lively') reachedAt = deps.clock.now()
      }
      const read = yield* poll(watch)
      if (read === 'rest' || signal.aborted) return
      if (read === 'unreachable') {
        // Streams that failed with everything else say nothing about streaming.
        emptyStreams = 0
        delete watch.link
      } else reachedAt = deps.clock.now()
      if (read === 'changed') pauseMs = options.pollMinMs
    }
    if (deps.clock.now() - reachedAt > options.reachMs) return
    await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 1.6, options.pollMaxMs)
  }
}

/** One read of the task; what changed is yielded. */
async function* poll(
  watch: Watch,
): AsyncGenerator<TaskNews, 'rest' | 'changed' | 'same' | 'unreachable'> {
  const { ref, options, signal } = watch
  const link = watch.link!
  const { limits } = options
  const read = await readTask(link, ref, {
    signal,
    timeoutMs: options.readTimeoutMs,
    ...(limits === undefined ? {} : { limits }),
  })
  if (signal.aborted) return 'unreachable'
  if (read.kind === 'task') {
    const resting = isResting(read.snapshot.task.status.state)
    const same = digestOf(read.snapshot) === watch.digest
    // A resting state is yielded even when seen before: it is what ends the following.
    if (!same || resting) yield takeInto(watch, read.snapshot)
    return resting ? 'rest' : same ? 'same' : 'changed'
  }
  watch.note(ref.taskId, read.detail)
  if (read.kind !== 'not_found') return 'unreachable'
  const detail = `the agent no longer knows this task: ${read.detail}`
  yield { kind: 'status', outcome: { state: 'unknown', because: 'peer_unclear', detail } }
  return 'rest'
}

/** One stream, opened here or left open by the send; its news are yielded. */
async function* stream(
  deps: FollowDeps,
  watch: Watch,
): AsyncGenerator<TaskNews, 'rest' | 'lively' | 'empty' | 'silent'> {
  const { ref, signal } = watch
  const parked = deps.streams.take(ref.taskId)
  if (parked !== undefined) return yield* readStream(watch, parked.stream, parked.snapshot)
  const opened = await subscribe(watch)
  if (opened === undefined || signal.aborted) return 'empty'
  return yield* readStream(watch, opened)
}

async function subscribe(watch: Watch): Promise<OpenStream | undefined> {
  const { ref, signal, options } = watch
  const link = watch.link!
  const reply = await link.rpc.stream({
    method: METHODS.subscribeToTask,
    params: JSON.stringify({ ...tenantOf(ref), id: ref.taskId }),
    wireId: link.wireId(),
    signal,
    timeoutMs: options.readTimeoutMs,
    act: false,
  })
  if (reply.kind === 'stream') {
    return { items: reply.items[Symbol.asyncIterator](), close: () => reply.close() }
  }
  // A terminal task cannot be subscribed to: the read that follows tells. @source A2A 1.0.1, 3.1.6
  const expected = reply.kind === 'error' && reply.error.reason === 'UNSUPPORTED_OPERATION'
  if (!expected) watch.note(ref.taskId, reply.kind === 'error' ? reply.error.message : reply.detail)
  return undefined
}

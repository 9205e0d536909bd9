/**
 * Looks for a first send whose answer was lost, by our message id in the agent's own list.
 *
 * Found is found. Not found proves nothing: an agent may keep no history, may list late, or may have
 * answered with a Message and made no task. So the answer is never `absent` here.
 *
 * @source A2A 1.0.1, 3.1.4 (ListTasks) and 3.7 (not every message is in the history)
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Work } from '../../core/ports/upstream.ts'
import { encodeWire, parseWire, REPLY_LIMITS } from '../wire/codec.ts'
import type { ListTasksResponse, Task } from '../wire/messages.ts'
import { METHODS } from '../wire/rev-1-0.ts'
import { elementsOf, membersOf, wholeSpan } from '../wire/span.ts'
import type { ArtifactLimits } from './artifacts.ts'
import type { AgentLink } from './link.ts'
import { messageIdOf } from './message.ts'
import { newsOfSnapshot, readTask, type Snapshot, takeTask, tenantOf } from './read-task.ts'

/** Bounds of one search. */
export interface FindOptions {
  /** Pauses before the second, third … look, milliseconds: a task may be listed a moment late. */
  readonly pausesMs: readonly number[]
  readonly timeoutMs: number
  readonly limits?: ArtifactLimits
}

/** The default bounds. */
export const FIND_OPTIONS: FindOptions = { pausesMs: [1000, 3000], timeoutMs: 15_000 }

type Found = Awaited<ReturnType<Work['find']>>
const MAX_PAGES = 20
const PAGE_SIZE = 50
const HISTORY = 50
/** Clocks differ; the list is filtered by the agent's. */
const CLOCK_SKEW_MS = 120_000

/**
 * @param sentAt epoch milliseconds of the send, by our clock.
 * @throws Error when the agent is out of reach.
 */
export async function findTask(
  link: AgentLink,
  callId: string,
  sentAt: number,
  options: FindOptions,
  signal: AbortSignal,
): Promise<Found> {
  const messageId = messageIdOf(callId)
  for (const pauseMs of [0, ...options.pausesMs]) {
    if (pauseMs > 0) await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return 'cannot_tell'
    const looked = await look(link, messageId, sentAt, options, signal)
    if (looked === 'no_list') return 'cannot_tell'
    if (looked !== undefined) return { found: newsOfSnapshot(looked), handle: looked.handle }
  }
  return 'cannot_tell'
}

/** One pass over the list. `no_list`: this agent cannot be searched. */
async function look(
  link: AgentLink,
  messageId: string,
  sentAt: number,
  options: FindOptions,
  signal: AbortSignal,
): Promise<Snapshot | 'no_list' | undefined> {
  const seen = new Set<string>()
  let pageToken = ''
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const listed = await listPage(link, sentAt, pageToken, options, signal)
    if (listed === undefined) return 'no_list'
    const texts = elementsOf(listed.text, listed.tasks)
    for (const [index, task] of listed.value.tasks.entries()) {
      if (!holds(task, messageId)) continue
      const span = texts[index]
      const text =
        span === undefined ? JSON.stringify(task) : listed.text.slice(span.start, span.end)
      return present(link, { task, text }, options, signal)
    }
    seen.add(pageToken)
    pageToken = listed.value.nextPageToken
    // The same cursor again would turn in circles.
    if (pageToken === '' || seen.has(pageToken)) return undefined
  }
  return undefined
}

async function listPage(
  link: AgentLink,
  sentAt: number,
  pageToken: string,
  options: FindOptions,
  signal: AbortSignal,
): Promise<
  | {
      readonly value: ListTasksResponse
      readonly text: string
      readonly tasks: { start: number; end: number }
    }
  | undefined
> {
  const reply = await link.rpc.send({
    method: METHODS.listTasks,
    params: JSON.stringify(
      encodeWire('ListTasksRequest', {
        ...tenantOf(link),
        statusTimestampAfter: new Date(sentAt - CLOCK_SKEW_MS).toISOString(),
        pageSize: PAGE_SIZE,
        historyLength: HISTORY,
        ...(pageToken === '' ? {} : { pageToken }),
      }),
    ),
    wireId: link.wireId(),
    signal,
    timeoutMs: options.timeoutMs,
    act: false,
  })
  // Out of reach is no answer about the list: whoever looks may look again later.
  if (reply.kind === 'not_sent' || reply.kind === 'no_answer') throw new Error(reply.detail)
  if (reply.kind === 'error') {
    if (reply.error.kind === 'http' && reply.error.status >= 429)
      throw new Error(reply.error.message)
    return undefined
  }
  const { value, text } = reply.received
  // Sizes are not needed here, and emitters drop zeros and empty texts that the protocol requires.
  const filled = { nextPageToken: '', pageSize: 0, totalSize: 0, ...(value as object) }
  const parsed = parseWire('ListTasksResponse', filled, REPLY_LIMITS)
  if (!parsed.ok) return undefined
  const tasks = membersOf(text, wholeSpan(text)).get('tasks') ?? { start: 0, end: 0 }
  return { value: parsed.value, text, tasks }
}

function holds(task: Task, messageId: string): boolean {
  return (task.history ?? []).some((message) => message.messageId === messageId)
}

/** The task as it stands; the listed form has no artifacts. */
async function present(
  link: AgentLink,
  listed: { readonly task: Task; readonly text: string },
  options: FindOptions,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  const ref = { taskId: listed.task.id, ...tenantOf(link) }
  const limits = options.limits === undefined ? {} : { limits: options.limits }
  const read = await readTask(link, ref, { signal, timeoutMs: options.timeoutMs, ...limits })
  if (read.kind === 'task') return read.snapshot
  const received = { value: listed.task, text: listed.text }
  const taken = takeTask(link.peer, received, ref, options.limits)
  return 'snapshot' in taken ? taken.snapshot : undefined
}

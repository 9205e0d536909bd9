/**
 * Which tasks of 2025-11-25 are followed on one link, and what of their servers' requests names one: never taken for a question
 * of a call that is open beside it.
 *
 * A task may ask before its follower has begun: its question waits for that a while.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks, associating task-related messages
 */
import type { Answer, Question } from '../../core/words/question.ts'
import { setResultMeta } from '../wire/codec.ts'
import type { RpcRequest } from '../wire/json-rpc.ts'
import { LEGACY_TASK_META } from '../wire/rev-2025-11-25.ts'
import { encodeJson, findMember, readString, scanObject } from '../wire/spans.ts'
import type { AskableKinds } from './task-ref.ts'

/** A task that can be asked for. */
export interface AskedTask {
  /** What whoever began it can be asked. */
  readonly can: AskableKinds
  /** As `Exchange.ask`. */
  ask(question: Question, withdrawn: AbortSignal): Promise<Answer>
}

/** How long a question waits for its task to be followed, milliseconds. */
const WAIT_MS = 10_000

export class AskedTasks {
  readonly #tasks = new Map<string, AskedTask>()
  readonly #waiting = new Map<string, Set<() => void>>()

  get(taskId: string): AskedTask | undefined {
    return this.#tasks.get(taskId)
  }

  /** @returns the way to take it out again. */
  add(taskId: string, task: AskedTask): () => void {
    this.#tasks.set(taskId, task)
    for (const wake of this.#waiting.get(taskId) ?? []) wake()
    return () => {
      if (this.#tasks.get(taskId) === task) this.#tasks.delete(taskId)
    }
  }

  /** @returns undefined when nobody follows it in time. */
  async find(taskId: string, withdrawn: AbortSignal): Promise<AskedTask | undefined> {
    const known = this.#tasks.get(taskId)
    if (known !== undefined || withdrawn.aborted) return known
    const woken = Promise.withResolvers<void>()
    const wake = (): void => woken.resolve()
    const waiting = this.#waiting.get(taskId) ?? new Set()
    this.#waiting.set(taskId, waiting.add(wake))
    const timer = setTimeout(wake, WAIT_MS)
    timer.unref()
    withdrawn.addEventListener('abort', wake, { once: true })
    await woken.promise
    clearTimeout(timer)
    withdrawn.removeEventListener('abort', wake)
    waiting.delete(wake)
    if (waiting.size === 0) this.#waiting.delete(taskId)
    return this.#tasks.get(taskId)
  }
}

/** The id of the task that a request belongs to, when it says so. @param request sound in its params. */
export function relatedTask({ bytes, params }: RpcRequest): string | undefined {
  if (params === undefined) return undefined
  const options = { validated: true }
  const meta = findMember(scanObject(bytes, params, options), '_meta')
  if (meta?.type !== 'object') return undefined
  const related = findMember(scanObject(bytes, meta.value, options), LEGACY_TASK_META.related)
  if (related?.type !== 'object') return undefined
  const id = findMember(scanObject(bytes, related.value, options), 'taskId')
  return id?.type === 'string' ? readString(bytes, id.value) : undefined
}

/** A result that belongs to the task. */
export function relateTo(result: Uint8Array, taskId: string): Uint8Array {
  return setResultMeta(result, { [LEGACY_TASK_META.related]: encodeJson({ taskId }) })
}

/** A result without what says that it belongs to a task of this hop. */
export function withoutRelation(result: Uint8Array): Uint8Array {
  return setResultMeta(result, { [LEGACY_TASK_META.related]: undefined })
}

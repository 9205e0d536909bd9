/**
 * `tasks/result` of 2025-11-25: waits until the task has ended and answers as its call would have been answered. Whoever waits
 * is asked meanwhile what the task asks, each question once.
 *
 * A question that nobody answered here stays open: it can be answered elsewhere, or in the next `tasks/result`.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks, result retrieval and input required status
 */
import type { Answer as QuestionAnswer, Question } from '../../core/words/question.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { setResultMeta } from '../wire/codec.ts'
import { mcpNative } from '../wire/native.ts'
import { LEGACY_TASK_META } from '../wire/rev-2025-11-25.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, scanObject, setMembers, sliceOf } from '../wire/spans.ts'
import { ourError, type Answer } from './answer.ts'
import { answerTask } from './answer-task.ts'
import { hasEnded, legacyStatusOf, relate } from './legacy-task-form.ts'
import { findLegacyTask } from './legacy-tasks.ts'
import type { Delegation, Door } from './options.ts'
import { showTask } from './show-task.ts'
import { answerTo, mcpQuestion } from './task-question.ts'
import { renderTask } from './task-view.ts'
import type { Visit } from './visit.ts'

export async function answerLegacyResult(door: Door, visit: Visit): Promise<Answer> {
  const named = await findLegacyTask(door, visit)
  if ('kind' in named) return named
  const { delegation, task } = named
  const ended = await new ResultWait(door, delegation, visit, task).run()
  if (!hasEnded(ended)) {
    const text = `task ${task.id} has not ended, and is not waited for any longer here: ask again`
    return ourError(RPC_ERRORS.internal, text)
  }
  const shown =
    legacyStatusOf(ended) === 'cancelled'
      ? await renderTask(delegation, visit, ended, { isError: true })
      : await showTask({ delegation, visit }, ended)
  if (shown.kind === 'error') return shown
  const { revision } = shown
  const bytes = relate(shown.bytes, task.id)
  return { kind: 'result', bytes, ...(revision === undefined ? {} : { revision }) }
}

/** Questions that some caller is being asked, by the desk they are of: settles when that one is asked no more. */
const beingAsked = new WeakMap<Delegation, Map<string, Promise<void>>>()

/** One request that waits for the end of a task. */
class ResultWait {
  readonly #door: Door
  readonly #delegation: Delegation
  readonly #visit: Visit
  readonly #over = new AbortController()
  /** Keys of what was asked here, with the way to take it back. */
  readonly #asked = new Map<string, AbortController>()
  #latest: TaskRecord
  /** One answer at a time. */
  #answering: Promise<unknown> = Promise.resolve()

  constructor(door: Door, delegation: Delegation, visit: Visit, task: TaskRecord) {
    this.#door = door
    this.#delegation = delegation
    this.#visit = visit
    this.#latest = task
  }

  /** @returns the task as it ended; as it stands when the waiting ended first. */
  async run(): Promise<TaskRecord> {
    const { caller, principal } = this.#visit
    const signal = AbortSignal.any([caller.signal, this.#over.signal])
    try {
      await this.#delegation.desk.watch(this.#latest.id, principal, signal, (task) =>
        this.#take(task),
      )
    } finally {
      this.#over.abort()
    }
    return this.#latest
  }

  #take(task: TaskRecord): void {
    this.#latest = task
    if (hasEnded(task)) return this.#over.abort()
    for (const [key, asked] of this.#asked)
      if (!task.questions.some((question) => question.key === key)) asked.abort()
    for (const question of task.questions) this.#ask(task, question)
  }

  #ask(task: TaskRecord, question: Question): void {
    const { key } = question
    const own = mcpQuestion(question, task.peer)
    const { can, caller } = this.#visit
    if (this.#asked.has(key) || own.kind === 'text' || !can[own.kind] || caller.ask === undefined)
      return
    const claims = claimsOf(this.#delegation)
    const claim = JSON.stringify([task.id, key])
    const other = claims.get(claim)
    if (other !== undefined) {
      void other.then(() => this.#over.signal.aborted || this.#take(this.#latest))
      return
    }
    const withdrawn = new AbortController()
    this.#asked.set(key, withdrawn)
    const asking = this.#put(question, own, withdrawn.signal)
      .catch(this.#door.report)
      .finally(() => claims.delete(claim))
    claims.set(
      claim,
      asking.then(() => undefined),
    )
  }

  async #put(question: Question, own: Question, withdrawn: AbortSignal): Promise<void> {
    const { caller } = this.#visit
    const signal = AbortSignal.any([withdrawn, this.#over.signal])
    const taskId = this.#latest.id
    const given = await caller.ask?.(related(own, taskId), signal)
    if (given === undefined || signal.aborted || !isGiven(given)) return
    const answer = answerTo(question, unrelated({ ...given, key: question.key }))
    const answered = this.#answering.then(() =>
      answerTask(this.#door, this.#delegation, this.#visit, taskId, [answer]),
    )
    this.#answering = answered.catch(() => undefined)
    await answered
  }
}

function claimsOf(delegation: Delegation): Map<string, Promise<void>> {
  const claims = beingAsked.get(delegation) ?? new Map<string, Promise<void>>()
  beingAsked.set(delegation, claims)
  return claims
}

/** Whether someone said it: a question that could not be asked, or was not answered in time, is none. */
function isGiven({ action, native, unasked }: QuestionAnswer): boolean {
  return unasked === undefined && (native !== undefined || action === 'decline')
}

/** The question as one that belongs to the task. */
function related(question: Question, taskId: string): Question {
  const { native } = question
  const params = findMember(scanObject(native.bytes), 'params')
  const own = params === undefined ? encodeJson({}) : sliceOf(native.bytes, params.value)
  const bytes = setMembers(native.bytes, undefined, { params: relate(own, taskId) })
  return { ...question, native: mcpNative(bytes, native.revision) }
}

/** The answer without what belongs to the caller's hop. */
function unrelated(answer: QuestionAnswer): QuestionAnswer {
  const { native } = answer
  if (native === undefined) return answer
  const bytes = setResultMeta(native.bytes, { [LEGACY_TASK_META.related]: undefined })
  return { ...answer, native: mcpNative(bytes, native.revision) }
}

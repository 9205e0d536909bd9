/**
 * What is said between us and one task of 2025-11-25 while it runs: what it asks, and the one `tasks/result` that waits for its
 * end. Of this process: when the session ends nothing of it is left, and what it had asked is asked no more.
 */
import { randomBytes } from 'node:crypto'
import type { Answer, Question } from '../../core/words/question.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import type { AskedOn } from './asks.ts'
import type { AskedTask } from './asked-tasks.ts'
import type { Session } from './session.ts'
import type { AskableKinds, TaskRef } from './task-ref.ts'
import { pause } from './task-words.ts'

/** Questions of one task at once; a person answers them. */
const MOST_AT_ONCE = 8

interface Pending {
  readonly question: Question
  readonly answer: (answer: Answer) => void
}

export class TaskTalk implements AskedTask {
  readonly taskId: string
  readonly can: AskableKinds
  readonly #over = new AbortController()
  readonly #pending = new Map<string, Pending>()
  /** Keys are never used again, not even by the next process. */
  readonly #run = randomBytes(6).toString('base64url')
  #keys = 0
  #on: { readonly session: Session; readonly asked: AskedOn } | undefined
  #result: Promise<RpcResult | undefined> | undefined
  #change = new AbortController()

  constructor({ taskId, can }: TaskRef) {
    this.taskId = taskId
    this.can = can
  }

  /** Aborted when nobody follows the task any more. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Where it was last spoken to. */
  get session(): Session | undefined {
    return this.#on?.session
  }

  /** What it waits for. */
  get questions(): readonly Question[] {
    return [...this.#pending.values()].map(({ question }) => question)
  }

  /** Something is open that only this process can go on with. */
  get isOpen(): boolean {
    return this.#pending.size > 0 || this.#result !== undefined
  }

  /** From now on it asks on this session. */
  attach(session: Session): AskedOn {
    if (this.#on?.session === session) return this.#on.asked
    this.#on?.asked.end()
    const asked = session.followTask(this.taskId, this)
    this.#on = { session, asked }
    return asked
  }

  ask(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    const { key } = question
    if (this.#over.signal.aborted || withdrawn.aborted || this.#pending.size >= MOST_AT_ONCE)
      return Promise.resolve({ key, action: 'cancel' })
    return new Promise((resolve) => {
      this.#keys += 1
      const own = `${this.#run}-${this.#keys}`
      const cancel = (): void => answer({ key: own, action: 'cancel' })
      const answer = (given: Answer): void => {
        if (!this.#pending.delete(own)) return
        withdrawn.removeEventListener('abort', cancel)
        this.#changed()
        resolve({ ...given, key })
      }
      withdrawn.addEventListener('abort', cancel, { once: true })
      this.#pending.set(own, { question: { ...question, key: own }, answer })
      this.#changed()
    })
  }

  /** @returns whether it asks that, still. */
  asks(key: string): boolean {
    return this.#pending.has(key)
  }

  answer(answers: readonly Answer[]): void {
    for (const answer of answers) this.#pending.get(answer.key)?.answer(answer)
  }

  /**
   * Waits for its end with `tasks/result`, if it is not waited for yet.
   *
   * @param wait a server that does not let us wait is asked again at the next look, not at once.
   */
  listen(wait: () => Promise<RpcResult | RpcError>): void {
    if (this.#result !== undefined || this.#over.signal.aborted) return
    this.#result = wait().then(
      (answer) => (answer.kind === 'result' ? this.#heard(answer) : this.#deaf()),
      () => this.#deaf(),
    )
  }

  /** The result that it came to; undefined when it is not waited for, or that broke. */
  result(): Promise<RpcResult | undefined> {
    return this.#result ?? Promise.resolve(undefined)
  }

  /** Until it is time to look again: something new ends it. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, AbortSignal.any([signal, this.#change.signal]))
    if (this.#change.signal.aborted) this.#change = new AbortController()
  }

  end(): void {
    this.#over.abort()
    this.#on?.asked.end()
    for (const { answer } of this.#pending.values()) answer({ key: '', action: 'cancel' })
  }

  #heard(answer: RpcResult): RpcResult {
    this.#changed()
    return answer
  }

  #deaf(): undefined {
    this.#result = undefined
  }

  #changed(): void {
    this.#change.abort()
  }
}

/**
 * What a call that runs here asks while it is a task: questions stand on the task's row under keys of their own, which are
 * never used again, until each is answered, withdrawn or the call ends. Answers come by `answer`; some may come before others.
 */
import type { DispatchPorts } from './dispatch.ts'
import type { Dispatched } from './ports/doors.ts'
import { step } from './step.ts'
import type { Outcome } from './words/outcome.ts'
import { OPERATOR } from './words/principal.ts'
import type { Answer, Question } from './words/question.ts'
import { isTerminal, type TaskRecord } from './words/task.ts'

interface Waiting {
  readonly question: Question
  /** The peer's key. */
  readonly key: string
  readonly answer: (answer: Answer) => void
}

/** Compare-and-set is retried against other writers of the same row. */
const MAX_TRIES = 50

export class TaskQuestions {
  readonly #ports: DispatchPorts
  /** By our key. */
  readonly #waiting = new Map<string, Waiting>()
  #taskId: string | undefined
  #keys = 0
  #hasEnded = false
  /** Rows are written one after another, each with what is asked by then. */
  #writing: Promise<void> = Promise.resolve()

  constructor(ports: DispatchPorts) {
    this.#ports = ports
  }

  get taskId(): string | undefined {
    return this.#taskId
  }

  /** From now on there is a row. */
  begin(taskId: string): void {
    this.#taskId = taskId
  }

  /** Asks; never rejects. `cancel` when it is withdrawn or the call ends first. */
  ask(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    const { key } = question
    if (this.#hasEnded || withdrawn.aborted) return Promise.resolve({ key, action: 'cancel' })
    return new Promise((resolve) => {
      this.#keys += 1
      const own = `q${this.#keys}`
      const cancel = (): void => answer({ key: own, action: 'cancel' })
      const answer = (given: Answer): void => {
        if (!this.#waiting.delete(own)) return
        stop()
        this.#write()
        resolve({ ...given, key })
      }
      const stop = this.#ports.onAbort(withdrawn, cancel)
      this.#waiting.set(own, { question, key, answer })
      this.#write()
    })
  }

  askAll(questions: readonly Question[], withdrawn: AbortSignal): Promise<readonly Answer[]> {
    return Promise.all(questions.map((question) => this.ask(question, withdrawn)))
  }

  /** Resolves when the row does not ask it any more. */
  answer(answers: readonly Answer[]): Promise<void> {
    for (const answer of answers) this.#waiting.get(answer.key)?.answer(answer)
    return this.#writing
  }

  /** Nothing is asked any more; what waits is canceled. */
  end(): void {
    this.#hasEnded = true
    for (const { answer } of this.#waiting.values()) answer({ key: '', action: 'cancel' })
  }

  /** Ends, and waits for what is being written. @returns the row as it stands. */
  async close(): Promise<TaskRecord | undefined> {
    this.end()
    await this.#writing
    return this.#load()
  }

  /** Moves the row by an outcome of a call that is on record already. */
  async conclude(callId: string, outcome: Outcome): Promise<Dispatched> {
    await this.#commit((task) => step(task, { kind: 'status', outcome }, this.#now(), false).commit)
    const task = await this.#load()
    return task === undefined ? { callId, outcome } : { callId, outcome, task }
  }

  #write(): void {
    if (this.#hasEnded) return
    this.#writing = this.#writing
      .then(() => this.#commit((task) => ({ next: this.#asking(task), writes: [] })))
      .catch((error: unknown) =>
        this.#ports.onFault(`the questions of task ${this.#taskId}`, error),
      )
  }

  #asking(task: TaskRecord): TaskRecord {
    const questions = [...this.#waiting].map(([key, { question }]) => ({ ...question, key }))
    const { theirWords: _theirWords, ...rest } = task
    const state = questions.length > 0 ? 'input_required' : 'working'
    return { ...rest, state, questions, updatedAt: this.#now() }
  }

  async #commit(
    next: (task: TaskRecord) => Parameters<DispatchPorts['tasks']['commit']>[0],
  ): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const task = await this.#load()
      if (task === undefined || isTerminal(task.state)) return
      if ((await this.#ports.tasks.commit(next(task))) === 'committed') return
    }
    throw new Error(`task ${this.#taskId} changed under every one of ${MAX_TRIES} tries`)
  }

  async #load(): Promise<TaskRecord | undefined> {
    return this.#taskId === undefined ? undefined : this.#ports.tasks.load(this.#taskId, OPERATOR)
  }

  #now(): string {
    return new Date(this.#ports.clock.now()).toISOString()
  }
}

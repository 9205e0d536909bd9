/**
 * A call that may become a task while it runs: its row is made when somebody asks for it, or when the peer goes on with it as a
 * task of its own.
 *
 * Once it is kept nobody waits on a connection: what the peer asks stands on the task's row, and the rounds of a peer that
 * answers with questions are gone through here, each a call of its own on record.
 */
import {
  admit,
  delegatedEarlier,
  dispatchedAs,
  type DispatchPorts,
  keepLongWork,
  newTask,
  send,
  settleTask,
  toldBack,
} from './dispatch.ts'
import type { Begin, Begun, Dispatched } from './ports/doors.ts'
import type { CallEvent, Exchange, Stopping, StopReason } from './ports/upstream.ts'
import { openCall, type Passed, settleLater } from './record-call.ts'
import { TaskQuestions } from './task-questions.ts'
import type { OutboundCall } from './words/call.ts'
import { longWorkOf, type Outcome } from './words/outcome.ts'
import type { Answer, CallerCan, Question } from './words/question.ts'
import type { TaskRecord } from './words/task.ts'

/** Rounds of questions that a kept call goes through. */
const MOST_ROUNDS = 16

/** Makes the way into calls that may become tasks. The exchange must be able to `stop`. */
export function createBegin(ports: DispatchPorts): Begin {
  return async (call, exchange) => {
    const outbound = admit(ports, call)
    const { callId } = outbound
    const task = call.asTask === true ? newTask(ports, outbound) : undefined
    const opened = await openCall(ports, outbound, task, exchange)
    if ('refused' in opened && opened.earlier !== undefined) {
      const earlier = await delegatedEarlier(ports, outbound, opened.earlier, opened.refused)
      return { ...earlier, keep: () => Promise.resolve(earlier.task) }
    }
    if ('refused' in opened) {
      const reply = Promise.resolve({ callId, outcome: opened.refused })
      return { callId, reply, keep: () => Promise.resolve(undefined) }
    }
    exchange.opened?.(callId)
    return new LongCall(ports, outbound, opened, exchange, task)
  }
}

class LongCall implements Begun, Exchange {
  readonly callId: string
  readonly task?: TaskRecord
  readonly reply: Promise<Dispatched>
  readonly #ports: DispatchPorts
  readonly #call: OutboundCall
  readonly #exchange: Exchange
  readonly #questions: TaskQuestions
  #keeping: Promise<TaskRecord | undefined> | undefined
  #isKept = false
  #hasEnded = false

  /** @param task its row, when that was made with the call. */
  constructor(
    ports: DispatchPorts,
    call: OutboundCall,
    passed: Passed,
    exchange: Exchange,
    task?: TaskRecord,
  ) {
    this.callId = call.callId
    this.#ports = ports
    this.#call = call
    this.#exchange = exchange
    this.#questions = new TaskQuestions(ports)
    if (task !== undefined) {
      this.task = task
      this.#keeping = Promise.resolve(task)
      this.#isKept = true
      this.#questions.begin(task.id)
    }
    this.reply = this.#run(passed).finally(() => this.#end())
    if (task !== undefined) this.#serve(task.id)
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get stopping(): Stopping | undefined {
    return this.#exchange.stopping
  }

  get can(): CallerCan {
    return this.#exchange.can
  }

  stopReason(): StopReason | undefined {
    return this.#exchange.stopReason()
  }

  stop(why: StopReason): void {
    this.#exchange.stop?.(why)
  }

  onGone(listener: () => void): void {
    this.#exchange.onGone?.(listener)
  }

  emit(event: CallEvent): void | Promise<void> {
    return this.#exchange.emit(event)
  }

  async ask(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    const { ask } = this.#exchange
    // Its caller may be about to be told the task's id, and is asked nothing else then.
    if (!this.#isKept && this.#keeping !== undefined) await this.#keeping.catch(() => undefined)
    if (this.#isKept) return this.#questions.ask(question, withdrawn)
    if (ask !== undefined) return ask.call(this.#exchange, question, withdrawn)
    return { key: question.key, action: 'decline', unasked: 'caller' }
  }

  keep(): Promise<TaskRecord | undefined> {
    if (this.#hasEnded && !this.#isKept) return Promise.resolve(undefined)
    this.#keeping ??= this.#keep().catch((error: unknown) => {
      this.#keeping = undefined
      throw error
    })
    return this.#keeping
  }

  async #keep(): Promise<TaskRecord | undefined> {
    const task = newTask(this.#ports, this.#call)
    if ((await this.#ports.ledger.keep(this.callId, task, [])) === 'ended') return undefined
    this.#isKept = true
    this.#questions.begin(task.id)
    this.#serve(task.id)
    return task
  }

  /** From now on its task reaches it. */
  #serve(taskId: string): void {
    this.#ports.running.set(taskId, {
      stop: (why) => this.stop(why),
      answer: (answers) => this.#questions.answer(answers),
      ended: this.reply,
    })
  }

  #end(): void {
    this.#hasEnded = true
    this.#questions.end()
    const { taskId } = this.#questions
    if (taskId !== undefined) this.#ports.running.delete(taskId)
  }

  async #run(first: Passed): Promise<Dispatched> {
    const ports = this.#ports
    let call = this.#call
    let passed = first
    let outcome = await send(ports, call, passed, this)
    for (let round = 1; ; round += 1) {
      // At once, so that no row is made between this look and the end.
      if (this.#keeping === undefined) return this.#endPlain(call, passed, outcome)
      const kept = await this.#keeping.catch(() => undefined)
      if (kept === undefined) return this.#endPlain(call, passed, outcome)
      if (!isRound(outcome)) return this.#endTask(call, passed, outcome)
      if (round > MOST_ROUNDS) {
        settleLater(ports, call.callId, outcome)
        return this.#endTask(call, passed, tooMany(outcome), true)
      }
      const { questions, handle } = outcome
      settleLater(ports, call.callId, outcome)
      const answers = await this.#questions.askAll(questions, this.signal)
      const { approvalId } = passed
      const going = { callId: call.callId, handle, answers }
      const continuation = approvalId === undefined ? going : { ...going, approvalId }
      // The key is the first send's: under it this would be that one again.
      const { idempotency: _idempotency, ...same } = this.#call
      call = admit(ports, { ...same, continuation })
      const opened = await openCall(ports, call, undefined, this)
      if ('refused' in opened) return this.#endTask(call, passed, opened.refused, true)
      passed = opened
      outcome = await send(ports, call, passed, this)
    }
  }

  #endPlain(
    call: OutboundCall,
    passed: Passed,
    outcome: Outcome,
  ): Promise<Dispatched> | Dispatched {
    // From here on it is no task any more, or its peer's.
    this.#hasEnded = true
    if (longWorkOf(outcome) !== undefined) return keepLongWork(this.#ports, call, passed, outcome)
    const told = toldBack(this.#ports, call, outcome)
    settleLater(this.#ports, call.callId, outcome)
    return dispatchedAs(call, passed, told)
  }

  /** @param isSettled the call's own record is complete: the task alone is moved. */
  async #endTask(
    call: OutboundCall,
    passed: Passed,
    outcome: Outcome,
    isSettled = false,
  ): Promise<Dispatched> {
    this.#hasEnded = true
    const task = await this.#questions.close()
    if (task === undefined) return this.#endPlain(call, passed, outcome)
    if (isSettled) return this.#questions.conclude(call.callId, outcome)
    return settleTask(this.#ports, call, passed, outcome, task)
  }
}

function isRound(
  outcome: Outcome,
): outcome is Extract<Outcome, { readonly state: 'input_required' | 'auth_required' }> {
  return outcome.state === 'input_required' && outcome.handle.kind === 'mcp_state'
}

function tooMany(outcome: Outcome): Outcome {
  const peer = 'handle' in outcome ? outcome.handle?.peer : undefined
  return {
    state: 'failed',
    origin: 'protocol',
    ran: 'yes',
    code: 'protocol_violation',
    detail: `${peer ?? 'the peer'} went on asking after ${MOST_ROUNDS} rounds of questions`,
  }
}

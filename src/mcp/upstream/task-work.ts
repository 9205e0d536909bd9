/**
 * Long work at a 2026-07-28 server: its tasks are asked after as often as it wants, answered and canceled by id, on the
 * connection and with the credentials of whoever began them.
 *
 * A server that cannot be reached ends the following for now, and whoever follows comes back. One that does not know the task
 * any more leaves it unknown: it may have run to its end. Nothing here is sent twice but questions about the task.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663): tasks/get, tasks/update, tasks/cancel
 */
import type { CancelReport, WireFacts, Work } from '../../core/ports/upstream.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { refused as refusal, type Handle, type Outcome } from '../../core/words/outcome.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import type { TaskNews } from '../../core/words/task.ts'
import { hopParams } from '../wire/codec.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { encodeJson, setMembers, sliceOf } from '../wire/spans.ts'
import { LinkFailure } from './link.ts'
import { answerBytes } from './questions.ts'
import { faultIn, readTask, type TaskView } from './read-task.ts'
import type { Session } from './session.ts'
import { openTask, type TaskRef } from './task-ref.ts'
import {
  ASK_MS,
  isGone,
  MOST_FAULTS,
  pause,
  pauseOf,
  sayError,
  sayOf,
  unclear,
} from './task-words.ts'

export interface TaskWorkDeps {
  readonly peer: string
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /** On the connection that serves this principal. @throws LinkFailure when there is none. */
  on<T>(principal: string, signal: AbortSignal, run: (session: Session) => Promise<T>): Promise<T>
  /** Keeps what serves this principal from being ended for others. @returns the way to let go of it. */
  hold(principal: string, signal: AbortSignal): Promise<() => void>
}

/** Tasks whose answered questions are remembered. */
const MOST_REMEMBERED = 10_000

export function createTaskWork(deps: TaskWorkDeps): Work {
  const answered = new AnsweredKeys()
  return {
    follow: (handle, _after, signal) => follow(deps, answered, handle, signal),
    inspect: async (handle, signal) => {
      const ref = openTask(handle)
      const { outcome } = await look(deps, ref, handle, signal)
      return { kind: 'status', outcome }
    },
    answer: (call, exchange, dispatched) =>
      answerTask(deps, answered, call, exchange.signal, dispatched),
    cancel: (handle, signal) => cancelTask(deps, handle, signal),
    // Its id is known from the answer alone.
    find: () => Promise.resolve('cannot_tell'),
  }
}

async function* follow(
  deps: TaskWorkDeps,
  answered: AnsweredKeys,
  handle: Handle,
  signal: AbortSignal,
): AsyncGenerator<TaskNews> {
  const ref = openTask(handle)
  let said = ''
  let faults = 0
  while (!signal.aborted) {
    let view: TaskView
    try {
      view = await look(deps, ref, handle, signal)
      faults = 0
    } catch (error) {
      if (signal.aborted || error instanceof LinkFailure) return
      const what = faultIn(error)
      faults += 1
      if (faults < MOST_FAULTS) {
        await pause(pauseOf(ref.pollMs) * 2 ** faults, signal)
        continue
      }
      yield { kind: 'status', outcome: unclear(deps.peer, what) }
      return
    }
    const outcome = answered.without(ref, view.outcome)
    if (view.refused.length > 0 && !(await declineAll(deps, answered, ref, view.refused, signal))) {
      yield { kind: 'status', outcome: mayNotAsk(deps.peer, handle) }
      return
    }
    const words = sayOf(outcome)
    if (words !== said) yield { kind: 'status', outcome }
    said = words
    if (outcome.state !== 'working') {
      if (outcome.state !== 'input_required') answered.forget(ref)
      return
    }
    await pause(pauseOf(view.pollMs ?? ref.pollMs), signal)
  }
}

/** The present state of a task. @throws LinkFailure; JsonFault or Error for an answer that is none. */
async function look(
  deps: TaskWorkDeps,
  ref: TaskRef,
  handle: Handle,
  signal: AbortSignal,
): Promise<TaskView> {
  const answer = await ask(deps, ref, 'tasks/get', {}, signal)
  if (answer.kind === 'error') {
    if (!isGone(answer)) throw new Error(sayError(answer))
    const outcome = unclear(deps.peer, 'it does not know the task any more')
    return { outcome, refused: [], pollMs: undefined }
  }
  if (answer.result.type !== 'object') throw new Error('a result that is no object')
  return readTask(sliceOf(answer.bytes, answer.result.value), ref, handle)
}

async function answerTask(
  deps: TaskWorkDeps,
  answered: AnsweredKeys,
  { continuation }: OutboundCall,
  signal: AbortSignal,
  dispatched: (facts: WireFacts) => void,
): Promise<Outcome> {
  if (continuation === undefined) throw new Error('an answer without its task')
  const { handle, answers } = continuation
  const ref = openTask(handle)
  let sent = false
  const onSend = (facts: WireFacts): void => {
    sent = true
    dispatched(facts)
  }
  try {
    const answer = await ask(deps, ref, 'tasks/update', responsesOf(answers), signal, onSend)
    if (answer.kind === 'error')
      return refusal(
        'peer',
        'peer_error',
        `${deps.peer}: the answer was refused: ${sayError(answer)}`,
      )
    answered.add(ref, answers)
    return await standOf(deps, answered, handle, signal)
  } catch (error) {
    if (!(error instanceof LinkFailure)) throw error
    const detail = `${deps.peer}: ${error.message}`
    if (!sent) return refusal('transport', 'peer_unreachable', detail)
    return { state: 'unknown', because: 'sent_no_answer', detail, handle }
  }
}

/** After an answer: what it asks still, or how it went on. What cannot be read now is found out by whoever follows it. */
async function standOf(
  deps: TaskWorkDeps,
  answered: AnsweredKeys,
  handle: Handle,
  signal: AbortSignal,
): Promise<Outcome> {
  const ref = openTask(handle)
  try {
    const { outcome } = await look(deps, ref, handle, signal)
    return outcome.state === 'unknown'
      ? { state: 'working', handle }
      : answered.without(ref, outcome)
  } catch {
    return { state: 'working', handle }
  }
}

function responsesOf(answers: readonly Answer[]): Readonly<Record<string, Uint8Array>> {
  const responses = answers.map((answer) => [answer.key, answerBytes(answer)] as const)
  return { inputResponses: setMembers(encodeJson({}), undefined, Object.fromEntries(responses)) }
}

/** What was not declared is declined where there is a form for it. @returns false when there is none. */
async function declineAll(
  deps: TaskWorkDeps,
  answered: AnsweredKeys,
  ref: TaskRef,
  questions: readonly Question[],
  signal: AbortSignal,
): Promise<boolean> {
  const fresh = questions.filter(({ key }) => !answered.has(ref, key))
  if (fresh.length === 0) return true
  if (fresh.some(({ kind }) => kind !== 'form' && kind !== 'url')) {
    await ask(deps, ref, 'tasks/cancel', {}, signal).catch(() => undefined)
    return false
  }
  const answers = fresh.map(({ key }): Answer => ({ key, action: 'decline' }))
  await ask(deps, ref, 'tasks/update', responsesOf(answers), signal).catch(() => undefined)
  answered.add(ref, answers)
  return true
}

async function cancelTask(
  deps: TaskWorkDeps,
  handle: Handle,
  signal: AbortSignal,
): Promise<CancelReport> {
  const ref = openTask(handle)
  const answer = await ask(deps, ref, 'tasks/cancel', {}, signal)
  if (answer.kind === 'error')
    return { confirmed: 'unconfirmed', detail: `it refused: ${sayError(answer)}` }
  const { outcome } = await look(deps, ref, handle, signal)
  const news: TaskNews = { kind: 'status', outcome }
  if (outcome.state === 'canceled') return { confirmed: 'stopped', detail: outcome.text, news }
  if (outcome.state === 'completed' || outcome.state === 'failed')
    return { confirmed: 'already_ended', detail: `the task is ${outcome.state}`, news }
  return {
    confirmed: 'unconfirmed',
    detail: 'it took note, and goes on until it says otherwise',
  }
}

/** One request about a task. @throws LinkFailure when there is no answer. */
function ask(
  deps: TaskWorkDeps,
  ref: TaskRef,
  method: 'tasks/get' | 'tasks/update' | 'tasks/cancel',
  more: Readonly<Record<string, Uint8Array>>,
  signal: AbortSignal,
  onSend?: (facts: WireFacts) => void,
): Promise<RpcResult | RpcError> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)])
  return deps.on(ref.principal, limited, async (session) => {
    const { link, facts } = session
    if (facts.era !== 'modern')
      throw new LinkFailure(
        'refused',
        false,
        'it speaks an older revision now, without these tasks',
      )
    const { ours } = session.termsOf({ ...ref.can, tasks: 'held' })
    const id = link.nextId()
    const hop = {
      era: 'modern',
      protocolVersion: facts.revision,
      clientCapabilities: encodeJson(ours),
      clientInfo: deps.clientInfo,
    } as const
    const { revision, capabilities: theirs } = facts
    return link.request({
      id,
      method,
      params: hopParams(encodeJson({ taskId: ref.taskId }), hop, more),
      name: ref.taskId,
      followRedirect: method === 'tasks/get',
      signal: limited,
      caller: { principal: ref.principal, wantsLogs: false },
      ...(onSend === undefined
        ? {}
        : { onSend: () => onSend({ wireId: String(id), revision, ours, theirs }) }),
    })
  })
}

/** Which questions of which task were answered: a server may show them a while longer. */
class AnsweredKeys {
  readonly #byTask = new Map<string, Set<string>>()

  add(ref: TaskRef, answers: readonly Answer[]): void {
    const name = nameOf(ref)
    const keys = this.#byTask.get(name) ?? new Set()
    for (const { key } of answers) keys.add(key)
    this.#byTask.set(name, keys)
    const [oldest] = this.#byTask.keys()
    if (this.#byTask.size > MOST_REMEMBERED && oldest !== undefined) this.#byTask.delete(oldest)
  }

  has(ref: TaskRef, key: string): boolean {
    return this.#byTask.get(nameOf(ref))?.has(key) === true
  }

  forget(ref: TaskRef): void {
    this.#byTask.delete(nameOf(ref))
  }

  /** The outcome without what was answered already. */
  without(ref: TaskRef, outcome: Outcome): Outcome {
    if (outcome.state !== 'input_required') return outcome
    const questions = outcome.questions.filter(({ key }) => !this.has(ref, key))
    if (questions.length === outcome.questions.length) return outcome
    return questions.length > 0
      ? { ...outcome, questions }
      : { state: 'working', handle: outcome.handle }
  }
}

function nameOf({ principal, taskId }: TaskRef): string {
  return JSON.stringify([principal, taskId])
}

function mayNotAsk(peer: string, handle: Handle): Outcome {
  return {
    state: 'failed',
    origin: 'protocol',
    ran: 'yes',
    code: 'protocol_violation',
    detail: `${peer}: its task asks what its caller did not declare; it was told to stop`,
    handle,
  }
}

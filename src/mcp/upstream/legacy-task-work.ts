/**
 * Long work at a 2025-11-25 server: its tasks are looked at with `tasks/get` as often as it wants, heard out with `tasks/result`
 * when they ask, and collected once, on the session of whoever began them.
 *
 * A session that was lost takes its tasks with it as far as anybody can tell: what a server does not know any more is unknown,
 * since it may have run to its end. Nothing here is sent twice but questions about the task.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks
 */
import type { CancelReport, WireFacts, Work } from '../../core/ports/upstream.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { refused as refusal, type Handle, type Outcome } from '../../core/words/outcome.ts'
import type { TaskNews } from '../../core/words/task.ts'
import { readResultHead } from '../wire/codec.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { encodeJson, sliceOf } from '../wire/spans.ts'
import { withoutRelation } from './asked-tasks.ts'
import { declaresLegacyTasks, stopsLegacyTasks } from './legacy-task-terms.ts'
import { TaskTalk } from './legacy-task-talk.ts'
import { LinkFailure } from './link.ts'
import { readLegacyTask, type LegacyTaskView } from './read-legacy-task.ts'
import { faultIn } from './read-task.ts'
import type { Session } from './session.ts'
import { openTask, type TaskRef } from './task-ref.ts'
import type { TaskWorkDeps } from './task-work.ts'
import { ASK_MS, isGone, MOST_FAULTS, pauseOf, sayError, sayOf, unclear } from './task-words.ts'

type Method = 'tasks/get' | 'tasks/result' | 'tasks/cancel'

export function createLegacyTaskWork(deps: TaskWorkDeps): Work {
  const work = new LegacyTaskWork(deps)
  return {
    follow: (handle, _after, signal) => work.follow(handle, signal),
    inspect: async (handle, signal) => {
      const { outcome } = await work.look(handle, signal)
      return { kind: 'status', outcome }
    },
    answer: (call, exchange, dispatched) => work.answer(call, exchange.signal, dispatched),
    cancel: (handle, signal) => work.cancel(handle, signal),
    // Its id is known from the answer alone.
    find: () => Promise.resolve('cannot_tell'),
  }
}

interface Look {
  readonly outcome: Outcome
  readonly pollMs: number | undefined
}

class LegacyTaskWork {
  readonly #deps: TaskWorkDeps
  readonly #talks = new Map<string, TaskTalk>()

  constructor(deps: TaskWorkDeps) {
    this.#deps = deps
  }

  async *follow(handle: Handle, signal: AbortSignal): AsyncGenerator<TaskNews> {
    const { principal } = openTask(handle)
    let release: () => void
    try {
      release = await this.#deps.hold(principal, signal)
    } catch (error) {
      if (signal.aborted || error instanceof LinkFailure) return
      throw error
    }
    try {
      yield* this.#news(handle, signal)
    } finally {
      release()
      this.#leave(handle)
    }
  }

  async *#news(handle: Handle, signal: AbortSignal): AsyncGenerator<TaskNews> {
    const ref = openTask(handle)
    const talk = this.#talkOf(ref)
    let said = ''
    let faults = 0
    while (!signal.aborted) {
      let look: Look
      try {
        look = await this.look(handle, signal)
        faults = 0
      } catch (error) {
        if (signal.aborted || error instanceof LinkFailure) return
        const what = faultIn(error)
        faults += 1
        if (faults < MOST_FAULTS) {
          await talk.pause(pauseOf(ref.pollMs) * 2 ** faults, signal)
          continue
        }
        yield { kind: 'status', outcome: unclear(this.#deps.peer, what) }
        return
      }
      const { outcome } = look
      const words = sayOf(outcome)
      if (words !== said) yield { kind: 'status', outcome }
      said = words
      if (outcome.state !== 'working') return
      await talk.pause(pauseOf(look.pollMs ?? ref.pollMs), signal)
    }
  }

  /** Where it stands; its end with its result. @throws LinkFailure; JsonFault or Error for an answer that is none. */
  async look(handle: Handle, signal: AbortSignal): Promise<Look> {
    const ref = openTask(handle)
    const talk = this.#talkOf(ref)
    const answer = await this.#request(ref, 'tasks/get', signal)
    if (answer === 'gone' || (answer.kind === 'error' && isGone(answer))) {
      this.#end(ref)
      const outcome = unclear(this.#deps.peer, 'it does not know the task any more')
      return { outcome, pollMs: undefined }
    }
    if (answer.kind === 'error') throw new Error(sayError(answer))
    const view = readLegacyTask(resultOf(answer))
    const outcome = await this.#outcomeOf(view, ref, talk, handle, signal)
    if (outcome.state !== 'working' && outcome.state !== 'input_required') this.#end(ref)
    return { outcome, pollMs: view.pollMs }
  }

  async #outcomeOf(
    { status, text }: LegacyTaskView,
    ref: TaskRef,
    talk: TaskTalk,
    handle: Handle,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const said = text === undefined ? {} : { text }
    switch (status) {
      case 'cancelled':
        return { state: 'canceled', text: text ?? 'canceled', handle }
      case 'completed':
      case 'failed':
        return this.#collect(ref, talk, handle, status, text, signal)
      case 'input_required':
        // What it asks comes to whoever waits for its result.
        talk.listen(() => this.#await(ref, talk))
        break
      case 'working':
    }
    const { questions } = talk
    if (questions.length > 0) return { state: 'input_required', handle, questions }
    return { state: 'working', handle, ...said }
  }

  async #await(ref: TaskRef, talk: TaskTalk): Promise<RpcResult | RpcError> {
    const answer = await this.#request(ref, 'tasks/result', talk.signal)
    if (answer === 'gone') throw new Error('it does not know the task any more')
    return answer
  }

  /** @param status what `tasks/get` said. */
  async #collect(
    ref: TaskRef,
    talk: TaskTalk,
    handle: Handle,
    status: 'completed' | 'failed',
    text: string | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)])
    const heard = await Promise.race([talk.result(), aborted(limit)])
    const answer = heard ?? (await this.#request(ref, 'tasks/result', signal))
    const { peer } = this.#deps
    if (answer === 'gone' || (answer.kind === 'error' && status === 'completed' && isGone(answer)))
      return unclear(peer, 'it completed the task, and does not know its result any more')
    if (answer.kind === 'error') return failed(answer, handle, text)
    const bytes = withoutRelation(resultOf(answer))
    const head = readResultHead(bytes, undefined, { validated: true })
    const native = mcpNative(bytes, LEGACY_REVISION)
    const toolError = head.isError || status === 'failed'
    return { state: 'completed', native, toolError, handle }
  }

  async answer(
    { continuation }: OutboundCall,
    signal: AbortSignal,
    dispatched: (facts: WireFacts) => void,
  ): Promise<Outcome> {
    if (continuation === undefined) throw new Error('an answer without its task')
    const { handle, answers } = continuation
    const ref = openTask(handle)
    const talk = this.#talks.get(nameOf(ref))
    const session = talk?.session
    const known = answers.filter(({ key }) => talk?.asks(key) === true)
    if (talk === undefined || session === undefined || known.length === 0) {
      const what = `${this.#deps.peer} does not wait for this answer any more: the connection on which it asked has ended, or it took its question back`
      return refusal('peer', 'peer_error', what)
    }
    const { facts } = session
    dispatched({
      wireId: known.map(({ key }) => key).join(),
      revision: facts.revision,
      ours: session.termsOf({ ...ref.can, tasks: 'held' }).ours,
      theirs: facts.capabilities,
    })
    talk.answer(known)
    try {
      const { outcome } = await this.look(handle, signal)
      return outcome.state === 'unknown' ? { state: 'working', handle } : outcome
    } catch {
      // Whoever follows it finds out.
      return { state: 'working', handle }
    }
  }

  async cancel(handle: Handle, signal: AbortSignal): Promise<CancelReport> {
    const ref = openTask(handle)
    const answer = await this.#request(ref, 'tasks/cancel', signal, stopsLegacyTasks)
    if (answer === 'gone')
      return { confirmed: 'unconfirmed', detail: 'its server has no way to stop a task' }
    const { outcome } = await this.look(handle, signal)
    const news: TaskNews = { kind: 'status', outcome }
    if (outcome.state === 'canceled') return { confirmed: 'stopped', detail: outcome.text, news }
    if (outcome.state === 'completed' || outcome.state === 'failed')
      return { confirmed: 'already_ended', detail: `the task is ${outcome.state}`, news }
    if (answer.kind === 'error')
      return { confirmed: 'unconfirmed', detail: `it refused: ${sayError(answer)}` }
    const detail = 'it took note, and goes on until it says otherwise'
    return { confirmed: 'unconfirmed', detail }
  }

  /**
   * One request about a task.
   *
   * @param fits whether the server has the method. Default: it has tasks.
   * @returns `gone` for a server that has none of that.
   * @throws LinkFailure when there is no answer.
   */
  #request(
    ref: TaskRef,
    method: Method,
    signal: AbortSignal,
    fits: (facts: Session['facts']) => boolean = declaresLegacyTasks,
  ): Promise<RpcResult | RpcError | 'gone'> {
    const talk = this.#talkOf(ref)
    // The end of a task is waited for as long as it takes.
    const waits = method === 'tasks/result' && signal === talk.signal
    const limited = waits ? signal : AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)])
    return this.#deps.on(ref.principal, limited, async (session) => {
      const { link, facts } = session
      if (!declaresLegacyTasks(facts) || !fits(facts)) return 'gone'
      const { onRequest } = talk.attach(session)
      return link.request({
        id: link.nextId(),
        method,
        params: encodeJson({ taskId: ref.taskId }),
        followRedirect: method === 'tasks/get',
        signal: limited,
        caller: { principal: ref.principal, wantsLogs: false },
        onRequest,
      })
    })
  }

  #talkOf(ref: TaskRef): TaskTalk {
    const name = nameOf(ref)
    const known = this.#talks.get(name)
    if (known !== undefined) return known
    const talk = new TaskTalk(ref)
    this.#talks.set(name, talk)
    return talk
  }

  /** Kept while it asks: an answer needs it. */
  #leave(handle: Handle): void {
    const ref = openTask(handle)
    if (this.#talks.get(nameOf(ref))?.isOpen === false) this.#end(ref)
  }

  #end(ref: TaskRef): void {
    const name = nameOf(ref)
    this.#talks.get(name)?.end()
    this.#talks.delete(name)
  }
}

function nameOf({ principal, taskId }: TaskRef): string {
  return JSON.stringify([principal, taskId])
}

/** A copy: it must not hold the message that it came in. */
function resultOf({ bytes, result }: RpcResult): Uint8Array {
  if (result.type !== 'object') throw new Error('a result that is no object')
  return Uint8Array.from(sliceOf(bytes, result.value))
}

function failed(
  { bytes, error, message }: RpcError,
  handle: Handle,
  text: string | undefined,
): Outcome {
  const words = message === '' ? (text ?? 'it failed') : message
  return {
    state: 'failed',
    origin: 'peer',
    ran: 'yes',
    code: 'peer_error',
    detail: `${handle.peer}: its task failed: ${words.slice(0, 500)}`,
    handle,
    native: mcpNative(Uint8Array.from(sliceOf(bytes, error)), LEGACY_REVISION),
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}

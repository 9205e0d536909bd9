/**
 * One request over Streamable HTTP, from its POST to its answer: a body, an event on its own stream, or on one that was resumed.
 *
 * It is its own state: nothing is made for what rarely happens before it does. What the link as a whole knows (session,
 * headers, where to post) it asks of its link.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP.
 */
import type { Place } from '../wire/in-flight.ts'
import { parseMessage, type RpcError, type RpcMessage, type RpcResult } from '../wire/json-rpc.ts'
import { readPlainResult } from '../wire/plain-result.ts'
import { openOn, postOn, type Way } from './bearing.ts'
import { ONCE } from './cancel.ts'
import type {
  ExchangeOwner,
  FlatHeaders,
  Post,
  PostAnswer,
  Reading,
  StreamMark,
} from './http-exchange.ts'
import type { Inbox, OpenRequest } from './http-inbox.ts'
import { splitBatch } from './http-status.ts'
import { LinkFailure, messageOf, type LinkRequest } from './link.ts'
import type { Open } from './pending.ts'
import { isBreak, resumeStream, type Marks } from './resume-stream.ts'

/** What a request needs of its link. */
export interface RequestLink {
  readonly way: Way
  readonly inbox: Inbox
  readonly reading: Reading
  path(): string
  headersOf(request: LinkRequest): FlatHeaders
  /** Of a GET that goes on with a stream. */
  streamHeaders(lastEventId: string): FlatHeaders
  isLegacy(): boolean
  isAgreed(): boolean
  /** The server answered. */
  heard(request: LinkRequest, headers: PostAnswer['headers']): void
  /** An answer in words, with a status that says nothing, may end the session: for what comes after it. */
  noticeLostSession(answer: RpcResult | RpcError): void
  /** @throws LinkFailure when this answer says that the session is lost. */
  refuseLostSession(answer: PostAnswer, messages: readonly RpcMessage[]): void
  /** @returns whether the same is to be posted again. */
  follow(answer: PostAnswer): boolean
  /** The failure of an answer without a message in it. */
  judge(answer: PostAnswer): LinkFailure
  /** Tells the server of a session that the request is canceled. */
  cancel(request: LinkRequest): void
  /** Whether a canceled request may be listened to for its late answer. */
  mayHearOut(): boolean
  hearOut(exchange: Post): void
}

const NO_BYTES = new Uint8Array(0)
/** Where the first key begins of a message without white space, and how `method` does. */
const KEY_AT = 2
const METHOD_FIRST = 0x6d

/** Sends it. @throws LinkFailure when there is no answer. */
export function requestOver(
  link: RequestLink,
  request: LinkRequest,
): Promise<RpcResult | RpcError> {
  return new HttpRequest(link, request).send()
}

class HttpRequest implements OpenRequest, Open, ExchangeOwner {
  readonly request: LinkRequest
  readonly #link: RequestLink
  readonly #body: Uint8Array
  #resolve: (answer: RpcResult | RpcError) => void = nothing
  #reject: (error: unknown) => void = nothing
  #place: Place<Open> | undefined
  #exchange: Post | undefined
  #sent = false
  /** Answered, canceled or broken: what still comes is late. */
  #settled = false
  /** Why it settled without an answer. */
  #failure: LinkFailure | undefined
  #isComplete = false
  #isPostedAgain = false
  #marks: Marks | undefined
  /** Made once the stream broke and is resumed. */
  #resumed: PromiseWithResolvers<RpcResult | RpcError> | undefined

  constructor(link: RequestLink, request: LinkRequest) {
    this.#link = link
    this.request = request
    this.#body = messageOf(request)
  }

  send(): Promise<RpcResult | RpcError> {
    return new Promise((resolve, reject) => {
      const headers = this.#link.headersOf(this.request)
      this.#resolve = resolve
      this.#reject = reject
      this.#place = this.#link.inbox.enter(this)
      this.request.signal.addEventListener('abort', this, ONCE)
      this.#post(headers)
    })
  }

  get answered(): Promise<RpcResult | RpcError> {
    return this.#laterAnswer().promise
  }

  isSettled(): boolean {
    return this.#settled
  }

  take(message: RpcMessage, bytes?: Uint8Array): Promise<void> | undefined {
    const { inbox } = this.#link
    // The answer ends the stream: nothing after it belongs to this call.
    if (!this.#settled) return inbox.takeOwn(this.request, message, bytes)
    inbox.takeLate(message)
    return undefined
  }

  fail(failure: LinkFailure): void {
    this.#link.inbox.fail(this.request.id, failure)
  }

  /** Its answer, wherever it came. */
  resolve(answer: RpcResult | RpcError): void {
    if (this.#settled) return
    this.#settled = true
    if (this.#resumed !== undefined) return this.#resumed.resolve(answer)
    const exchange = this.#exchange
    if (!this.#isComplete && exchange !== undefined) {
      this.#link.heard(this.request, exchange.headers())
      // What came with it is still told apart.
      queueMicrotask(() => exchange.release())
    }
    this.#conclude(answer)
  }

  /** It was canceled, or its answer is none. */
  reject(failure: LinkFailure): void {
    if (this.#settled) return
    this.#settled = true
    this.#failure = failure
    if (this.#resumed !== undefined) return this.#resumed.reject(failure)
    this.#drop(this.#exchange, failure)
    this.#break(failure)
  }

  /** The signal. Modern: closing the stream is the cancel. Session revisions: a disconnect is none, so say it. */
  handleEvent(): void {
    if (this.#settled) return
    if (this.#sent && this.#link.isLegacy()) this.#link.cancel(this.request)
    const when = this.#sent ? 'after sending' : 'before sending'
    this.fail(new LinkFailure('aborted', this.#sent, `canceled ${when}`))
  }

  onSend(): void {
    if (!this.#sent) this.request.onSend?.()
    this.#sent = true
  }

  onMark(mark: StreamMark): void {
    this.#marks = Object.assign(this.#marks ?? {}, mark)
  }

  onEvent(data: Uint8Array, name: string): Promise<void> | undefined {
    if (name === 'message') {
      // What is not an answer mostly says so first, and is not to be read twice.
      if (data[KEY_AT] !== METHOD_FIRST && this.#readPlain(data)) return undefined
      const [first = data, ...rest] = splitBatch(data)
      const wait = this.take(parseMessage(first), first)
      // Batches were of 2025-03-26 alone.
      for (const one of rest) void this.take(parseMessage(one))
      return wait
    }
    if (name !== 'endpoint' || this.#link.isAgreed()) return undefined
    // It takes a POST for the GET that opens the stream of 2024-11-05.
    const what = 'the server answered with the event stream of 2024-11-05'
    this.fail(new LinkFailure('refused', true, what, { status: 405 }))
    return undefined
  }

  onAnswer(answer: PostAnswer): void {
    if (this.#settled) return
    this.#isComplete = true
    this.#link.heard(this.request, answer.headers)
    if (answer.streamed) {
      const what = 'the event stream ended before an answer came'
      return this.#break(new LinkFailure('broken', true, what))
    }
    try {
      this.#readBody(answer)
    } catch (error) {
      this.#finish(error)
    }
  }

  onFailure(failure: LinkFailure): void {
    if (!this.#settled) this.#break(failure)
  }

  #post(headers: FlatHeaders): void {
    const link = this.#link
    const { caller } = this.request
    const sent = { path: link.path(), headers, body: this.#body, principal: caller?.principal }
    this.#isComplete = false
    const exchange = openOn(link.way, sent, link.reading, this)
    this.#exchange = exchange
    // It may have been canceled while it was told that it leaves.
    if (this.#failure !== undefined) this.#drop(exchange, this.#failure)
  }

  /** A whole body: one message, or (2025-03-26) several in an array. */
  #readBody(answer: PostAnswer): void {
    const { status, body } = answer
    if (status < 300 && this.#readPlain(body)) return
    if (status === 401 || status === 403) return this.#finish(this.#link.judge(answer))
    const messages = body.length === 0 ? [] : splitBatch(body).map((bytes) => parseMessage(bytes))
    this.#link.refuseLostSession(answer, messages)
    for (const message of messages) {
      void this.take(message)
      if (this.#settled) return
    }
    if (status >= 300 || body.length === 0) return this.#readStatus(answer)
    const fault = messages.find((message) => message.kind === 'fault')
    const what = fault?.kind === 'fault' ? fault.message : 'a message that answers nothing'
    throw new LinkFailure('unreadable', true, `the answer is ${what}`)
  }

  /** @returns whether that was its answer. */
  #readPlain(bytes: Uint8Array): boolean {
    if (this.#settled || this.#place === undefined) return false
    const plain = readPlainResult(bytes, this.request.id)
    if (plain === undefined || !this.#link.inbox.leave(this.#place)) return false
    this.resolve(plain)
    return true
  }

  #readStatus(answer: PostAnswer): void {
    const again = this.request.followRedirect && !this.#isPostedAgain && this.#link.follow(answer)
    if (!again) return this.#finish(this.#link.judge(answer))
    this.#isPostedAgain = true
    this.#post(this.#link.headersOf(this.request))
  }

  #break(failure: LinkFailure): void {
    const marks = this.#marks
    // Event ids mean something in the session revisions only.
    const mayResume = this.#link.isLegacy() && marks?.lastEventId !== undefined
    if (marks === undefined || !mayResume || !isBreak(failure)) this.#finish(failure)
    else void this.#resume(marks, failure)
  }

  async #resume(marks: Marks, why: LinkFailure): Promise<void> {
    this.#laterAnswer()
    try {
      const get = (from: { readonly lastEventId: string }) => this.#goOn(from.lastEventId)
      this.#conclude(await resumeStream(this, marks, why, get))
    } catch (error) {
      this.#finish(error)
    }
  }

  async #goOn(lastEventId: string): Promise<RpcResult | RpcError | PostAnswer> {
    const { way, reading, path, streamHeaders, heard } = this.#link
    const exchange = postOn(way, {
      ...reading,
      path: path(),
      method: 'GET',
      headers: streamHeaders(lastEventId),
      body: NO_BYTES,
      principal: this.request.caller?.principal,
      onMark: (mark) => this.onMark(mark),
      onEvent: (data, name) => this.onEvent(data, name),
    })
    try {
      const answer = await Promise.race([exchange.answer, this.answered])
      heard(this.request, exchange.headers())
      exchange.release()
      return answer
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
      this.#drop(exchange, error)
      throw error
    }
  }

  #laterAnswer(): PromiseWithResolvers<RpcResult | RpcError> {
    if (this.#resumed === undefined) {
      this.#resumed = Promise.withResolvers()
      // Whoever waited may have been answered otherwise meanwhile.
      this.#resumed.promise.catch(nothing)
    }
    return this.#resumed
  }

  /** In session revisions a disconnect is no cancel, and a cancel no end. */
  #drop(exchange: Post | undefined, failure: LinkFailure): void {
    const { reason, sent } = failure
    const mayAnswerLate =
      reason === 'aborted' &&
      sent &&
      this.request.onLate !== undefined &&
      this.#link.isLegacy() &&
      this.#link.mayHearOut()
    if (exchange === undefined) return
    if (mayAnswerLate) this.#link.hearOut(exchange)
    else exchange.abort(failure)
  }

  #conclude(answer: RpcResult | RpcError): void {
    this.#link.noticeLostSession(answer)
    this.request.signal.removeEventListener('abort', this)
    this.#resolve(answer)
  }

  #finish(error: unknown): void {
    this.request.signal.removeEventListener('abort', this)
    if (!this.#settled) {
      this.#settled = true
      this.fail(new LinkFailure('aborted', this.#sent, 'nobody waits for it'))
    }
    this.#reject(error)
  }
}

function nothing(): void {
  // Nobody waits yet, or any more.
}

/**
 * What arrives over HTTP and whose it is: on the stream of a request only that request's own answer
 * and events count; on a stream of no request, what names one is that one's, the rest is the owner's.
 *
 * @source MCP 2025-11-25 and 2026-07-28, transports, Streamable HTTP, receiving messages.
 */
import { JsonFault } from '../wire/json-fault.ts'
import {
  createId,
  parseMessage,
  type RpcError,
  type RpcFault,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResult,
} from '../wire/json-rpc.ts'
import type { Place } from '../wire/in-flight.ts'
import { MODERN_NOTIFICATIONS } from '../wire/rev-2026-07-28.ts'
import { brokenAnswerId } from './broken-answer.ts'
import type { Incoming, Reply } from './incoming.ts'
import { LinkFailure, type AnswerRequest, type Link } from './link.ts'
import type { LinkListener, LinkRequest } from './link.ts'
import { Pending, type Open } from './pending.ts'

export interface InboxDeps {
  readonly listener: LinkListener
  readonly incoming: Incoming
  /** Posts a response to the server. */
  readonly reply: Reply
  /** Answers requests that came on no request's stream. */
  readonly onStray: AnswerRequest | undefined
  /** Requests to us exist in the session revisions only. */
  isModern(): boolean
}

/** One request of ours until its answer is there. */
export interface OpenRequest {
  readonly request: LinkRequest
  /** Rejects with a LinkFailure when the answer is broken, or by `fail`. */
  readonly answered: Promise<RpcResult | RpcError>
  isSettled(): boolean
  /** One message of its own stream or body. @param bytes what it was read from: of a broken answer too is made out whose it is. @returns what to wait for before more is read. */
  take(message: RpcMessage, bytes?: Uint8Array): Promise<void> | undefined
  /** Does nothing when it is settled. What is answered after it was aborted is its late answer. */
  fail(failure: LinkFailure): void
}

export interface Inbox {
  open(request: LinkRequest): OpenRequest
  /** As `open`, for one that keeps its own state. */
  enter(open: Open): Place<Open>
  /** It was answered in a way that it knows itself. @returns false when it had ended before. */
  leave(place: Place<Open>): boolean
  /** One message of the stream or body of this request. What comes once it has ended is nobody's. @returns as `OpenRequest.take`. */
  takeOwn(request: LinkRequest, message: RpcMessage, bytes?: Uint8Array): Promise<void> | undefined
  takeLate(message: RpcMessage): void
  /** Ends the request with this id. Does nothing when it has ended. */
  fail(id: number, failure: LinkFailure): void
  /** One message of a stream that belongs to no request, and is held back for none. */
  takeStray(data: Uint8Array): void
  /** Ends all that are open. */
  failAll(failure: LinkFailure): void
  counts(): ReturnType<Link['counts']>
}

const NOISE_SAMPLES = 10

/** Makes the inbox of one link. */
export function createInbox(deps: InboxDeps): Inbox {
  return new LinkInbox(deps)
}

class LinkInbox implements Inbox {
  readonly #deps: InboxDeps
  readonly #pending = new Pending()
  readonly #noiseSample: string[] = []
  #noise = 0

  constructor(deps: InboxDeps) {
    this.#deps = deps
  }

  open(request: LinkRequest): OpenRequest {
    return new Opened(this, request)
  }

  enter(open: Open): Place<Open> {
    return this.#pending.enter(open)
  }

  leave(place: Place<Open>): boolean {
    return this.#pending.leave(place)
  }

  fail(id: number, failure: LinkFailure): void {
    if (failure.reason === 'aborted') this.#pending.abort(id, failure)
    else this.#pending.fail(id, failure)
  }

  takeStray(data: Uint8Array): void {
    const message = parseMessage(data)
    switch (message.kind) {
      case 'result':
      case 'error':
        this.#pending.answer(message)
        return
      case 'notification':
        if (isOfRequest(message)) void this.#ownerOf(message)?.onNotification?.(message)
        else this.#tell(message)
        return
      case 'request':
        this.#answer(message, this.#deps.onStray)
        return
      case 'fault':
        if (!this.#refuse(message)) this.#takeFault(message, data)
    }
  }

  failAll(failure: LinkFailure): void {
    this.#pending.failAll(() => failure)
  }

  counts(): ReturnType<Link['counts']> {
    return { ...this.#pending.counts, noise: this.#noise, noiseSample: [...this.#noiseSample] }
  }

  takeOwn(
    request: LinkRequest,
    message: RpcMessage,
    bytes?: Uint8Array,
  ): Promise<void> | undefined {
    switch (message.kind) {
      case 'result':
      case 'error':
        this.#takeAnswer(message, request)
        return undefined
      case 'notification':
        if (!isOfRequest(message)) return this.#tell(message)
        return request.onNotification?.(message) ?? undefined
      case 'request':
        this.#answer(message, request.onRequest)
        return undefined
      case 'fault':
        if (this.#refuse(message)) return undefined
        if (idOfFault(message, bytes) !== String(request.id)) this.#addNoise(message.message)
        else this.#takeFault(message, bytes)
        return undefined
    }
  }

  takeLate(message: RpcMessage): void {
    if (message.kind === 'result' || message.kind === 'error') this.#pending.answer(message)
  }

  /** Whoever sent a broken request waits for an answer. @returns whether it is one. */
  #refuse({ id, isRequest, message }: RpcFault): boolean {
    if (isRequest !== true || id === undefined) return false
    if (this.#deps.isModern()) this.#pending.addStray()
    else this.#deps.incoming.refuse(id, message, this.#deps.reply)
    return true
  }

  /** A broken answer to something we asked ends that; everything else is noise. */
  #takeFault(fault: RpcFault, bytes: Uint8Array | undefined): void {
    const { message } = fault
    const id = idOfFault(fault, bytes)
    const failure = new LinkFailure('unreadable', true, `the answer is broken: ${message}`)
    if (id === undefined || !this.#pending.fail(Number(id), failure)) this.#addNoise(message)
  }

  #takeAnswer(message: RpcResult | RpcError, request: LinkRequest): void {
    // The only request here is ours: an error without an id can only answer it.
    if (message.id === undefined) this.#pending.answer({ ...message, id: createId(request.id) })
    else if (message.id.value === String(request.id)) this.#pending.answer(message)
    else this.#pending.addStray()
  }

  #tell(notification: RpcNotification): undefined {
    if (notification.method === MODERN_NOTIFICATIONS.cancelled) {
      this.#deps.incoming.withdraw(notification)
    }
    this.#deps.listener(notification)
  }

  #answer(request: RpcRequest, answer: AnswerRequest | undefined): void {
    if (this.#deps.isModern()) return this.#pending.addStray()
    this.#deps.incoming.take(request, answer, this.#deps.reply)
  }

  #ownerOf(notification: RpcNotification): LinkRequest | undefined {
    try {
      const owner = this.#pending.ownerOf(notification)
      if (owner === undefined) this.#pending.addStray()
      return owner
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error
      this.#pending.addStray()
      return undefined
    }
  }

  #addNoise(what: string): void {
    this.#noise += 1
    if (this.#noiseSample.length < NOISE_SAMPLES) this.#noiseSample.push(what)
  }
}

/** One whose answer is a promise. */
class Opened implements OpenRequest, Open {
  readonly request: LinkRequest
  readonly answered: Promise<RpcResult | RpcError>
  readonly #inbox: Inbox
  readonly #answer = Promise.withResolvers<RpcResult | RpcError>()
  #settled = false

  constructor(inbox: Inbox, request: LinkRequest) {
    this.#inbox = inbox
    this.request = request
    this.answered = this.#answer.promise
    // Whoever waited may have been answered otherwise meanwhile.
    this.answered.catch(() => {})
    inbox.enter(this)
  }

  resolve(answer: RpcResult | RpcError): void {
    this.#settled = true
    this.#answer.resolve(answer)
  }

  reject(failure: LinkFailure): void {
    this.#settled = true
    this.#answer.reject(failure)
  }

  isSettled(): boolean {
    return this.#settled
  }

  take(message: RpcMessage, bytes?: Uint8Array): Promise<void> | undefined {
    // The answer ends the stream: nothing after it belongs to this call.
    if (!this.#settled) return this.#inbox.takeOwn(this.request, message, bytes)
    this.#inbox.takeLate(message)
    return undefined
  }

  fail(failure: LinkFailure): void {
    this.#inbox.fail(this.request.id, failure)
  }
}

/** What it says that it answers, if it says so. */
function idOfFault({ claimed, id }: RpcFault, bytes: Uint8Array | undefined): string | undefined {
  if (claimed) return id?.value
  return bytes === undefined ? undefined : brokenAnswerId(bytes)?.toString()
}

function isOfRequest({ method }: RpcNotification): boolean {
  return /^notifications\/(?:progress|message)$/.test(method)
}

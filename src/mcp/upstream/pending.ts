/**
 * The open requests of one link: matches what arrives to what was asked.
 *
 * Every request ends exactly once. Answers to nothing, second answers and answers with an id of the
 * wrong type are counted; only our own number as text is still taken, since nothing else of ours
 * can have that text.
 */
import type { RpcError, RpcId, RpcNotification, RpcResult } from '../wire/json-rpc.ts'
import { findMember, readString, scanObject, textOf, type Member } from '../wire/spans.ts'
import { PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import type { LinkFailure, LinkRequest } from './link.ts'

interface Open {
  readonly request: LinkRequest
  readonly resolve: (answer: RpcResult | RpcError) => void
  readonly reject: (failure: LinkFailure) => void
}

/** Aborted requests whose late answers are still known as such; the oldest is forgotten first. */
const MOST_ABORTED = 256

export class Pending {
  readonly #open = new Map<string, Open>()
  readonly #aborted = new Map<string, NonNullable<LinkRequest['onLate']>>()
  #stray = 0
  #nonConforming = 0

  get counts(): { readonly stray: number; readonly nonConforming: number } {
    return { stray: this.#stray, nonConforming: this.#nonConforming }
  }

  /** Counts something that answers nothing. */
  addStray(): void {
    this.#stray += 1
  }

  add(request: LinkRequest): Promise<RpcResult | RpcError> {
    return new Promise((resolve, reject) => {
      this.#open.set(String(request.id), { request, resolve, reject })
    })
  }

  /** @returns false when nothing was waiting for it. */
  answer(message: RpcResult | RpcError): boolean {
    const open = message.id === undefined ? undefined : this.#take(message.id)
    if (open === undefined) {
      if (!this.#tellLate(message)) this.#stray += 1
      return false
    }
    open.resolve(message)
    return true
  }

  /** Ends one request without an answer; does nothing when it ended before. */
  fail(id: RpcId | number, failure: LinkFailure): boolean {
    const open = typeof id === 'number' ? this.#takeNumber(id) : this.#take(id)
    open?.reject(failure)
    return open !== undefined
  }

  /** Ends one request for its caller; what is answered all the same is its late answer. */
  abort(id: number, failure: LinkFailure): boolean {
    const open = this.#takeNumber(id)
    if (open === undefined) return false
    if (open.request.onLate !== undefined) {
      const [oldest] = this.#aborted.keys()
      if (oldest !== undefined && this.#aborted.size >= MOST_ABORTED) this.#aborted.delete(oldest)
      this.#aborted.set(String(id), open.request.onLate)
    }
    open.reject(failure)
    return true
  }

  /** Ends all. @param failureOf makes each one's failure. */
  failAll(failureOf: (request: LinkRequest) => LinkFailure): void {
    const all = [...this.#open.values()]
    this.#open.clear()
    for (const open of all) open.reject(failureOf(open.request))
  }

  /**
   * The request a notification belongs to: progress by its token; a log, which names no request, the
   * most recent one's that wants logs, and nobody's while calls of several principals are open:
   * guessing between them could show one caller another's data.
   */
  ownerOf(notification: RpcNotification): LinkRequest | undefined {
    if (notification.method === 'notifications/progress') {
      const token = notification.params && memberOf(notification, PROGRESS_TOKEN)
      if (token === undefined) return undefined
      const text =
        token.type === 'string'
          ? readString(notification.bytes, token.value)
          : textOf(notification.bytes, token.value)
      return this.#open.get(text)?.request
    }
    const listening = [...this.#open.values()]
      .map(({ request }) => request)
      .filter(({ onNotification }) => onNotification !== undefined)
    const newest = listening.at(-1)
    if (listening.length < 2 || newest === undefined) return newest
    const { caller } = newest
    if (caller === undefined) return undefined
    if (listening.some((one) => one.caller?.principal !== caller.principal)) return undefined
    return listening.findLast((one) => one.caller?.wantsLogs === true) ?? newest
  }

  #tellLate(message: RpcResult | RpcError): boolean {
    const key = message.id?.value ?? ''
    const late = this.#aborted.get(key)
    this.#aborted.delete(key)
    late?.(message)
    return late !== undefined
  }

  #take(id: RpcId): Open | undefined {
    const open = this.#open.get(id.value)
    if (open === undefined) return undefined
    if (id.type === 'string') this.#nonConforming += 1
    this.#open.delete(id.value)
    return open
  }

  #takeNumber(id: number): Open | undefined {
    const open = this.#open.get(String(id))
    this.#open.delete(String(id))
    return open
  }
}

function memberOf(notification: RpcNotification, key: string): Member | undefined {
  const members = scanObject(notification.bytes, notification.params, {
    validated: true,
  })
  return findMember(members, key)
}

/**
 * The open requests of one link: matches what arrives to what was asked.
 *
 * Every request ends exactly once. Answers to nothing, second answers and answers with an id of the
 * wrong type are counted; only our own number as text is still taken, since nothing else of ours
 * can have that text.
 */
import type { RpcError, RpcId, RpcNotification, RpcResult } from '../wire/json-rpc.ts'
import { InFlight, type Place } from '../wire/in-flight.ts'
import { findMember, readString, scanObject, textOf, type Member } from '../wire/spans.ts'
import { PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import type { LinkFailure, LinkRequest } from './link.ts'

/** One that waits for its answer. */
export interface Open {
  readonly request: LinkRequest
  /** At most one of the two is called, once. */
  resolve(answer: RpcResult | RpcError): void
  reject(failure: LinkFailure): void
}

/** Open requests lie in so many lists, by their id: each is a few long. */
const LISTS = 64
/** Aborted requests whose late answers are still known as such; the oldest is forgotten first. */
const MOST_ABORTED = 256

export class Pending {
  readonly #open = Array.from({ length: LISTS }, () => new InFlight<Open>())
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
      this.enter({ request, resolve, reject })
    })
  }

  /** As `add`, for one that knows what to do with its answer. */
  enter(open: Open): Place<Open> {
    return this.#listOf(open.request.id).add(open)
  }

  /** It was answered in a way that it knows itself. @returns false when it had ended before. */
  leave(place: Place<Open>): boolean {
    if (!place.isHeld) return false
    this.#remove(place)
    return true
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
    for (const { request } of this.#all()) this.#takeNumber(request.id)?.reject(failureOf(request))
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
      return this.#find(text)?.item.request
    }
    const listening = this.#all()
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
    const place = this.#find(id.value)
    if (place === undefined) return undefined
    if (id.type === 'string') this.#nonConforming += 1
    return this.#remove(place)
  }

  #takeNumber(id: number): Open | undefined {
    const place = this.#find(String(id))
    return place && this.#remove(place)
  }

  #remove(place: Place<Open>): Open {
    this.#listOf(place.item.request.id).remove(place)
    return place.item
  }

  /** By the text of our own number. */
  #find(text: string): Place<Open> | undefined {
    const id = Number(text)
    const place = this.#listOf(id).find(({ request }) => request.id === id)
    return place === undefined || String(id) !== text ? undefined : place
  }

  /** In the order in which they were made. */
  #all(): Open[] {
    return this.#open
      .flatMap((list) => list.all())
      .toSorted((one, other) => one.request.id - other.request.id)
  }

  /** Any list for what is no id of ours. */
  #listOf(id: number): InFlight<Open> {
    return this.#open[id % LISTS] ?? this.#open[0]!
  }
}

function memberOf(notification: RpcNotification, key: string): Member | undefined {
  const members = scanObject(notification.bytes, notification.params, {
    validated: true,
  })
  return findMember(members, key)
}

/**
 * What a pipe must know to go on with another owner: which requests are open, and what the next owner has to be told.
 *
 * Pure. What was open when an owner died is answered here, at once: a tool call as unknown, since it may have run.
 */
import {
  BATCH_REVISION,
  encodeBatch,
  looksLikeBatch,
  MAX_BATCH,
  parseBatch,
} from '../../mcp/downstream/batch.ts'
import { claimsModern } from '../../mcp/downstream/era.ts'
import {
  createId,
  encodeNotification,
  idKey,
  parseMessage,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
} from '../../mcp/wire/json-rpc.ts'
import { scanArray, sliceOf } from '../../mcp/wire/spans.ts'
import { answerLost, answerUnsent } from './lost-answer.ts'
import {
  agreedOn,
  idOfCancel,
  keyOfCancel,
  LIST_CHANGES,
  missedOf,
  quickId,
  reasonOf,
  subscriptionOf,
  uriOf,
  withId,
} from './pipe-lines.ts'
import { DRAIN_METHOD, type DrainReason } from './wire.ts'

/** What becomes of a line from the owner. */
export type Heard =
  | { readonly kind: 'pass'; readonly line: Uint8Array }
  | { readonly kind: 'swallow' }
  /** The host hears these in its place. */
  | { readonly kind: 'instead'; readonly lines: readonly Uint8Array[] }
  | { readonly kind: 'drain'; readonly reason: DrainReason }

/** What the next owner is told before anything else. */
export interface Replay {
  /** Its answer is waited for. */
  readonly initialize?: { readonly line: Uint8Array; readonly key: string }
  readonly rest: readonly Uint8Array[]
  /** Told to the host after that: nobody listened meanwhile, so its lists may have changed. */
  readonly missed: readonly Uint8Array[]
}

export interface PipeMemory {
  /** @returns what goes to the owner; undefined for an answer to a question that nobody waits for any more. */
  sent(line: Uint8Array): Uint8Array | undefined
  heard(line: Uint8Array): Heard
  /** Whether an answer to this request, replayed or the host's own, is still to come. */
  isOwed(key: string): boolean
  /** Cancels for the old owner: what stays open over its end, and is asked of the next one. */
  leave(): readonly Uint8Array[]
  /** The owner is gone. @returns what the host is told: answers to what was open, questions that are withdrawn. */
  lost(): readonly Uint8Array[]
  replay(): Replay
  /** An answer to a request that could not be sent at all; undefined for anything but a request. */
  refusal(line: Uint8Array, why: string): Uint8Array | undefined
}

interface Open {
  readonly id: RpcId
  readonly method: string
  readonly modern: boolean
  /** Kept for what is asked again of the next owner. */
  readonly line?: Uint8Array
  /** Requests under this very id: a second one is refused by the owner, and is owed an answer too. */
  count: number
}

const LISTEN = 'subscriptions/listen'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const CANCELLED = 'notifications/cancelled'

/** Makes an empty memory: nothing was said yet. */
export function createPipeMemory(): PipeMemory {
  return new Memory()
}

class Memory implements PipeMemory {
  readonly #open = new Map<string, Open>()
  /** Questions of the present owner by the id that the host sees: the owner's own id as JSON. */
  readonly #asked = new Map<string, string>()
  readonly #replaying = new Set<string>()
  /** Streams that were asked for again: their second acknowledgement is not the host's. */
  readonly #reopened = new Set<string>()
  readonly #subscribed = new Map<string, Uint8Array>()
  #initialize: Uint8Array | undefined
  #initialized: Uint8Array | undefined
  #level: Uint8Array | undefined
  /** The session is of the one revision that has arrays of messages. */
  #batches = false
  #generation = 0
  #replays = 0

  sent(line: Uint8Array): Uint8Array | undefined {
    if (this.#batches && looksLikeBatch(line)) return this.#sentBatch(line)
    return this.#sentMessage(line)
  }

  /** Its answers come in one line too. One that the door refuses whole is answered without ids: nothing of it is open. */
  #sentBatch(line: Uint8Array): Uint8Array | undefined {
    if (!parseBatch(line, MAX_BATCH).ok) return line
    const items = scanArray(line).map((item) => sliceOf(line, item))
    const kept = items.map((item) => this.#sentMessage(item)).filter((item) => item !== undefined)
    return kept.length === 0 ? undefined : encodeBatch(kept)
  }

  #sentMessage(line: Uint8Array): Uint8Array | undefined {
    const message = parseMessage(line)
    switch (message.kind) {
      case 'fault':
        return line
      case 'request':
        this.#takeRequest(message, line)
        return line
      case 'notification':
        if (message.method === 'notifications/initialized') this.#initialized = line
        if (message.method === CANCELLED) this.#open.delete(keyOfCancel(message) ?? '')
        return line
      case 'result':
      case 'error':
        return message.id === undefined ? line : this.#takeAnswer(line, message.id)
    }
  }

  heard(line: Uint8Array): Heard {
    const quick = quickId(line)
    if (quick !== undefined) return this.#hearAnswer(idKey(quick), line)
    if (this.#batches && looksLikeBatch(line)) return this.#hearBatch(line)
    const message = parseMessage(line)
    switch (message.kind) {
      case 'result':
      case 'error':
        return message.id === undefined
          ? { kind: 'pass', line }
          : this.#hearAnswer(idKey(message.id), line)
      case 'request':
        return { kind: 'pass', line: this.#hearQuestion(message, line) }
      case 'notification':
        return this.#hearNotification(message, line)
      case 'fault':
        return { kind: 'pass', line }
    }
  }

  isOwed(key: string): boolean {
    return this.#replaying.has(key) || this.#open.has(key)
  }

  leave(): readonly Uint8Array[] {
    return this.#listens().map(({ id }) =>
      encodeNotification(CANCELLED, new TextEncoder().encode(`{"requestId":${id.json}}`)),
    )
  }

  lost(): readonly Uint8Array[] {
    const told: Uint8Array[] = []
    for (const [key, open] of this.#open) {
      if (open.line !== undefined) continue
      this.#open.delete(key)
      for (let left = open.count; left > 0; left -= 1) told.push(answerLost(open))
    }
    for (const key of this.#asked.keys()) {
      const id = key.startsWith('s:') ? JSON.stringify(key.slice(2)) : key.slice(2)
      told.push(encodeNotification(CANCELLED, new TextEncoder().encode(`{"requestId":${id}}`)))
    }
    this.#asked.clear()
    this.#replaying.clear()
    this.#reopened.clear()
    this.#generation += 1
    return told
  }

  replay(): Replay {
    const initialize = this.#initialize === undefined ? undefined : this.#again(this.#initialize)
    const subscribed = [...this.#subscribed.values()]
    const requests = [...(this.#level === undefined ? [] : [this.#level]), ...subscribed]
    const listens = this.#listens()
    for (const { id } of listens) this.#reopened.add(idKey(id))
    return {
      ...(initialize === undefined ? {} : { initialize }),
      rest: [
        ...(this.#initialized === undefined ? [] : [this.#initialized]),
        ...requests.map((line) => this.#again(line).line),
        ...listens.flatMap(({ line }) => (line === undefined ? [] : [line])),
      ],
      missed:
        this.#initialized === undefined
          ? []
          : Object.values(LIST_CHANGES).map((method) => encodeNotification(method)),
    }
  }

  refusal(line: Uint8Array, why: string): Uint8Array | undefined {
    const message = parseMessage(line)
    if (message.kind !== 'request') return undefined
    return answerUnsent(
      { id: message.id, method: message.method, modern: claimsModern(message) },
      why,
    )
  }

  #takeRequest(request: RpcRequest, line: Uint8Array): void {
    const modern = claimsModern(request)
    if (!modern) this.#remember(request, line)
    const key = idKey(request.id)
    const known = this.#open.get(key)
    if (known !== undefined) {
      known.count += 1
      return
    }
    const kept = (!modern && request.method === 'initialize') || request.method === LISTEN
    this.#open.set(key, {
      id: request.id,
      method: request.method,
      modern,
      ...(kept ? { line } : {}),
      count: 1,
    })
  }

  /** What makes a session of the older revisions what it is. */
  #remember(request: RpcRequest, line: Uint8Array): void {
    switch (request.method) {
      case 'initialize':
        this.#initialize = line
        this.#initialized = undefined
        return
      case 'logging/setLevel':
        this.#level = line
        return
      case 'resources/subscribe':
        this.#subscribed.set(uriOf(request) ?? '', line)
        return
      case 'resources/unsubscribe':
        this.#subscribed.delete(uriOf(request) ?? '')
    }
  }

  #takeAnswer(line: Uint8Array, id: RpcId): Uint8Array | undefined {
    const theirs = this.#asked.get(idKey(id))
    if (theirs === undefined) return undefined
    this.#asked.delete(idKey(id))
    return theirs === id.json ? line : withId(line, theirs)
  }

  #hearAnswer(key: string, line: Uint8Array): Heard {
    if (this.#replaying.delete(key)) return { kind: 'swallow' }
    const open = this.#open.get(key)
    if (open?.method === 'initialize') this.#batches = agreedOn(line) === BATCH_REVISION
    if (open !== undefined && (open.count -= 1) <= 0) this.#open.delete(key)
    return { kind: 'pass', line }
  }

  #hearBatch(line: Uint8Array): Heard {
    const batch = parseBatch(line, MAX_BATCH)
    for (const message of batch.ok ? batch.messages : []) {
      const isAnswer = message.kind === 'result' || message.kind === 'error'
      if (isAnswer && message.id !== undefined) this.#hearAnswer(idKey(message.id), line)
    }
    return { kind: 'pass', line }
  }

  /** The host may still hold a question of an earlier owner under the same number: each generation has ids of its own. */
  #hearQuestion(request: RpcRequest, line: Uint8Array): Uint8Array {
    const shown = this.#shownId(request.id)
    this.#asked.set(idKey(shown), request.id.json)
    return shown === request.id ? line : withId(line, shown.json)
  }

  #hearNotification(notification: RpcNotification, line: Uint8Array): Heard {
    switch (notification.method) {
      case DRAIN_METHOD:
        return { kind: 'drain', reason: reasonOf(notification) }
      case ACKNOWLEDGED:
        return this.#reopened.delete(subscriptionOf(notification) ?? '')
          ? { kind: 'instead', lines: missedOf(notification) }
          : { kind: 'pass', line }
      case CANCELLED:
        return { kind: 'pass', line: this.#hearCancel(notification, line) }
      default:
        return { kind: 'pass', line }
    }
  }

  #hearCancel(notification: RpcNotification, line: Uint8Array): Uint8Array {
    const id = idOfCancel(notification)
    if (id === undefined) return line
    const shown = this.#shownId(id)
    this.#asked.delete(idKey(shown))
    if (shown === id) return line
    return encodeNotification(CANCELLED, new TextEncoder().encode(`{"requestId":${shown.json}}`))
  }

  #shownId(id: RpcId): RpcId {
    return this.#generation === 0 ? id : createId(`owner-${this.#generation}-${id.json}`)
  }

  /** Asked under an id of ours when its answer is not the host's any more; an answer still owed keeps the host's id. */
  #again(line: Uint8Array): { readonly line: Uint8Array; readonly key: string } {
    const message = parseMessage(line)
    if (message.kind === 'request' && this.#open.get(idKey(message.id))?.line === line)
      return { line, key: idKey(message.id) }
    this.#replays += 1
    const id = createId(`comity-replay-${this.#replays}`)
    this.#replaying.add(idKey(id))
    return { line: withId(line, id.json), key: idKey(id) }
  }

  #listens(): readonly Open[] {
    return [...this.#open.values()].filter(({ method }) => method === LISTEN)
  }
}

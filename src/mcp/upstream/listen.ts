/**
 * The subscription of one 2026-07-28 server: one `subscriptions/listen` for everything that is wanted
 * now, opened again after it ended, replaced when what is wanted changes: the new one is acknowledged
 * before the old one is closed.
 *
 * @source MCP 2026-07-28, server, subscriptions.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../core/words/is-object.ts'
import { hopParams } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import type { RpcNotification } from '../wire/json-rpc.ts'
import { MODERN_META, MODERN_NOTIFICATIONS, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, readString, readValue, scanObject, textOf } from '../wire/spans.ts'
import type { Connected } from './connect.ts'
import { hasList, isDeclared } from './features.ts'
import { LinkFailure } from './link.ts'

export interface ListenDeps {
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /** Something may have been missed: it was not listened for a while, or is not now. */
  onGap(): void
}

export interface Listen {
  /** The resources of which updates are wanted; replaces what was wanted before. */
  want(uris: readonly string[]): void
  /** Takes what concerns the subscription itself. @returns false for everything else. */
  take(notification: RpcNotification): boolean
  /** Whether every list that the server has is told of now. */
  tells(): boolean
  close(): void
}

/** What is asked for, or was honoured. */
interface Filter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

const LISTS = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
] as const

/** Several wishes in a burst are one. */
const SETTLE_MS = 20
/** How long a server may take to acknowledge. */
const ACKNOWLEDGE_MS = 15_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 60_000
/** A subscription that stood this long has paid for the failures before it. */
const HEALTHY_MS = 10_000
/** Errors by which a server says that it will not do this, however often it is asked. */
const FINAL: ReadonlySet<number> = new Set([
  RPC_ERRORS.methodNotFound,
  RPC_ERRORS.invalidParams,
  RPC_ERRORS.invalidRequest,
  RPC_ERRORS.missingClientCapability,
])

/** Begins to listen, if there is anything to listen for. */
export function createListen(connected: Connected, deps: ListenDeps): Listen {
  const listen = new KeptListen(connected, deps)
  listen.want([])
  return listen
}

interface Subscription {
  readonly id: number
  readonly filter: Filter
  readonly stop: AbortController
  honoured: Filter | undefined
  /** Ended by us because another one has its place. */
  replaced: boolean
}

class KeptListen implements Listen {
  readonly #connected: Connected
  readonly #deps: ListenDeps
  readonly #closing = new AbortController()
  /** Oldest first. */
  readonly #open = new Map<string, Subscription>()
  #wanted: Filter = {}
  #settling: NodeJS.Timeout | undefined
  #failures = 0
  /** It was acknowledged once and is not now; told once it could not be had at once. */
  #gap: 'none' | 'open' | 'told' = 'none'

  constructor(connected: Connected, deps: ListenDeps) {
    this.#connected = connected
    this.#deps = deps
    void connected.link.ended.then(() => this.close())
  }

  want(uris: readonly string[]): void {
    this.#wanted = filterOf(this.#connected.facts.capabilities, uris)
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined
      this.#apply()
    }, SETTLE_MS)
    this.#settling.unref()
  }

  take(notification: RpcNotification): boolean {
    const { method } = notification
    if (method === MODERN_NOTIFICATIONS.acknowledged) {
      this.#acknowledge(notification)
      return true
    }
    if (method !== MODERN_NOTIFICATIONS.cancelled) {
      this.#noticeUse(notification)
      return false
    }
    // A server may end a subscription this way; the answer need not come as well.
    const canceled = this.#open.get(memberText(notification, ['requestId']) ?? '')
    canceled?.stop.abort()
    return canceled !== undefined
  }

  tells(): boolean {
    const { capabilities } = this.#connected.facts
    return [...this.#open.values()].some(({ honoured }) =>
      LISTS.every(([list, key]) => !hasList(capabilities, list) || honoured?.[key] === true),
    )
  }

  close(): void {
    clearTimeout(this.#settling)
    this.#closing.abort()
    for (const { stop } of this.#open.values()) stop.abort()
  }

  #newest(): Subscription | undefined {
    return [...this.#open.values()].at(-1)
  }

  #apply(): void {
    if (this.#closing.signal.aborted || this.#connected.facts.era !== 'modern') return
    const newest = this.#newest()
    if (newest !== undefined && isSame(newest.filter, this.#wanted)) return
    // One replacement at a time: what is wanted by then is asked for once it is acknowledged.
    if (newest !== undefined && newest.honoured === undefined) return
    if (Object.keys(this.#wanted).length > 0) return void this.#listen(this.#wanted)
    for (const subscription of this.#open.values()) replace(subscription)
  }

  async #listen(filter: Filter): Promise<void> {
    const subscription: Subscription = {
      id: this.#connected.link.nextId(),
      filter,
      stop: new AbortController(),
      honoured: undefined,
      replaced: false,
    }
    this.#open.set(String(subscription.id), subscription)
    const since = performance.now()
    const late = setTimeout(() => {
      if (subscription.honoured === undefined) subscription.stop.abort()
    }, ACKNOWLEDGE_MS)
    late.unref()
    const ended = await this.#send(subscription)
    clearTimeout(late)
    this.#open.delete(String(subscription.id))
    if (this.#closing.signal.aborted || subscription.replaced) return
    const stood = subscription.honoured !== undefined
    if (stood) this.#gap = 'open'
    else this.#tellGap()
    // Whatever became of it, a newer one is under way.
    if ((this.#newest()?.id ?? 0) > subscription.id) return
    if (ended === 'final' && isSame(filter, this.#wanted)) return
    this.#failures = stood && performance.now() - since >= HEALTHY_MS ? 0 : this.#failures + 1
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS)
    const { signal } = this.#closing
    await delay(stood && this.#failures === 0 ? 0 : pause, undefined, { signal, ref: false }).catch(
      () => {},
    )
    this.#apply()
  }

  /** @returns once the subscription has ended. */
  async #send({ id, filter, stop }: Subscription): Promise<'ended' | 'final'> {
    const params = hopParams(encodeJson({ notifications: filter }), {
      era: 'modern',
      protocolVersion: this.#connected.facts.revision,
      clientCapabilities: encodeJson({}),
      clientInfo: this.#deps.clientInfo,
    })
    try {
      const answer = await this.#connected.link.request({
        id,
        method: 'subscriptions/listen',
        params,
        followRedirect: true,
        signal: stop.signal,
      })
      return answer.kind === 'error' && FINAL.has(answer.code) ? 'final' : 'ended'
    } catch (error) {
      if (error instanceof LinkFailure) return 'ended'
      throw error
    }
  }

  #acknowledge(notification: RpcNotification): void {
    const id = subscriptionIdOf(notification)
    const subscription = id === undefined ? this.#newest() : this.#open.get(id)
    if (subscription === undefined || subscription.honoured !== undefined) return
    this.#stands(subscription, honouredOf(notification, subscription.filter))
  }

  /** It is in force: those before it have no use any more. */
  #stands(subscription: Subscription, honoured: Filter): void {
    subscription.honoured = honoured
    for (const other of this.#open.values()) {
      if (other.id < subscription.id) replace(other)
    }
    const gap = this.#gap
    this.#gap = 'none'
    if (gap !== 'none') this.#deps.onGap()
    this.#apply()
  }

  /** What comes on a subscription shows that it stands, though nothing was said of what it brings. */
  #noticeUse(notification: RpcNotification): void {
    const newest = this.#newest()
    if (newest === undefined || newest.honoured !== undefined) return
    if (subscriptionIdOf(notification) === String(newest.id)) this.#stands(newest, {})
  }

  #tellGap(): void {
    if (this.#gap !== 'open') return
    this.#gap = 'told'
    this.#deps.onGap()
  }
}

function replace(subscription: Subscription): void {
  subscription.replaced = true
  subscription.stop.abort()
}

/** The subscription that a notification names. */
function subscriptionIdOf(notification: RpcNotification): string | undefined {
  return memberText(notification, ['_meta', MODERN_META.subscriptionId])
}

function filterOf(
  capabilities: Readonly<Record<string, unknown>>,
  uris: readonly string[],
): Filter {
  const lists = LISTS.filter(([list]) => isDeclared(capabilities, list, 'listChanged'))
  const updates = isDeclared(capabilities, 'resources', 'subscribe') && uris.length > 0
  return {
    ...Object.fromEntries(lists.map(([, key]) => [key, true])),
    ...(updates ? { resourceSubscriptions: uris.toSorted(byText) } : {}),
  }
}

/** What of it the server agreed to; an acknowledgment that says nothing agreed to nothing. */
function honouredOf({ bytes, params }: RpcNotification, asked: Filter): Filter {
  const said = params === undefined ? {} : readValue(bytes, params)
  const agreed = isObject(said) && isObject(said.notifications) ? said.notifications : {}
  return Object.fromEntries(Object.entries(asked).filter(([key]) => agreed[key] === true))
}

function memberText(notification: RpcNotification, path: readonly string[]): string | undefined {
  const { bytes } = notification
  let span = notification.params
  try {
    for (const [index, key] of path.entries()) {
      if (span === undefined) return undefined
      const member = findMember(
        scanObject(bytes, span, { validated: true, allowDuplicates: true }),
        key,
      )
      if (member === undefined) return undefined
      if (index < path.length - 1) {
        if (member.type !== 'object') return undefined
        span = member.value
      } else if (member.type === 'string') return readString(bytes, member.value)
      else return member.type === 'number' ? textOf(bytes, member.value) : undefined
    }
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
  }
  return undefined
}

function isSame(one: Filter, other: Filter): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

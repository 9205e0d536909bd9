/**
 * What one server tells without being asked: that lists changed, that resources were updated. Which
 * means brings it (a subscription, a stream of its own, the pipe) follows from what was agreed on.
 *
 * Notices are hints: after a gap everything counts as changed.
 */
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { JsonFault } from '../wire/json-fault.ts'
import type { RpcNotification } from '../wire/json-rpc.ts'
import { MODERN_NOTIFICATIONS } from '../wire/rev-2026-07-28.ts'
import { findMember, readString, scanObject } from '../wire/spans.ts'
import type { Connected } from './connect.ts'
import { CHANGING_LISTS, isDeclared, tellsOfLists } from './features.ts'
import { LinkFailure } from './link.ts'
import { createListen, type Listen } from './listen.ts'
import {
  createLegacySubscriptions,
  createResourceWatches,
  type LegacySubscriptions,
  type ResourceWatches,
  type UpdateListener,
} from './resource-watches.ts'

export interface NoticesDeps {
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /** Connects when that is not so already. @throws LinkFailure */
  reach(): Promise<unknown>
  /** A list changed, or may have. */
  onListChanged(): void
}

export interface Notices {
  /** A connection was made; what was wanted of the one before is wanted of this one. */
  attach(connected: Connected): void
  /** What a link told outside of requests. @returns false when it is nothing of all this. */
  take(notification: RpcNotification): boolean
  /** Whether this connection would now tell of any change to what the server offers. */
  tells(connected: Connected): boolean
  /** Calls back on updates of the resource, or of one below it. @returns the way to stop. */
  watch(uri: string, listener: UpdateListener): () => void
  close(): void
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** A longer one is no resource's: every watcher would be told of it. */
const MAX_URI_BYTES = 8192
/** Of a request of the server: withdrawn by the link. */
const CANCELED = MODERN_NOTIFICATIONS.cancelled
const LIST_CHANGED = /^notifications\/(?:tools|prompts|resources)\/list_changed$/

/** Makes it for one server; sends nothing until a connection is attached. */
export function createNotices(deps: NoticesDeps): Notices {
  return new ServerNotices(deps)
}

interface Attached {
  readonly connected: Connected
  readonly listen?: Listen
  readonly subscriptions?: LegacySubscriptions
}

class ServerNotices implements Notices {
  readonly #deps: NoticesDeps
  readonly #closing = new AbortController()
  readonly #watches: ResourceWatches
  #attached: Attached | undefined
  #reaching = false

  constructor(deps: NoticesDeps) {
    this.#deps = deps
    this.#watches = createResourceWatches(() => this.#want())
  }

  attach(connected: Connected): void {
    this.#attached?.listen?.close()
    const { link, facts } = connected
    const onGap = (): void => this.#missed()
    if (facts.era === 'modern') {
      this.#attached = {
        connected,
        listen: createListen(connected, { clientInfo: this.#deps.clientInfo, onGap }),
      }
    } else {
      link.hear?.(onGap, hasNotices(facts.capabilities))
      this.#attached = {
        connected,
        ...(isDeclared(facts.capabilities, 'resources', 'subscribe')
          ? { subscriptions: createLegacySubscriptions(connected) }
          : {}),
      }
    }
    void link.ended.then(() => this.#lose(connected))
    if (this.#watches.uris().length > 0) this.#want()
  }

  take(notification: RpcNotification): boolean {
    if (this.#attached?.listen?.take(notification) === true) return true
    const { method } = notification
    if (LIST_CHANGED.test(method)) {
      this.#deps.onListChanged()
      return true
    }
    if (method !== MODERN_NOTIFICATIONS.resourceUpdated) return method === CANCELED
    const uri = uriOf(notification)
    if (uri !== undefined) this.#watches.updated(uri)
    return true
  }

  tells({ link, facts }: Connected): boolean {
    if (facts.era === 'legacy') {
      return (link.hears?.() ?? true) && tellsOfLists(facts.capabilities)
    }
    const { connected, listen } = this.#attached ?? {}
    return connected?.link === link && listen?.tells() === true
  }

  watch(uri: string, listener: UpdateListener): () => void {
    return this.#watches.add(uri, listener)
  }

  close(): void {
    this.#closing.abort()
    this.#attached?.listen?.close()
  }

  #want(): void {
    const uris = this.#watches.uris()
    if (this.#attached === undefined) return void this.#reach()
    this.#attached.listen?.want(uris)
    this.#attached.subscriptions?.want(uris)
  }

  #missed(): void {
    this.#deps.onListChanged()
    this.#watches.missed()
  }

  #lose(connected: Connected): void {
    if (this.#attached?.connected !== connected) return
    this.#attached = undefined
    void this.#reach(true)
  }

  /** Whoever watches waits for no call: the server is reached for that alone. */
  async #reach(again = false): Promise<void> {
    if (this.#reaching) return
    this.#reaching = true
    const { signal } = this.#closing
    // Others hear of an end later than this one.
    await turn()
    for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause *= 2) {
      if (this.#watches.uris().length === 0) break
      try {
        await this.#deps.reach()
        if (again) this.#watches.missed()
        break
      } catch (error) {
        if (!(error instanceof LinkFailure)) throw error
      }
      const ms = Math.min(pause, LONGEST_PAUSE_MS)
      await delay(ms, undefined, { signal, ref: false }).catch(() => {})
    }
    this.#reaching = false
  }
}

function hasNotices(capabilities: Readonly<Record<string, unknown>>): boolean {
  return (
    isDeclared(capabilities, 'resources', 'subscribe') ||
    CHANGING_LISTS.some((list) => isDeclared(capabilities, list, 'listChanged'))
  )
}

function uriOf({ bytes, params }: RpcNotification): string | undefined {
  if (params === undefined) return undefined
  try {
    const uri = findMember(scanObject(bytes, params, { validated: true }), 'uri')
    if (uri?.type !== 'string' || uri.value.end - uri.value.start > MAX_URI_BYTES) return undefined
    return readString(bytes, uri.value)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return undefined
  }
}

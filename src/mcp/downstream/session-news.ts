/**
 * What a session is told without having asked for it just then: lists that changed, resources it is subscribed to.
 *
 * Only what its principal may see is told. Subscriptions are part of the session's terms, so a restart takes them up again.
 *
 * @source MCP 2025-11-25, server, tools, prompts, resources (list changed; subscriptions)
 */
import type { ListKind } from '../../core/ports/catalogue.ts'
import type { Principal } from '../../core/words/principal.ts'
import { encodeNotification } from '../wire/json-rpc.ts'
import { LEGACY_ERRORS, LEGACY_NOTIFICATIONS } from '../wire/rev-2025-11-25.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import { badParams, ourError, ourResult, type Answer } from './answer.ts'
import type { Door } from './options.ts'
import type { Session } from './sessions.ts'

/** Takes a notification to the session. @param key one that still waits under the same key says the same. */
export type Tell = (message: Uint8Array, key: string) => void | Promise<void>

export interface SessionNews {
  subscribe(uri: string): Promise<Answer>
  unsubscribe(uri: string): Promise<Answer>
  /** Nothing is told any more. */
  end(): void
}

const SESSION_ENDED = ourError(RPC_ERRORS.invalidRequest, 'this session has ended')

/** Of a session that has ended. */
export const NO_NEWS: SessionNews = {
  subscribe: async () => SESSION_ENDED,
  unsubscribe: async () => SESSION_ENDED,
  end: () => undefined,
}

const CHANGED = {
  tool: LEGACY_NOTIFICATIONS.toolsListChanged,
  prompt: LEGACY_NOTIFICATIONS.promptsListChanged,
  resource: LEGACY_NOTIFICATIONS.resourcesListChanged,
  template: LEGACY_NOTIFICATIONS.resourcesListChanged,
} as const satisfies Record<ListKind, string>

/** Which feature a notification belongs to. */
const OFFER_OF = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'resources',
} as const satisfies Record<ListKind, string>

/** Longest URI that can be subscribed to, in characters. */
const MAX_URI = 8192

/** Begins to tell, and takes up the subscriptions that the session has. */
export function openSessionNews(
  door: Door,
  session: Session,
  principal: Principal,
  tell: Tell,
): SessionNews {
  const watches = openWatches(door, principal, tell)
  /** A peer may not have been there when the session came back: what is not watched is tried again as lists change. */
  const takeUp = async (): Promise<void> => {
    for (const uri of session.terms.subscriptions) {
      await watches.begin(uri).catch(door.report)
      // It was given up meanwhile.
      if (!session.terms.subscriptions.includes(uri)) watches.end(uri)
    }
  }
  const stopLists = watchLists(door, principal, tell, () => void takeUp())
  void takeUp()
  return {
    subscribe: async (uri) => {
      const { subscriptions } = session.terms
      if (uri.length > MAX_URI) return badParams(`params.uri must be at most ${MAX_URI} characters`)
      if (!subscriptions.includes(uri) && subscriptions.length >= door.limits.maxSubscriptions) {
        const text = `a session may be subscribed to ${door.limits.maxSubscriptions} resources: unsubscribe from some`
        return ourError(RPC_ERRORS.internal, text)
      }
      const found = await watches.begin(uri)
      if (found === 'unknown') {
        return ourError(LEGACY_ERRORS.resourceNotFound, `resource not found: ${uri}`, { uri })
      }
      if (found === 'silent') return badParams('the server of this resource tells of no updates')
      const now = session.terms.subscriptions
      if (!now.includes(uri)) await setSubscriptions(session, [...now, uri])
      return ourResult({})
    },
    unsubscribe: async (uri) => {
      watches.end(uri)
      const now = session.terms.subscriptions
      if (now.includes(uri))
        await setSubscriptions(
          session,
          now.filter((one) => one !== uri),
        )
      return ourResult({})
    },
    end: () => {
      stopLists()
      watches.endAll()
    },
  }
}

interface Watches {
  /** `unknown`: no such resource for this principal; `silent`: its peer tells of no updates. */
  begin(uri: string): Promise<'watched' | 'unknown' | 'silent'>
  end(uri: string): void
  endAll(): void
}

function openWatches(door: Door, principal: Principal, tell: Tell): Watches {
  const { catalogue } = door.ports
  const stops = new Map<string, () => void>()
  let ended = false
  const tellUpdated = async (watched: string, changed: string): Promise<void> => {
    // It may have been hidden from this principal since.
    if ((await catalogue.resolve('resource', watched, principal)) === undefined || ended) return
    const params = encodeJson({ uri: changed })
    const message = encodeNotification(LEGACY_NOTIFICATIONS.resourceUpdated, params)
    await tell(message, `updated ${changed}`)
  }
  return {
    begin: async (uri) => {
      if (stops.has(uri)) return 'watched'
      const route = await catalogue.resolve('resource', uri, principal)
      if (route === undefined) return 'unknown'
      if (ended || stops.has(uri)) return 'watched'
      const stop = catalogue.watch?.(route, (changed) => {
        void tellUpdated(uri, changed).catch(door.report)
      })
      if (stop === undefined) return 'silent'
      stops.set(uri, stop)
      return 'watched'
    },
    end: (uri) => {
      stops.get(uri)?.()
      stops.delete(uri)
    },
    endAll: () => {
      ended = true
      for (const stop of stops.values()) stop()
      stops.clear()
    },
  }
}

async function setSubscriptions(session: Session, uris: readonly string[]): Promise<void> {
  const { terms } = session
  const before = terms.subscriptions
  terms.subscriptions = uris
  try {
    await session.save()
  } catch (fault) {
    terms.subscriptions = before
    throw fault
  }
}

/** Changes within `coalesceMs` are told once. */
function watchLists(
  door: Door,
  principal: Principal,
  tell: Tell,
  onResources: () => void,
): () => void {
  const waiting = new Map<string, NodeJS.Timeout>()
  const stop = door.ports.catalogue.onChanged((kind) => {
    if (kind === 'resource' || kind === 'template') onResources()
    const method = CHANGED[kind]
    if (waiting.has(method) || !door.offers.has(OFFER_OF[kind])) return
    const timer = setTimeout(() => {
      waiting.delete(method)
      void tellSafely(door, tell, method)
    }, door.limits.coalesceMs)
    timer.unref()
    waiting.set(method, timer)
  }, principal)
  return () => {
    stop()
    for (const timer of waiting.values()) clearTimeout(timer)
  }
}

async function tellSafely(door: Door, tell: Tell, method: string): Promise<void> {
  try {
    await tell(encodeNotification(method), method)
  } catch (fault) {
    door.report(fault)
  }
}

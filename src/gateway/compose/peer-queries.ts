/**
 * What callers may ask of peers beyond lists and calls: their features, questions that are no act, updates of resources.
 *
 * Nothing here is recorded: it is housekeeping. But what a principal may not see is not asked about on its behalf, and a
 * capability whose definition changed is asked nothing until someone accepted it.
 */
import type { AskedPeer } from '../../core/ports/catalogue.ts'
import type { Peer, PeerFeatures, PeerQuery, QueryAnswer } from '../../core/ports/peer.ts'
import { ComityError } from '../../core/words/errors.ts'
import { scopedUri } from '../../core/words/exposed-name.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { PinState } from '../../core/words/pin.ts'
import type { Route } from '../../core/words/route.ts'
import type { RouteTable } from './route-table.ts'
import type { Slot } from './slots.ts'

/** What the peers support together: a feature is there when one of them has it. */
export function featuresOf(known: readonly Slot[]): PeerFeatures {
  const each = known.flatMap(({ listing }) =>
    listing?.features === undefined ? [] : [listing.features],
  )
  const extensions: Record<string, unknown> = {}
  for (const features of each) {
    for (const [id, settings] of Object.entries(features.extensions)) {
      extensions[id] = id in extensions ? joinSettings(extensions[id], settings) : settings
    }
  }
  return {
    completions: each.some(({ completions }) => completions),
    subscribe: each.some(({ subscribe }) => subscribe),
    logging: each.some(({ logging }) => logging),
    extensions,
  }
}

/** Settings of the same extension: the first peer's stand, and what any of them switches on is on. */
function joinSettings(first: unknown, other: unknown): unknown {
  if (!isObject(first) || !isObject(other)) return first
  const on = Object.entries(other).filter(([key, value]) => value === true || !(key in first))
  return { ...first, ...Object.fromEntries(on) }
}

/** Those of the peers that support an extension and can be asked. */
export function peersWith(known: readonly Slot[], extension: string): readonly AskedPeer[] {
  return known.flatMap(({ peer, listing }) => {
    const supports = Object.hasOwn(listing?.features?.extensions ?? {}, extension)
    if (!supports || peer.query === undefined) return []
    return [{ name: peer.name, query: (query, signal) => ask(peer, query, signal) }]
  })
}

/** @throws ComityError `not_allowed` saying why the peer behind the route cannot be asked. */
export async function queryRoute(
  peer: Peer | undefined,
  pinState: PinState,
  of: { readonly route: Route; readonly query: PeerQuery; readonly signal: AbortSignal },
): Promise<QueryAnswer> {
  const { route, query, signal } = of
  if (peer === undefined || peer.endpoint !== route.endpoint)
    throw new ComityError('not_allowed', `${route.peer} is not the peer that this was shown by`)
  if (pinState === 'changed') {
    throw new ComityError(
      'not_allowed',
      `the definition of ${route.peer}/${route.capability} changed: it is asked nothing until comity pins accept ${route.peer}`,
    )
  }
  return ask(peer, query, signal)
}

async function ask(peer: Peer, query: PeerQuery, signal: AbortSignal): Promise<QueryAnswer> {
  if (peer.query === undefined)
    throw new ComityError('not_allowed', `${peer.name} cannot be asked ${query.method}`)
  try {
    return await peer.query(query, signal)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ComityError('not_allowed', `${peer.name} could not be asked: ${why}`, {
      cause: error,
    })
  }
}

/**
 * Watches one resource at its peer.
 *
 * @param table the table as it is when an update comes.
 * @returns undefined when the peer does not tell of updates.
 */
export function watchRoute(
  slot: Slot | undefined,
  route: Route,
  table: () => RouteTable,
  listener: (exposedUri: string) => void,
): (() => void) | undefined {
  const peer = slot?.peer
  if (peer?.watch === undefined || slot?.listing?.features?.subscribe !== true) return undefined
  return peer.watch(route.capability, (uri) => listener(exposedUriOf(route, uri, table())))
}

/** The address by which callers know what lies at, or below, a watched resource. */
function exposedUriOf(route: Route, uri: string, table: RouteTable): string {
  if (uri === route.capability) return route.exposed
  for (const row of table.resource.values())
    if (row.route.peer === route.peer && row.route.capability === uri) return row.route.exposed
  // The plain address may be another peer's: then this one's is its scoped one.
  const held = table.resource.get(uri)?.route
  const isScoped = route.exposed !== route.capability || held !== undefined
  return isScoped ? scopedUri(route.peer, uri) : uri
}

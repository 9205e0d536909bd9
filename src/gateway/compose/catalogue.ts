/**
 * The catalogue: what every peer offers, under the names callers use, as far as pins and policy let it be seen.
 *
 * A peer that is down takes only its own capabilities away, and lists say so. Whoever is asked never waits for the slowest
 * peer longer than `patienceMs`.
 */
import type { Catalogue, ListKind, Listing } from '../../core/ports/catalogue.ts'
import type { PolicyCheck } from '../../core/ports/checks.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { Capability, LeftOut } from '../../core/words/capability.ts'
import type { PinState } from '../../core/words/pin.ts'
import type { Principal } from '../../core/words/principal.ts'
import { parseScopedUri, scopedTree } from '../../core/words/exposed-name.ts'
import { linkedFingerprint, type Route } from '../../core/words/route.ts'
import type { ListingKeeper } from './kept-listing.ts'
import { type Links, createLinks } from './links.ts'
import { createListChanges } from './list-changes.ts'
import { knowsPeer, missingFor } from './missing.ts'
import { featuresOf, peersWith, queryRoute, watchRoute } from './peer-queries.ts'
import {
  type Clash,
  type NamingRules,
  type RouteTable,
  type Row,
  bareCapability,
  buildRouteTable,
  routeOf,
} from './route-table.ts'
import { type Patience, type Slot, openSlots, within } from './slots.ts'
import { compileTemplate } from './uri-template.ts'

export interface CataloguePorts {
  /** In the order of the configuration. */
  readonly peers: readonly Peer[]
  readonly naming: Omit<NamingRules, 'wasOffered'>
  readonly policy: PolicyCheck
  /** Records a first sight, or says how this definition stands to what was accepted. */
  sight(peer: Peer, capability: Capability): Promise<unknown>
  /** How a route stands now, without recording. */
  pinState(route: Route): PinState
  /** Where listings are kept for the next run. Left out: nowhere. */
  readonly keeper?: ListingKeeper
  /** Whether a list in which a peer is missing is no list. Default false. */
  readonly strict?: boolean
}

/** One peer as `up` and `ls` report it. */
export interface PeerView {
  readonly peer: Peer
  readonly capabilities: readonly {
    readonly capability: Capability
    readonly exposed: string
    readonly withdrawn: boolean
  }[]
  readonly leftOut: readonly LeftOut[]
  readonly error?: string
  /** Its first listing is under way. */
  readonly starting: boolean
  /** What it offers is what it offered in an earlier run, when it was last listed: ISO string. */
  readonly storedAt?: string
}

export interface OpenCatalogue extends Catalogue {
  /** Everything, for operators: waits for every peer to settle, at most `timeoutMs`. */
  view(timeoutMs: number): Promise<readonly PeerView[]>
  /** Definition and route of one capability by its own name, wherever it stands. */
  find(peer: string, name: string, kinds?: readonly Capability['kind'][]): Promise<Row | undefined>
  definitionOf(route: Route): Capability | undefined
  /** A pin was accepted: lists are made anew. */
  refresh(): void
  close(): void
}

const LIST_TTL_MS = 60_000
const MAX_LINKS = 50_000
/** Lists that are kept: four kinds for each principal. */
const MAX_SHOWN = 400

/** Starts every peer in the background and keeps the table as they come, change and go. */
export function createCatalogue(ports: CataloguePorts, patience: Patience): OpenCatalogue {
  const state: State = {
    ports,
    links: createLinks(MAX_LINKS),
    slots: [],
    table: undefined,
    clashes: [],
    shown: { table: undefined, lists: new Map() },
  }
  const changes = createListChanges((kind, principal) => seenBy(state, kind, principal))
  const changed = (): void => {
    state.table = undefined
    changes.tell()
  }
  const slots = openSlots(ports.peers, patience, {
    sight: (peer, capability) => ports.sight(peer, capability),
    changed,
    ...(ports.keeper === undefined ? {} : { keeper: ports.keeper }),
  })
  state.slots = slots.all
  const slotOf = (route: Route): Slot | undefined =>
    state.slots.find(({ peer }) => peer.name === route.peer)
  const known = async (principal: Principal): Promise<readonly Slot[]> => {
    await slots.patient()
    return state.slots.filter((slot) => knowsPeer(ports.policy, principal, slot))
  }

  return {
    async list(kind, principal) {
      slots.renew()
      await (ports.strict === true ? slots.settledOnce(patience.firstMs) : slots.patient())
      return listOf(state, kind, principal)
    },
    resolve(kind, exposed, principal) {
      const found = lookUp(state, kind, exposed, principal)
      // What a peer offers since is there for the next to ask; a name that is none costs its caller no wait.
      if (found === undefined) slots.renew()
      const starting = startingFor(state, found)
      if (starting.length === 0) return found
      return within(patience.firstMs, Promise.all(starting.map(({ first }) => first))).then(() =>
        lookUp(state, kind, exposed, principal),
      )
    },
    linked(principal, peer, uris) {
      // A link into comity's own space gives no peer a place there.
      const theirs = uris.filter((uri) => !/^comity:/iu.test(uri))
      for (const uri of theirs) state.links.add(principal.id, peer, uri)
    },
    expose: (principal, name, uris) => {
      const peer = ports.peers.find((candidate) => candidate.name === name)
      return uris.map((uri) =>
        peer === undefined ? undefined : exposedTo(state, principal, peer, uri),
      )
    },
    async instructions(principal) {
      return instructionsOf(await known(principal))
    },
    onChanged: (listener, principal) => changes.listen(listener, principal),
    features: async (principal) => featuresOf(await known(principal)),
    peersWith: async (extension, principal) => peersWith(await known(principal), extension),
    query: (route, query, signal) =>
      queryRoute(slotOf(route)?.peer, ports.pinState(route), { route, query, signal }),
    watch: (route, listener) => watchRoute(slotOf(route), route, () => tableOf(state), listener),
    async view(timeoutMs) {
      slots.renew()
      await slots.settled(timeoutMs)
      return viewOf(state)
    },
    async find(peer, name, kinds = ['tool', 'agent', 'prompt', 'resource', 'template']) {
      const slot = state.slots.find((candidate) => candidate.peer.name === peer)
      if (slot === undefined) return undefined
      await within(patience.firstMs, slot.settled)
      return [...allRows(tableOf(state))].find(
        ({ route }) =>
          route.peer === peer && route.capability === name && kinds.includes(route.kind),
      )
    },
    definitionOf: createDefinitions(slotOf),
    refresh: changed,
    close: slots.close,
  }
}

interface State {
  readonly ports: CataloguePorts
  readonly links: Links
  slots: readonly Slot[]
  table: RouteTable | undefined
  clashes: readonly Clash[]
  /** Lists as they were made of this table. */
  shown: { readonly table: RouteTable | undefined; readonly lists: Map<string, Shown> }
}

type Shown = Omit<Listing, 'ttlMs'> & { readonly known: readonly Slot[] }

/** Whose first listing decides what a name stands for: nothing is called by what an earlier run was shown. */
function startingFor({ slots }: State, found: Route | undefined): readonly Slot[] {
  if (slots.every(isDone)) return NOBODY
  if (found === undefined) return slots.filter(({ done }) => !done)
  return slots.filter(
    ({ peer, done, storedAt }) => peer.name === found.peer && !done && storedAt !== undefined,
  )
}

const NOBODY: readonly Slot[] = []

function isDone({ done }: Slot): boolean {
  return done
}

function tableOf(state: State): RouteTable {
  if (state.table !== undefined) return state.table
  const offers = state.slots.map(({ peer, listing }) =>
    listing === undefined ? { peer } : { peer, capabilities: listing.capabilities },
  )
  const built = buildRouteTable(offers, {
    ...state.ports.naming,
    wasOffered: (peer, kind, name) =>
      state.ports.pinState(routeOf(peer, bareCapability(peer, kind, name), name)) !== 'unseen',
  })
  state.clashes = built.clashes
  state.table = built.table
  return built.table
}

function instructionsOf(slots: readonly Slot[]): string | undefined {
  const given = slots.flatMap(({ peer, listing }) =>
    listing?.instructions === undefined
      ? []
      : [`## ${peer.name} (its own words)\n${listing.instructions}`],
  )
  return given.length === 0 ? undefined : given.join('\n\n')
}

function listOf(state: State, kind: ListKind, principal: Principal): Listing {
  const { known, ...listing } = shownTo(state, kind, principal)
  return { ...listing, ttlMs: ttlOf(known) }
}

/** What one principal's list shows, kept until anything changes. */
function shownTo(state: State, kind: ListKind, principal: Principal): Shown {
  const table = tableOf(state)
  if (state.shown.table !== table) state.shown = { table, lists: new Map() }
  const { lists } = state.shown
  const key = JSON.stringify([kind, principal.id, principal.via, principal.groups])
  const kept = lists.get(key)
  if (kept !== undefined) return kept
  const made = makeShown(state, kind, principal)
  if (lists.size >= MAX_SHOWN) lists.clear()
  lists.set(key, made)
  return made
}

function makeShown(state: State, kind: ListKind, principal: Principal): Shown {
  const { ports, slots } = state
  const known = slots.filter((slot) => knowsPeer(ports.policy, principal, slot))
  const missing = [
    ...missingFor(principal, kind, { policy: ports.policy, known, clashes: state.clashes }),
  ]
  const items = []
  for (const [exposed, row] of tableOf(state)[kind]) {
    if (!isShown(state, principal, row.route)) continue
    if (ports.pinState(row.route) === 'changed') {
      missing.push({
        peer: row.route.peer,
        reason: `${row.route.capability}: its definition changed; comity pins shows the difference`,
      })
      continue
    }
    items.push({ exposed, definition: row.definition })
  }
  const allFailed = known.length > 0 && known.every((slot) => slot.error !== undefined)
  const incomplete =
    ports.strict === true && known.some(({ done, error }) => !done || error !== undefined)
  const stale = known.flatMap(({ peer, storedAt, error }) =>
    storedAt === undefined || error !== undefined ? [] : [{ peer: peer.name, at: storedAt }],
  )
  const longWork = hasLongWork(known)
  return { known, items, missing, allFailed, incomplete, stale, longWork }
}

function hasLongWork(slots: readonly Slot[]): boolean {
  return slots.some(({ listing }) => listing?.features?.tasks === true)
}

function isShown({ ports, slots }: State, principal: Principal, route: Route): boolean {
  const from = slots.find((slot) => slot.peer.name === route.peer)
  return from?.error === undefined && ports.policy.visible(principal, route)
}

/** The least that any peer's part may stand, and never longer than ours; nothing of a list that is not whole. */
function ttlOf(known: readonly Slot[]): number {
  let ttlMs = LIST_TTL_MS
  for (const { done, error, listing, listedAt } of known) {
    if (!done || error !== undefined) return 0
    if (listing?.freshForMs === undefined || listedAt === undefined) continue
    ttlMs = Math.min(ttlMs, listing.freshForMs - (performance.now() - listedAt))
  }
  return Math.max(0, Math.trunc(ttlMs))
}

/** What this principal's list shows, for comparison. */
function seenBy(state: State, kind: ListKind, principal: Principal): string {
  const shown = [...tableOf(state)[kind].values()].filter(
    ({ route }) => isShown(state, principal, route) && state.ports.pinState(route) !== 'changed',
  )
  const names = shown.map(({ route }) => [route.exposed, route.peer, route.fingerprint])
  if (kind !== 'tool') return JSON.stringify(names)
  // Where work may outlive a call, its tools are listed.
  const { ports, slots } = state
  const known = slots.filter((slot) => knowsPeer(ports.policy, principal, slot))
  return JSON.stringify([names, hasLongWork(known)])
}

function lookUp(
  state: State,
  kind: ListKind,
  exposed: string,
  principal: Principal,
): Route | undefined {
  const { ports } = state
  const listed = tableOf(state)[kind].get(exposed)?.route
  const route = listed ?? (kind === 'resource' ? unlisted(state, exposed, principal) : undefined)
  return route !== undefined && ports.policy.visible(principal, route) ? route : undefined
}

/** A URI outside every list: the peer that linked it to this principal, else the first (or the named) whose template it fits. */
function unlisted(state: State, uri: string, principal: Principal): Route | undefined {
  const linker = state.links.find(principal.id, uri)
  const slot = state.slots.find((candidate) => candidate.peer.name === linker)
  const scoped = parseScopedUri(uri)
  const own = scoped?.uri ?? uri
  if (slot !== undefined) return linkedRoute(slot.peer, own, uri)
  const app = tableOf(state).apps.get(uri)
  if (app !== undefined) return linkedRoute(app.peer, app.uri, uri)
  for (const { route } of tableOf(state).template.values()) {
    // One that clashes is filled in under its own address only: the plain one is another peer's, listed or not.
    if (scoped === undefined ? route.exposed !== route.capability : route.peer !== scoped.peer)
      continue
    if (compileTemplate(route.capability)?.(own) !== true) continue
    return {
      ...route,
      exposed: uri,
      kind: 'resource',
      capability: own,
      pinned: { kind: 'template', name: route.capability },
    }
  }
  return undefined
}

/** @param uri the peer's own; @param exposed as callers know it. */
function linkedRoute(peer: Peer, uri: string, exposed: string): Route {
  // A linked resource has no definition of its own: its fingerprint is its address.
  const capability = {
    ...bareCapability(peer, 'resource', uri),
    fingerprint: linkedFingerprint(uri),
  }
  return routeOf(peer, capability, exposed)
}

/** The address of a peer's URI for this principal: as listed, plain while nobody else has it, else scoped. */
function exposedTo(
  state: State,
  principal: Principal,
  peer: Peer,
  uri: string,
): string | undefined {
  const { links, ports } = state
  const table = tableOf(state)
  const listed = [...table.resource.values()].find(
    ({ route }) => route.peer === peer.name && route.capability === uri,
  )
  const route = listed?.route ?? linkedRoute(peer, uri, uri)
  if (!ports.policy.visible(principal, route)) return undefined
  if (listed !== undefined) return listed.route.exposed
  // Addresses in comity's own space are comity's to give.
  if (!/^comity:/iu.test(uri) && !table.resource.has(uri)) {
    links.add(principal.id, peer.name, uri)
    if (links.find(principal.id, uri) === peer.name) return uri
  }
  const scoped = scopedTree(peer.name, uri)
  links.add(principal.id, peer.name, scoped)
  return scoped
}

function viewOf(state: State): readonly PeerView[] {
  const { ports, slots } = state
  const table = tableOf(state)
  const { clashes } = state
  const rows = [...allRows(table)]
  return slots.map((slot) => {
    const own = rows.filter(({ route }) => route.peer === slot.peer.name)
    const capabilities = own.flatMap(({ route }) => {
      const capability = definitionOf([slot], route)
      return capability === undefined
        ? []
        : [{ capability, exposed: route.exposed, withdrawn: ports.pinState(route) === 'changed' }]
    })
    const clashed = clashes.filter((clash) => clash.peer === slot.peer.name)
    return {
      peer: slot.peer,
      capabilities,
      leftOut: [...(slot.listing?.leftOut ?? []), ...clashed],
      starting: !slot.done,
      ...(slot.storedAt === undefined ? {} : { storedAt: slot.storedAt }),
      ...(slot.error === undefined
        ? slot.done
          ? {}
          : { error: 'still starting' }
        : { error: slot.error }),
    }
  })
}

/** Remembered while the peer's listing stands: every call asks, and a listing may be long. */
function createDefinitions(
  slotOf: (route: Route) => Slot | undefined,
): (route: Route) => Capability | undefined {
  const known = new WeakMap<Route, Pick<Slot, 'listing'> & { readonly found: Capability }>()
  return (route) => {
    const slot = slotOf(route)
    const kept = known.get(route)
    if (kept !== undefined && kept.listing === slot?.listing) return kept.found
    const found = slot === undefined ? undefined : definitionOf([slot], route)
    if (found !== undefined && slot?.listing !== undefined)
      known.set(route, { listing: slot.listing, found })
    return found
  }
}

function definitionOf(slots: readonly Slot[], route: Route): Capability | undefined {
  const wanted = route.pinned ?? { kind: route.kind, name: route.capability }
  return slots
    .find((slot) => slot.peer.name === route.peer)
    ?.listing?.capabilities.find(
      (capability) => capability.kind === wanted.kind && capability.name === wanted.name,
    )
}

function* allRows(table: RouteTable): Generator<Row> {
  for (const kind of ['tool', 'prompt', 'resource', 'template'] as const)
    yield* table[kind].values()
}

/** What is shown of peers that are still starting: what they offered in an earlier run, marked, and never called by. */
import { expect, test } from 'vitest'
import type { KeptListing, KeptListings, ListingToKeep } from '../../core/ports/kept-listings.ts'
import type { Peer, PeerListing } from '../../core/ports/peer.ts'
import { LOCAL } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import { canonicalCard } from '../../a2a/wire/card.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { createPolicy } from '../policy/policy.ts'
import { type OpenCatalogue, createCatalogue } from './catalogue.ts'
import { createListingKeeper } from './kept-listing.ts'
import { capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'
import { digest } from './world.ts'

const AT = '2026-11-30T10:00:00.000Z'
/** Longer than any of these waits. */
const PATIENCE = { patienceMs: 60_000, firstMs: 60_000 }

const tools = (peer: string, ...names: string[]): PeerListing => ({
  capabilities: names.map((name) => capabilityOf(peer, 'tool', name)),
  leftOut: [],
})

/** Listings in memory, as the store gives them back: with the definitions of what was accepted. */
function memory(of: Readonly<Record<string, PeerListing>>) {
  const written: { readonly peer: string; readonly listing: ListingToKeep }[] = []
  const store: KeptListings = {
    read({ name }): KeptListing | undefined {
      const listing = of[name]
      if (listing === undefined) return undefined
      const { capabilities, leftOut, instructions, features } = listing
      return {
        at: AT,
        leftOut,
        ...(instructions === undefined ? {} : { instructions }),
        ...(features === undefined ? {} : { features }),
        capabilities: capabilities.map(({ kind, name: own, fingerprint, definition }) => ({
          kind,
          name: own,
          fingerprint,
          definition: new TextDecoder().decode(definition.bytes),
        })),
      }
    },
    write: ({ name }, listing) => void written.push({ peer: name, listing }),
  }
  return { store, written }
}

function open(
  peers: readonly Peer[],
  store: KeptListings,
  more: { readonly changed?: string; readonly strict?: boolean; readonly firstMs?: number } = {},
): OpenCatalogue {
  return createCatalogue(
    {
      peers,
      naming: {
        peers: peers.map((peer) => peer.name),
        names: 'prefixed',
        digest: (text) => digest.text(text),
      },
      policy: createPolicy({ preset: 'personal', shadow: false, rules: [] }),
      sight: () => Promise.resolve(),
      pinState: ({ capability }: Route) => (capability === more.changed ? 'changed' : 'accepted'),
      keeper: createListingKeeper(store, digest, canonicalCard),
      ...(more.strict === undefined ? {} : { strict: more.strict }),
    },
    { ...PATIENCE, ...(more.firstMs === undefined ? {} : { firstMs: more.firstMs }) },
  )
}

/** A peer whose first listing is answered when the test says so. */
function starting(name: string) {
  const { promise, resolve } = Promise.withResolvers<PeerListing | Error>()
  const peer = scriptedPeer(
    name,
    promise.then((found) => {
      if (found instanceof Error) throw found
      return found
    }),
  )
  return { peer, answer: resolve }
}

const namesOf = async (catalogue: OpenCatalogue): Promise<readonly string[]> =>
  (await catalogue.list('tool', LOCAL)).items.map(({ exposed }) => exposed)

test('while a peer starts, its stored listing is answered at once, marked and not to be kept', async () => {
  const { peer, answer } = starting('docs')
  const stored = { ...tools('docs', 'search', 'read'), instructions: 'Search first.' }
  const catalogue = open([peer], memory({ docs: stored }).store)
  const first = await catalogue.list('tool', LOCAL)
  expect(first).toMatchObject({
    items: [{ exposed: 'docs_search' }, { exposed: 'docs_read' }],
    missing: [],
    stale: [{ peer: 'docs', at: AT }],
    ttlMs: 0,
    allFailed: false,
  })
  expect(await catalogue.instructions(LOCAL)).toContain('Search first.')
  answer(tools('docs', 'search', 'read'))
  await catalogue.view(5_000)
  const second = await catalogue.list('tool', LOCAL)
  expect(second.stale).toEqual([])
  expect(second.ttlMs).toBeGreaterThan(0)
})

test('callers are told of a change when the true listing differs, and of none when it does not', async () => {
  for (const [now, told] of [
    [tools('docs', 'search', 'read'), []],
    [tools('docs', 'search'), ['tool']],
  ] as const) {
    const { peer, answer } = starting('docs')
    const catalogue = open([peer], memory({ docs: tools('docs', 'search', 'read') }).store)
    const heard: string[] = []
    catalogue.onChanged((kind) => void heard.push(kind), LOCAL)
    answer(now)
    await catalogue.view(5_000)
    expect(heard).toEqual(told)
  }
})

test('a call waits for the peer, and goes by what that offers now', async () => {
  const { peer, answer } = starting('docs')
  const catalogue = open([peer], memory({ docs: tools('docs', 'search', 'gone') }).store)
  const resolved = Promise.all(
    ['docs_search', 'docs_gone'].map(async (name) => catalogue.resolve('tool', name, LOCAL)),
  )
  const now = {
    ...tools('docs', 'search'),
    capabilities: [capabilityOf('docs', 'tool', 'search', { title: 'new' })],
  }
  answer(now)
  const [search, gone] = await resolved
  expect(search?.fingerprint).toBe(now.capabilities[0]?.fingerprint)
  expect(gone).toBeUndefined()
})

test('a call to a peer that does not come is told by its name after a while; one that fails is hidden from lists', async () => {
  const never = open([starting('docs').peer], memory({ docs: tools('docs', 'search') }).store, {
    firstMs: 50,
  })
  expect(await never.resolve('tool', 'docs_search', LOCAL)).toMatchObject({ peer: 'docs' })

  const { peer, answer } = starting('docs')
  const failing = open([peer], memory({ docs: tools('docs', 'search') }).store)
  answer(new Error('no database'))
  await failing.view(5_000)
  expect(await failing.list('tool', LOCAL)).toMatchObject({
    items: [],
    missing: [{ peer: 'docs', reason: 'no database' }],
    stale: [],
    allFailed: true,
  })
  expect(await failing.resolve('tool', 'docs_search', LOCAL)).toMatchObject({ peer: 'docs' })
})

test('only peers of which nothing is kept are waited for', async () => {
  const known = starting('docs')
  const fresh = starting('mail')
  const catalogue = open([known.peer, fresh.peer], memory({ docs: tools('docs', 'search') }).store)
  const listed = namesOf(catalogue)
  fresh.answer(tools('mail', 'send'))
  expect(await listed).toEqual(['docs_search', 'mail_send'])
})

test('what changed since it was accepted, or is not what its fingerprint says, is not shown', async () => {
  const [forged] = tools('docs', 'forged').capabilities
  const stored: PeerListing = {
    capabilities: [
      ...tools('docs', 'search', 'changed').capabilities,
      {
        ...forged!,
        definition: jsonTextOf({ name: 'forged', description: 'written on the disk' }),
      },
    ],
    leftOut: [],
  }
  const catalogue = open([starting('docs').peer], memory({ docs: stored }).store, {
    changed: 'changed',
  })
  expect(await namesOf(catalogue)).toEqual(['docs_search'])
})

test('an agent is shown by its stored card, whose signatures are no part of what was accepted', async () => {
  const card = { name: 'Clerk', description: 'Files things.', skills: [] }
  const fingerprint = digest.text(new TextDecoder().decode(canonicalCard(card)))
  const agent = (definition: object): PeerListing => ({
    capabilities: [
      {
        ...capabilityOf('clerk', 'agent', 'clerk'),
        fingerprint,
        definition: jsonTextOf(definition),
      },
    ],
    leftOut: [],
  })
  for (const [definition, shown] of [
    [{ ...card, signatures: [{ protected: 'a', signature: 'b' }] }, ['delegate_clerk']],
    [{ ...card, description: 'Mails things.' }, []],
  ] as const) {
    const { store } = memory({ clerk: agent(definition) })
    expect(await namesOf(open([starting('clerk').peer], store))).toEqual(shown)
  }
})

test('a store that cannot be read keeps no peer from being listed', async () => {
  const store: KeptListings = {
    read: () => {
      throw new Error('the disk is gone')
    },
    write: () => undefined,
  }
  const catalogue = open([scriptedPeer('docs', tools('docs', 'search'))], store)
  expect(await namesOf(catalogue)).toEqual(['docs_search'])
})

test('hints are read from the definition: the stored listing has none of its own', async () => {
  const annotations = { readOnlyHint: true }
  const capability = capabilityOf('docs', 'tool', 'search', { annotations })
  const catalogue = open(
    [starting('docs').peer],
    memory({
      docs: { capabilities: [{ ...capability, hints: { destructive: true } }], leftOut: [] },
    }).store,
    { firstMs: 50 },
  )
  expect(await catalogue.resolve('tool', 'docs_search', LOCAL)).toMatchObject({
    hints: { readOnly: true },
  })
})

test('a listing is kept when it comes first in a run, and when it changes; one that failed is not', async () => {
  const { store, written } = memory({})
  const peer = scriptedPeer('docs', tools('docs', 'search'))
  const catalogue = open([peer, scriptedPeer('mail', new Error('down'))], store)
  await catalogue.view(5_000)
  peer.offer(tools('docs', 'search'))
  await catalogue.view(5_000)
  peer.offer(tools('docs', 'read'))
  await catalogue.view(5_000)
  peer.offer(new Error('down'))
  await catalogue.view(5_000)
  expect(
    written.map(({ peer: name, listing }) => [name, listing.capabilities.map((one) => one.name)]),
  ).toEqual([
    ['docs', ['search']],
    ['docs', ['read']],
  ])
})

test('lists: strict waits for every peer, and is an error while one is missing', async () => {
  const { peer, answer } = starting('docs')
  const mail = scriptedPeer('mail', tools('mail', 'send'))
  const catalogue = open([peer, mail], memory({ docs: tools('docs', 'search') }).store, {
    strict: true,
    firstMs: 50,
  })
  expect((await catalogue.list('tool', LOCAL)).incomplete).toBe(true)
  answer(tools('docs', 'search'))
  await catalogue.view(5_000)
  expect((await catalogue.list('tool', LOCAL)).incomplete).toBe(false)
  mail.offer(new Error('down'))
  await catalogue.view(5_000)
  expect((await catalogue.list('tool', LOCAL)).incomplete).toBe(true)
})

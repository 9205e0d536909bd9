import { expect, test } from 'vitest'
import type { ListKind } from '../../core/ports/catalogue.ts'
import type { PinState } from '../../core/words/pin.ts'
import type { Route } from '../../core/words/route.ts'
import { LOCAL } from '../../core/words/principal.ts'
import { type OpenCatalogue, createCatalogue } from './catalogue.ts'
import { type ScriptedPeer, capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'
import { digest } from './world.ts'

const tools = (peer: string, ...names: string[]) => ({
  capabilities: names.map((name) => capabilityOf(peer, 'tool', name)),
  leftOut: [],
})

function open(
  peers: readonly ScriptedPeer[],
  more: {
    names?: 'prefixed' | 'as-is'
    pinState?: (route: Route) => PinState
    visible?: (route: Route) => boolean
    firstMs?: number
  } = {},
): OpenCatalogue {
  return createCatalogue(
    {
      peers,
      naming: {
        peers: peers.map((peer) => peer.name),
        names: more.names ?? 'prefixed',
        digest: (text) => digest.text(text),
      },
      policy: {
        visible: (_principal, route) => more.visible?.(route) ?? true,
        decideQuestion: () => {
          throw new Error('no peer asks here')
        },
        decide: () => expect.unreachable(),
      },
      sight: () => Promise.resolve(),
      pinState: more.pinState ?? (() => 'accepted'),
    },
    { patienceMs: 50, firstMs: more.firstMs ?? 2_000 },
  )
}

const namesOf = async (
  catalogue: OpenCatalogue,
  kind: ListKind = 'tool',
): Promise<readonly string[]> =>
  (await catalogue.list(kind, LOCAL)).items.map((item) => item.exposed)

test('a name means the same whatever order peers connect in', async () => {
  const forward = open([
    scriptedPeer('docs', tools('docs', 'search')),
    scriptedPeer('docs_v2', tools('docs_v2', 'search')),
  ])
  const backward = open([
    scriptedPeer('docs_v2', tools('docs_v2', 'search')),
    scriptedPeer('docs', tools('docs', 'search')),
  ])
  expect([...(await namesOf(forward))].sort()).toEqual([...(await namesOf(backward))].sort())
  expect((await forward.resolve('tool', 'docs_v2_search', LOCAL))?.peer).toBe('docs_v2')
})

test('the definition callers see differs from the peer’s in its name alone', async () => {
  const definition = capabilityOf('docs', 'tool', 'search', {
    inputSchema: { type: 'object', big: 1 },
  })
  const listing = await open([
    scriptedPeer('docs', { capabilities: [definition], leftOut: [] }),
  ]).list('tool', LOCAL)
  expect(listing.items[0]?.definition.value()).toEqual({
    ...(definition.definition.value() as object),
    name: 'docs_search',
  })
})

test('as-is keeps a name that one peer alone has; ours are never given away', async () => {
  const peers = [
    scriptedPeer('a', tools('a', 'search', 'only', 'task_status')),
    scriptedPeer('b', tools('b', 'search')),
  ]
  expect([...(await namesOf(open(peers, { names: 'as-is' })))].sort()).toEqual([
    'a_search',
    'a_task_status',
    'b_search',
    'only',
  ])
})

test('a peer that hangs does not keep the others waiting, and the list says that it is missing', async () => {
  const catalogue = open([
    scriptedPeer('slow', new Promise(() => undefined)),
    scriptedPeer('docs', tools('docs', 'search')),
  ])
  const before = performance.now()
  const listing = await catalogue.list('tool', LOCAL)
  expect(performance.now() - before).toBeLessThan(1_500)
  expect(listing).toMatchObject({
    items: [{ exposed: 'docs_search' }],
    missing: [{ peer: 'slow', reason: 'still starting' }],
    ttlMs: 0,
    allFailed: false,
  })
})

test('all peers down is an error, not an empty list', async () => {
  const listing = await open([scriptedPeer('a', new Error('exit 3: missing key'))]).list(
    'tool',
    LOCAL,
  )
  expect(listing).toMatchObject({
    items: [],
    allFailed: true,
    missing: [{ peer: 'a', reason: 'exit 3: missing key' }],
  })
})

test('a peer that comes back appears with its tools, and listeners are told', async () => {
  const peer = scriptedPeer('a', new Error('down'))
  const catalogue = open([peer, scriptedPeer('b', tools('b', 'x'))])
  expect(await namesOf(catalogue)).toEqual(['b_x'])
  const told = new Promise<void>((resolve) => catalogue.onChanged(() => resolve()))
  peer.offer(tools('a', 'search'))
  await told
  expect(await namesOf(catalogue)).toEqual(['a_search', 'b_x'])
})

test('a name whose peer is still starting is waited for', async () => {
  let ready: (listing: ReturnType<typeof tools>) => void = () => undefined
  const starting = new Promise<ReturnType<typeof tools>>((resolve) => (ready = resolve))
  const catalogue = open([scriptedPeer('late', starting)])
  const resolved = catalogue.resolve('tool', 'late_go', LOCAL)
  ready(tools('late', 'go'))
  expect(await resolved).toMatchObject({ peer: 'late', capability: 'go' })
  expect(await catalogue.resolve('tool', 'late_gone', LOCAL)).toBeUndefined()
})

test('a changed definition is not listed but still resolves, so that the gate can say why', async () => {
  const catalogue = open([scriptedPeer('a', tools('a', 'old', 'fine'))], {
    pinState: (route) => (route.capability === 'old' ? 'changed' : 'accepted'),
  })
  const listing = await catalogue.list('tool', LOCAL)
  expect(listing.items.map((item) => item.exposed)).toEqual(['a_fine'])
  expect(listing.missing[0]).toMatchObject({
    peer: 'a',
    reason: expect.stringContaining('comity pins') as string,
  })
  expect(await catalogue.resolve('tool', 'a_old', LOCAL)).toMatchObject({ capability: 'old' })
})

test('what policy hides is neither listed nor found', async () => {
  const catalogue = open([scriptedPeer('a', tools('a', 'secret', 'open'))], {
    visible: (route) => route.capability !== 'secret',
  })
  expect(await namesOf(catalogue)).toEqual(['a_open'])
  expect(await catalogue.resolve('tool', 'a_secret', LOCAL)).toBeUndefined()
})

test('a URI that two peers offer stays with the first; the other has an address of its own', async () => {
  const offer = (peer: string) => ({
    capabilities: [capabilityOf(peer, 'resource', 'file:///a')],
    leftOut: [],
  })
  const catalogue = open([scriptedPeer('one', offer('one')), scriptedPeer('two', offer('two'))])
  expect(await namesOf(catalogue, 'resource')).toEqual([
    'file:///a',
    'comity://two/file%3A%2F%2F%2Fa',
  ])
  expect(await catalogue.resolve('resource', 'file:///a', LOCAL)).toMatchObject({
    peer: 'one',
    capability: 'file:///a',
  })
  expect(
    await catalogue.resolve('resource', 'comity://two/file%3A%2F%2F%2Fa', LOCAL),
  ).toMatchObject({ peer: 'two', capability: 'file:///a' })
})

test('an unlisted URI goes to the peer that linked it to this principal, else by template, else nowhere', async () => {
  const template = {
    capabilities: [capabilityOf('tpl', 'template', 'demo://{id}/text')],
    leftOut: [],
  }
  const catalogue = open([scriptedPeer('linker', tools('linker')), scriptedPeer('tpl', template)])
  await catalogue.list('resource', LOCAL)
  catalogue.linked(LOCAL, 'linker', ['demo://7/text', 'gone://1'])
  expect(await catalogue.resolve('resource', 'demo://7/text', LOCAL)).toMatchObject({
    peer: 'linker',
  })
  const bob = { id: 'bob', groups: [], via: 'token' } as const
  expect(await catalogue.resolve('resource', 'demo://7/text', bob)).toMatchObject({
    peer: 'tpl',
    pinned: { kind: 'template', name: 'demo://{id}/text' },
  })
  expect(await catalogue.resolve('resource', 'gone://1', bob)).toBeUndefined()
})

test('a URI that an earlier peer is known to offer stays its own while that peer starts', async () => {
  const offer = (peer: string) => ({
    capabilities: [
      capabilityOf(peer, 'resource', 'file:///a'),
      capabilityOf(peer, 'template', 'file:///{b}'),
    ],
    leftOut: [],
  })
  let ready: (listing: ReturnType<typeof offer>) => void = () => undefined
  const starting = new Promise<ReturnType<typeof offer>>((resolve) => (ready = resolve))
  const seen = new Set<string>()
  const catalogue = open([scriptedPeer('one', starting), scriptedPeer('two', offer('two'))], {
    pinState: (route) =>
      route.peer === 'two' || seen.has(`${route.kind} ${route.capability}`) ? 'accepted' : 'unseen',
    firstMs: 500,
  })
  // Not known yet of the first: the second alone has them.
  expect(await namesOf(catalogue, 'resource')).toEqual(['file:///a'])
  for (const known of ['resource file:///a', 'template file:///{b}']) seen.add(known)
  catalogue.refresh()
  const scoped = 'comity://two/file%3A%2F%2F%2Fa'
  expect(await namesOf(catalogue, 'resource')).toEqual([scoped])
  expect(await namesOf(catalogue, 'template')).not.toContain('file:///{b}')
  expect(await catalogue.resolve('resource', 'file:///a', LOCAL)).toBeUndefined()
  expect(await catalogue.resolve('resource', scoped, LOCAL)).toMatchObject({ peer: 'two' })
  ready(offer('one'))
  expect(await catalogue.resolve('resource', 'file:///a', LOCAL)).toMatchObject({ peer: 'one' })
  expect(await catalogue.resolve('resource', scoped, LOCAL)).toMatchObject({ peer: 'two' })
})

test('a peer has no place in comity’s own space: what it offers or links there is scoped under its own name', async () => {
  const taken = 'comity://a/x%3A%2F%2F1'
  const peers = [
    scriptedPeer('a', { capabilities: [capabilityOf('a', 'resource', 'x://1')], leftOut: [] }),
    scriptedPeer('b', { capabilities: [capabilityOf('b', 'resource', taken)], leftOut: [] }),
  ]
  const catalogue = open(peers)
  const scoped = `comity://b/${encodeURIComponent(taken)}`
  expect(await namesOf(catalogue, 'resource')).toEqual(['x://1', scoped])
  expect(await catalogue.resolve('resource', scoped, LOCAL)).toMatchObject({
    peer: 'b',
    capability: taken,
  })
  catalogue.linked(LOCAL, 'b', ['comity://artifacts/t/x'])
  expect(await catalogue.resolve('resource', 'comity://artifacts/t/x', LOCAL)).toBeUndefined()
})

test('a list says when work may outlive a call, to whoever may know of such a peer, in a list of its own', async () => {
  const FEATURES = {
    completions: false,
    subscribe: false,
    logging: false,
    extensions: {},
  }
  const peer = scriptedPeer('docs', { ...tools('docs', 'search'), features: FEATURES })
  const catalogue = open([peer])
  const before = await catalogue.list('tool', LOCAL)
  expect(before.longWork).toBe(false)
  const told: ListKind[] = []
  catalogue.onChanged((kind) => void told.push(kind), LOCAL)
  peer.offer({ ...tools('docs', 'search'), features: { ...FEATURES, tasks: true } })
  await expect
    .poll(async () => (await catalogue.list('tool', LOCAL)).longWork, { timeout: 5_000 })
    .toBe(true)
  const after = await catalogue.list('tool', LOCAL)
  expect(told).toEqual(['tool'])
  // What was written of the list before is not shown for this one.
  expect(after.items).not.toBe(before.items)
  const hidden = open([peer], { visible: () => false })
  expect((await hidden.list('tool', LOCAL)).longWork).toBe(false)
})

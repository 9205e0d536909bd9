import { expect, test } from 'vitest'
import type { Peer, PeerListing, PeerQuery } from '../../core/ports/peer.ts'
import type { PinState } from '../../core/words/pin.ts'
import { LOCAL, type Principal } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { mcpNative } from '../../mcp/downstream/visit.ts'
import { type OpenCatalogue, createCatalogue } from './catalogue.ts'
import { capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'
import { digest } from './world.ts'

const GUEST: Principal = { id: 'guest', groups: [], via: 'token' }
const SKILLS = 'io.modelcontextprotocol/skills'
const signal = AbortSignal.timeout(60_000)

function open(
  peers: readonly Peer[],
  more: {
    readonly visible?: (route: Route, principal: Principal) => boolean
    readonly pinState?: (route: Route) => PinState
  } = {},
): OpenCatalogue {
  return createCatalogue(
    {
      peers,
      naming: {
        peers: peers.map((peer) => peer.name),
        names: 'prefixed',
        digest: (text) => digest.text(text),
      },
      policy: {
        visible: (principal, route) => more.visible?.(route, principal) ?? true,
        decide: () => expect.unreachable(),
        decideQuestion: () => expect.unreachable(),
      },
      sight: () => Promise.resolve(),
      pinState: more.pinState ?? (() => 'accepted'),
    },
    { patienceMs: 50, firstMs: 2_000 },
  )
}

function offering(peer: string, extensions: Record<string, unknown> = {}, completions = false) {
  const listing: PeerListing = {
    capabilities: [
      capabilityOf(peer, 'resource', 'memo://today'),
      capabilityOf(peer, 'prompt', 'greet'),
    ],
    leftOut: [],
    features: { completions, subscribe: true, logging: false, extensions },
  }
  return scriptedPeer(peer, listing)
}

test('a feature is there when a peer that the principal may know of has it', async () => {
  const catalogue = open(
    [
      offering('a', { [SKILLS]: { directoryRead: false, since: 1 } }),
      offering('b', { [SKILLS]: { directoryRead: true, since: 2 } }, true),
    ],
    { visible: (route, { id }) => id !== 'guest' || route.peer === 'a' },
  )
  expect(await catalogue.features?.(LOCAL)).toEqual({
    completions: true,
    subscribe: true,
    logging: false,
    extensions: { [SKILLS]: { directoryRead: true, since: 1 } },
  })
  expect(await catalogue.features?.(GUEST)).toEqual({
    completions: false,
    subscribe: true,
    logging: false,
    extensions: { [SKILLS]: { directoryRead: false, since: 1 } },
  })
  catalogue.close()
})

test('a question goes to the peer behind the route, and its own answer comes back', async () => {
  const asked: PeerQuery[] = []
  const peer: Peer = {
    ...offering('a', { [SKILLS]: {} }),
    query: (query) => {
      asked.push(query)
      const native = mcpNative(jsonTextOf({ completion: { values: ['x'] } }).bytes, '2025-11-25')
      return Promise.resolve({ kind: 'result', native })
    },
  }
  const catalogue = open([peer, offering('b', { [SKILLS]: {} })])
  const route = await catalogue.resolve('prompt', 'a_greet', LOCAL)
  const query = { method: 'completion/complete', params: jsonTextOf({}) }
  const answer = await catalogue.query?.(route as Route, query, signal)
  expect(answer?.native.value()).toEqual({ completion: { values: ['x'] } })
  expect(asked).toEqual([query])
  // Of the two that have the extension only one can be asked at all.
  const peers = await catalogue.peersWith?.(SKILLS, LOCAL)
  expect(peers?.map(({ name }) => name)).toEqual(['a'])
  catalogue.close()
})

test('a peer that cannot be asked, and a definition that changed, are said so', async () => {
  const broken: Peer = {
    ...offering('a'),
    query: () => Promise.reject(new Error('its pipe is closed')),
  }
  let pin: PinState = 'accepted'
  const catalogue = open([broken, offering('b')], { pinState: () => pin })
  const query = { method: 'completion/complete', params: jsonTextOf({}) }
  const ofA = (await catalogue.resolve('prompt', 'a_greet', LOCAL)) as Route
  const ofB = (await catalogue.resolve('prompt', 'b_greet', LOCAL)) as Route
  await expect(catalogue.query?.(ofA, query, signal)).rejects.toThrow(
    'a could not be asked: its pipe is closed',
  )
  await expect(catalogue.query?.(ofB, query, signal)).rejects.toThrow(
    'b cannot be asked completion/complete',
  )
  await expect(
    catalogue.query?.({ ...ofA, endpoint: 'another' }, query, signal),
  ).rejects.toMatchObject({ code: 'not_allowed' })
  pin = 'changed'
  await expect(catalogue.query?.(ofA, query, signal)).rejects.toThrow('comity pins accept a')
  catalogue.close()
})

test('an update comes under the address that callers know the resource by', async () => {
  const tellers = new Map<string, (uri: string) => void>()
  const watched = (name: string): Peer => ({
    ...offering(name),
    watch: (uri, listener) => {
      tellers.set(`${name} ${uri}`, listener)
      return () => tellers.delete(`${name} ${uri}`)
    },
  })
  const catalogue = open([watched('a'), watched('b'), offering('mute')])
  await catalogue.list('resource', LOCAL)
  const updates: string[] = []
  const exposed = ['memo://today', 'comity://b/memo%3A%2F%2Ftoday']
  const stops = await Promise.all(
    exposed.map(async (uri) => {
      const route = (await catalogue.resolve('resource', uri, LOCAL)) as Route
      return catalogue.watch?.(route, (changed) => updates.push(changed))
    }),
  )
  tellers.get('a memo://today')?.('memo://today')
  tellers.get('b memo://today')?.('memo://today')
  // Below what is watched: listed by nobody, and one address is another peer's.
  tellers.get('a memo://today')?.('memo://today/noon')
  tellers.get('b memo://today')?.('memo://today/noon')
  expect(updates).toEqual([
    'memo://today',
    'comity://b/memo%3A%2F%2Ftoday',
    'memo://today/noon',
    'comity://b/memo%3A%2F%2Ftoday%2Fnoon',
  ])
  for (const stop of stops) stop?.()
  expect(tellers.size).toBe(0)
  const mute = await catalogue.resolve('resource', 'comity://mute/memo%3A%2F%2Ftoday', LOCAL)
  expect(catalogue.watch?.(mute as Route, () => undefined)).toBeUndefined()
  catalogue.close()
})

test('a principal is told of lists that it sees changed, and of no others', async () => {
  const hidden = scriptedPeer('hidden', { capabilities: [], leftOut: [] })
  const shown = scriptedPeer('shown', { capabilities: [], leftOut: [] })
  const catalogue = open([hidden, shown], {
    visible: (route, { id }) => id !== 'guest' || route.peer === 'shown',
  })
  await catalogue.view(60_000)
  const told: string[] = []
  catalogue.onChanged((kind) => told.push(`guest ${kind}`), GUEST)
  catalogue.onChanged((kind) => told.push(`local ${kind}`), LOCAL)
  const stop = catalogue.onChanged((kind) => told.push(`stopped ${kind}`), GUEST)
  stop()
  hidden.offer({ capabilities: [capabilityOf('hidden', 'tool', 'go')], leftOut: [] })
  await expect.poll(() => told).toEqual(['local tool'])
  shown.offer({ capabilities: [capabilityOf('shown', 'prompt', 'greet')], leftOut: [] })
  await expect.poll(() => told).toHaveLength(3)
  expect(told.slice(1).sort()).toEqual(['guest prompt', 'local prompt'])
  catalogue.close()
})

test('a list stands no longer than the shortest-lived part of it', async () => {
  const brief = scriptedPeer('brief', { capabilities: [], leftOut: [], freshForMs: 5_000 })
  const told = scriptedPeer('told', { capabilities: [], leftOut: [] })
  const down = scriptedPeer('down', new Error('gone'))
  const both = open([brief, told])
  const { ttlMs } = await both.list('tool', LOCAL)
  expect(ttlMs).toBeGreaterThan(0)
  expect(ttlMs).toBeLessThanOrEqual(5_000)
  const standing = open([told])
  expect((await standing.list('tool', LOCAL)).ttlMs).toBe(60_000)
  const broken = open([told, down])
  expect((await broken.list('tool', LOCAL)).ttlMs).toBe(0)
  for (const catalogue of [both, standing, broken]) catalogue.close()
})

import { afterEach, expect, test, vi } from 'vitest'
import type { Peer, PeerListing } from '../../core/ports/peer.ts'
import { ComityError } from '../../core/words/errors.ts'
import { type ScriptedPeer, capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'
import { type Sight, type Slots, openSlots } from './slots.ts'

afterEach(() => {
  vi.useRealTimers()
})

const tools = (peer: string, ...names: string[]): PeerListing => ({
  capabilities: names.map((name) => capabilityOf(peer, 'tool', name)),
  leftOut: [],
})

const PATIENCE = { patienceMs: 1_000, firstMs: 15_000 }

/** Counts a peer's listings, and how many ran at once at most. */
function counted(peer: ScriptedPeer) {
  const counts = { begun: 0, running: 0, atOnce: 0 }
  const listing = async (): Promise<PeerListing> => {
    counts.begun += 1
    counts.running += 1
    counts.atOnce = Math.max(counts.atOnce, counts.running)
    try {
      return await peer.listing()
    } finally {
      counts.running -= 1
    }
  }
  return { counts, peer: { ...peer, listing } }
}

function open(peers: readonly Peer[], sight: Sight = () => Promise.resolve()): Slots {
  return openSlots(peers, PATIENCE, { sight, changed: () => undefined })
}

const namesOf = ({ all }: Slots): readonly (readonly string[])[] =>
  all.map(({ listing }) => (listing?.capabilities ?? []).map(({ name }) => name))

test('a change while a listing is under way is listed after it: the older never wins', async () => {
  const scripted = scriptedPeer('a', tools('a', 'first'))
  const { peer, counts } = counted(scripted)
  const slots = open([peer])
  await slots.settled(5_000)
  let answer: (listing: PeerListing) => void = () => undefined
  scripted.offer(new Promise((resolve) => (answer = resolve)))
  scripted.offer(tools('a', 'newest'))
  scripted.offer(tools('a', 'newest'))
  answer(tools('a', 'older'))
  await slots.settled(5_000)
  slots.close()
  expect(namesOf(slots)).toEqual([['newest']])
  expect(counts).toEqual({ begun: 3, running: 0, atOnce: 1 })
})

test('however often a failing peer says that it changed, one retry is due', async () => {
  vi.useFakeTimers()
  const scripted = scriptedPeer('a', new Error('down'))
  const { peer, counts } = counted(scripted)
  const slots = open([peer])
  await vi.advanceTimersByTimeAsync(0)
  for (let time = 0; time < 3; time += 1) {
    scripted.offer(new Error('still down'))
    await vi.advanceTimersByTimeAsync(0)
  }
  expect(counts.begun).toBe(4)
  // The longest pause there is: every chain of retries would show in it.
  await vi.advanceTimersByTimeAsync(60_000)
  const before = counts.begun
  await vi.advanceTimersByTimeAsync(60_000)
  slots.close()
  expect(counts.begun - before).toBeLessThanOrEqual(1)
})

test('a peer whose every listing makes it say that it changed is not asked without pause', async () => {
  vi.useFakeTimers()
  const scripted = scriptedPeer('a', new Error('down'))
  let begun = 0
  const slots = open([
    {
      ...scripted,
      async listing() {
        begun += 1
        await Promise.resolve()
        scripted.offer(new Error('reconnected, then down'))
        throw new Error('down')
      },
    },
  ])
  await vi.advanceTimersByTimeAsync(1_000)
  slots.close()
  expect(begun).toBe(1)
})

test('a retry that hangs keeps nobody waiting; the first listing does', async () => {
  vi.useFakeTimers()
  const flapping = scriptedPeer('flapping', new Error('down'))
  const slots = open([flapping, scriptedPeer('docs', tools('docs', 'go'))])
  await vi.advanceTimersByTimeAsync(0)
  flapping.offer(new Promise(() => undefined))
  let waited = false
  const all = Promise.all([slots.patient(), slots.settledOnce(15_000), slots.settled(15_000)])
  void all.then(() => (waited = true))
  await vi.advanceTimersByTimeAsync(0)
  slots.close()
  expect(waited).toBe(true)
  expect(slots.all.map(({ error }) => error)).toEqual(['down', undefined])
})

test('operators wait for the new listing of a peer that stood, callers do not', async () => {
  vi.useFakeTimers()
  const scripted = scriptedPeer('a', tools('a', 'old'))
  const slots = open([scripted])
  await vi.advanceTimersByTimeAsync(0)
  let answer: (listing: PeerListing) => void = () => undefined
  scripted.offer(new Promise((resolve) => (answer = resolve)))
  const told: string[] = []
  const callers = Promise.all([slots.patient(), slots.settledOnce(15_000)])
  void callers.then(() => told.push('callers'))
  void slots.settled(15_000).then(() => told.push('operators'))
  await vi.advanceTimersByTimeAsync(0)
  expect(told).toEqual(['callers'])
  answer(tools('a', 'new'))
  await vi.advanceTimersByTimeAsync(0)
  slots.close()
  expect(told).toEqual(['callers', 'operators'])
  expect(namesOf(slots)).toEqual([['new']])
})

test('a record that refuses first sights hides what has effects, not what reads, and only as long', async () => {
  vi.useFakeTimers()
  const read = { ...capabilityOf('a', 'tool', 'search'), hints: { readOnly: true } }
  const listing = {
    capabilities: [
      read,
      capabilityOf('a', 'tool', 'known'),
      capabilityOf('a', 'tool', 'send'),
      capabilityOf('a', 'resource', 'file:///a'),
    ],
    leftOut: [],
  }
  let full = true
  const slots = open([scriptedPeer('a', listing)], (_peer, { name }) =>
    full && name !== 'known'
      ? Promise.reject(new ComityError('store_unwritable', 'the disk is full'))
      : Promise.resolve(),
  )
  await vi.advanceTimersByTimeAsync(0)
  expect(namesOf(slots)).toEqual([['search', 'known', 'file:///a']])
  expect(slots.all[0]).toMatchObject({
    done: true,
    listing: {
      leftOut: [
        {
          peer: 'a',
          kind: 'tool',
          name: 'send',
          reason: 'its definition could not be recorded: the disk is full',
        },
      ],
    },
  })
  expect(slots.all[0]?.error).toBeUndefined()
  full = false
  await vi.advanceTimersByTimeAsync(2_000)
  slots.close()
  expect(namesOf(slots)).toEqual([['search', 'known', 'send', 'file:///a']])
  expect(slots.all[0]?.listing?.leftOut).toEqual([])
})

test('what may not be pinned at all is left out, reading or not, and not asked for again', async () => {
  vi.useFakeTimers()
  const { peer, counts } = counted(
    scriptedPeer('a', {
      capabilities: [
        capabilityOf('a', 'resource', 'file:///a'),
        capabilityOf('a', 'resource', 'file:///b'),
      ],
      leftOut: [],
    }),
  )
  const slots = open([peer], (_peer, { name }) =>
    name === 'file:///b'
      ? Promise.reject(new ComityError('not_allowed', 'too many'))
      : Promise.resolve(),
  )
  await vi.advanceTimersByTimeAsync(60_000)
  slots.close()
  expect(namesOf(slots)).toEqual([['file:///a']])
  expect(counts.begun).toBe(1)
})

test('a listing past its time is made anew for whoever lists, who is not kept waiting; the same again is no news', async () => {
  vi.useFakeTimers()
  const scripted = scriptedPeer('a', { ...tools('a', 'go'), freshForMs: 1_000 })
  const { peer, counts } = counted(scripted)
  let news = 0
  const slots = openSlots([peer], PATIENCE, {
    sight: () => Promise.resolve(),
    changed: () => (news += 1),
  })
  await vi.advanceTimersByTimeAsync(999)
  slots.renew()
  expect(counts.begun).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  slots.renew()
  slots.renew()
  await slots.patient()
  await vi.advanceTimersByTimeAsync(0)
  expect([counts.begun, news]).toEqual([2, 1])
  scripted.offer({ ...tools('a', 'went'), freshForMs: 1_000 })
  await vi.advanceTimersByTimeAsync(0)
  slots.close()
  expect([news, namesOf(slots)]).toEqual([2, [['went']]])
})

test('a peer that hangs while it starts is waited for once, not by everyone who asks', async () => {
  vi.useFakeTimers()
  const healthy = scriptedPeer('a', tools('a', 'one'))
  const hanging = scriptedPeer('b', new Promise<PeerListing>(() => undefined))
  const slots = open([healthy, hanging])
  await vi.advanceTimersByTimeAsync(0)
  const waited = async (): Promise<number> => {
    const since = performance.now()
    let over = false
    const patient = slots.patient().then(() => (over = true))
    while (!over) await vi.advanceTimersByTimeAsync(50)
    await patient
    return performance.now() - since
  }
  expect(await waited()).toBeGreaterThanOrEqual(1_000)
  expect(await waited()).toBeLessThan(100)
  slots.close()
  expect(namesOf(slots)).toEqual([['one'], []])
})

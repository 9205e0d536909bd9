/** Comity's own A2A client meets comity's own A2A door: one gateway delegating to another. */
import { afterAll, expect, test } from 'vitest'
import { openConnections } from '../../src/a2a/bindings/http.ts'
import { createA2aPeer } from '../../src/a2a/upstream/peer.ts'
import type { Peer } from '../../src/core/ports/peer.ts'
import type { Outcome } from '../../src/core/words/outcome.ts'
import { CLOCK, delegation, exchangeOf, NEVER, reduceNews } from '../a2a/calls.ts'
import { openDeskHouse } from './a2a-desk-house.ts'

const connections = openConnections()
afterAll(() => connections.close())

function peerOf(url: string): Peer {
  return createA2aPeer(
    { connections, clock: CLOCK },
    {
      name: 'desk',
      card: {
        url: `${url}/a2a/many/.well-known/agent-card.json`,
        headers: { authorization: 'Bearer alice' },
      },
      trusted: false,
      upstream: { follow: { pollMinMs: 20, pollMaxMs: 100 }, find: { pausesMs: [20] } },
    },
  )
}

async function send(peer: Peer, part: unknown): Promise<Outcome> {
  const exchange = exchangeOf()
  const json = JSON.stringify({ role: 'ROLE_USER', parts: [part] })
  return peer.upstream.call(await delegation(peer, { json }), exchange, exchange.dispatched)
}

test('a call is followed to its artifacts', async () => {
  const house = await openDeskHouse()
  const peer = peerOf(house.url)
  const outcome = await send(peer, { data: { skill: 'find', arguments: { query: 'x' } } })
  const handle = 'handle' in outcome ? outcome.handle : undefined
  if (handle === undefined) throw new Error(JSON.stringify(outcome))
  const { last, texts } = await reduceNews(peer.upstream.work!.follow(handle, undefined, NEVER))
  expect(last?.state).toBe('completed')
  expect(texts).toEqual({ result: 'found<data>' })
})

test('which skill is meant comes back as a question', async () => {
  const house = await openDeskHouse()
  const outcome = await send(peerOf(house.url), { text: 'retention' })
  expect(outcome).toMatchObject({ state: 'input_required', questions: [{ kind: 'text' }] })
})

test('a refusal before anything ran is a rejection, in the words of the other side', async () => {
  const house = await openDeskHouse()
  const outcome = await send(peerOf(house.url), { data: { skill: 'forbid' } })
  expect(outcome).toMatchObject({ state: 'rejected', text: expect.stringContaining('deny') })
})

test('what is unknown there is unknown here, of a task that can be asked about again', async () => {
  const house = await openDeskHouse()
  const peer = peerOf(house.url)
  const outcome = await send(peer, { data: { skill: 'lose' } })
  // It comes back at once, as it stood then.
  expect(['working', 'unknown']).toContain(outcome.state)
  const handle = 'handle' in outcome ? outcome.handle : undefined
  if (handle === undefined) throw new Error(JSON.stringify(outcome))
  const patience = AbortSignal.timeout(10_000)
  const { last } = await reduceNews(peer.upstream.work!.follow(handle, undefined, patience))
  expect(last).toMatchObject({
    state: 'unknown',
    because: 'peer_unclear',
    detail: expect.stringContaining('comity explain') as string,
    handle: { taskId: handle.taskId },
  })
  expect(patience.aborted).toBe(false)
  expect(house.received).toHaveLength(1)
})

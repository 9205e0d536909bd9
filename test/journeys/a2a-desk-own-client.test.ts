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

test('what is unknown there is not called failed or done here', async () => {
  const house = await openDeskHouse()
  const peer = peerOf(house.url)
  const outcome = await send(peer, { data: { skill: 'lose' } })
  const handle = 'handle' in outcome ? outcome.handle : undefined
  const patience = AbortSignal.timeout(500)
  const news =
    handle === undefined
      ? []
      : (await reduceNews(peer.upstream.work!.follow(handle, undefined, patience))).states
  const told = [outcome.state, ...news]
  expect(told.filter((state) => state !== 'unknown' && state !== 'working')).toEqual([])
  expect(house.received).toHaveLength(1)
})

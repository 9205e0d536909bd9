import { expect, test } from 'vitest'
import type { Peer } from '../../core/ports/peer.ts'
import { maskPeer } from './mask-peer.ts'

const SAID =
  'sent Bearer token-4711 with key-0815 to http://u:p%40ssw0rd@x/?key=a%20query or a query, p@ssw0rd'

/** A peer that repeats everything it was given. */
const talkative: Peer = {
  name: 'talkative',
  protocol: 'mcp',
  endpoint: 'e',
  trusted: true,
  upstream: {
    call: () => Promise.resolve({ state: 'unknown', because: 'sent_no_answer', detail: SAID }),
  },
  listing: () =>
    Promise.resolve({
      capabilities: [],
      leftOut: [{ peer: 'talkative', kind: 'tool', name: 't', reason: SAID }],
    }),
  report: () => ({ state: 'failed', transport: 'http', detail: SAID }),
  onChanged: () => () => undefined,
  close: () => Promise.resolve(),
}

const given = {
  env: { KEY: 'key-0815', MODE: 'on' },
  headers: { Authorization: 'Bearer token-4711' },
  url: 'http://u:p%40ssw0rd@x/?key=a%20query',
}

test('T12: reasons, details and errors hold no configured value, however it is written', async () => {
  const peer = maskPeer(talkative, given)
  const masked = 'sent *** with *** to http://u:***@x/?key=*** or ***, ***'
  expect(peer.report()).toEqual({ state: 'failed', transport: 'http', detail: masked })
  expect((await peer.listing()).leftOut).toEqual([
    { peer: 'talkative', kind: 'tool', name: 't', reason: masked },
  ])
  const call = {} as Parameters<Peer['upstream']['call']>[0]
  const exchange = {} as Parameters<Peer['upstream']['call']>[1]
  expect(await peer.upstream.call(call, exchange, () => undefined)).toMatchObject({
    state: 'unknown',
    detail: masked,
  })
  const failing = maskPeer(
    { ...talkative, listing: () => Promise.reject(new Error('no token-4711 here')) },
    given,
  )
  await expect(failing.listing()).rejects.toThrow(/^no \*\*\* here$/u)
})

test('it is asked and watched as before; why it cannot be asked is masked', async () => {
  const watched: string[] = []
  const peer = maskPeer(
    {
      ...talkative,
      query: () => Promise.reject(new Error('no token-4711 here')),
      watch: (uri, listener) => {
        listener(uri)
        return () => watched.push('stopped')
      },
    },
    given,
  )
  const query = {
    method: 'completion/complete',
    params: { bytes: new Uint8Array(), value: () => 0 },
  }
  await expect(peer.query!(query, AbortSignal.timeout(1000))).rejects.toThrow(/^no \*\*\* here$/u)
  peer.watch!('a://b', (uri) => watched.push(uri))()
  expect(watched).toEqual(['a://b', 'stopped'])
})

test('a peer without secrets is the peer itself', () => {
  expect(maskPeer(talkative, { url: 'http://x/mcp' })).toBe(talkative)
})

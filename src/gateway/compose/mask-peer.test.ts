import { describe, expect, test } from 'vitest'
import type { Migrating } from '../../core/ports/migration.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import { mcpNative } from '../../mcp/wire/native.ts'
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

describe("T12: an error in the peer's own words", () => {
  const failing = (error: string): Peer => ({
    ...talkative,
    upstream: {
      call(_call, _exchange, _dispatched, late) {
        const native = mcpNative(new TextEncoder().encode(error), '2025-11-25')
        const outcome: Outcome = {
          state: 'failed',
          origin: 'peer',
          ran: 'yes',
          code: 'peer_error',
          detail: `talkative answered: ${error}`,
          native,
        }
        late?.(outcome)
        return Promise.resolve(outcome)
      },
    },
  })
  const callOf = async (peer: Peer, late?: (outcome: Outcome) => void): Promise<Outcome> =>
    maskPeer(peer, given).upstream.call(
      {} as Parameters<Peer['upstream']['call']>[0],
      {} as Parameters<Peer['upstream']['call']>[1],
      () => undefined,
      late,
    )
  const nativeOf = (outcome: Outcome): unknown =>
    'native' in outcome ? outcome.native?.value() : undefined

  test('reaches its caller without what was configured, and the rest as it was', async () => {
    const error = '{"code":-32000,"message":"no Bearer token-4711","data":{"key":"key-0815","n":1}}'
    expect(nativeOf(await callOf(failing(error)))).toEqual({
      code: -32000,
      message: 'no ***',
      data: { key: '***', n: 1 },
    })
  })

  test('is masked when it comes late, too', async () => {
    const told: Outcome[] = []
    await callOf(failing('{"code":-32000,"message":"no token-4711"}'), (late) => told.push(late))
    expect(JSON.stringify(told)).not.toContain('4711')
    expect(told.map(nativeOf)).toEqual([{ code: -32000, message: 'no ***' }])
  })

  test('that is none any more without it is not shown', async () => {
    const peer = maskPeer(failing('{"code":-32000,"message":"m"}'), { env: { A: 'message' } })
    const outcome = await peer.upstream.call(
      {} as Parameters<Peer['upstream']['call']>[0],
      {} as Parameters<Peer['upstream']['call']>[1],
      () => undefined,
    )
    expect(outcome).toMatchObject({ state: 'failed', code: 'peer_error' })
    expect(nativeOf(outcome)).toBeUndefined()
  })
})

test('T12: what is said of a peer between two revisions holds none of it either, and decisions reach the peer', () => {
  const counts = { revision: '2025-11-25', share: 1, calls: 0, errors: 0, toolErrors: 0 }
  const difference = { kind: 'tool', name: 't', change: 'changed', lines: [SAID] } as const
  const move = { peer: 'talkative', endpoint: 'e', from: '2025-11-25', to: '2026-07-28', share: 1 }
  const decision = {
    ...move,
    decided: 'promoted',
    at: '2026-12-01T00:00:00.000Z',
    by: 'x',
  } as const
  const applied: unknown[] = []
  const migration: Migrating = {
    move,
    apply: (one) => applied.push(one),
    report: () => ({
      from: counts,
      to: { ...counts, revision: '2026-07-28' },
      suspended: SAID,
      unlisted: SAID,
      faults: 1,
      fellBack: 0,
      kept: 0,
      heldBack: 0,
      differences: [difference],
    }),
  }
  const masked = maskPeer({ ...talkative, migration, deprecated: () => [] }, given)
  expect(JSON.stringify(masked.migration?.report())).not.toMatch(/4711|0815|ssw0rd|query/u)
  expect(masked.migration?.move).toEqual(move)
  masked.migration?.apply(decision)
  expect(applied).toEqual([decision])
  expect(masked.deprecated?.()).toEqual([])
})

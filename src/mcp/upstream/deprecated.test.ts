/** Deprecated features are counted where they are used, and nowhere else. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { inlineServer, listenLegacy, makeCall, openPeer } from '../../../test/mcp/upstream-peer.ts'
import { serveHttp } from '../../testkit/conforming-peer/http.ts'
import type { DeprecatedUse } from '../../core/ports/migration.ts'

const shown = (uses: readonly DeprecatedUse[]): readonly unknown[] =>
  uses.map(({ feature, count, where }) => [feature, count, where])

const CAN = { form: true, url: true, sampling: true, roots: true }

async function conforming(era: 'modern' | 'legacy'): Promise<ReturnType<typeof openPeer>> {
  const served = await serveHttp(0, era)
  onTestFinished(() => served.close())
  const revision = era === 'modern' ? '2026-07-28' : '2025-11-25'
  return openPeer({ transport: 'http', url: served.url, headers: {} }, { revision })
}

describe('what a server was seen to use', () => {
  test('nothing, although it declares logging and offers tools that would ask', async () => {
    const peer = await conforming('modern')
    await peer.listing()
    await makeCall(peer, 'test_simple_text')
    expect(peer.declared()).toMatchObject({ logging: {} })
    expect(peer.deprecated()).toEqual([])
  })

  test('a question to the model, in a result of 2026-07-28', async () => {
    const peer = await conforming('modern')
    await makeCall(peer, 'test_sampling', { prompt: 'Hi' }, { can: CAN })
    expect(shown(peer.deprecated())).toEqual([['sampling', 1, 'test_sampling']])
    expect(peer.deprecated()[0]).toMatchObject({
      state: 'deprecated',
      since: '2026-07-28',
      removal: 'not before the first revision from 2027-07-28 on',
    })
  })

  test('sessions, logs and a live question, on a session of 2025-11-25', async () => {
    const peer = await conforming('legacy')
    await makeCall(peer, 'test_tool_with_logging')
    await makeCall(peer, 'test_sampling', { prompt: 'Hi' }, { can: CAN })
    const uses = new Map(peer.deprecated().map(({ feature, count }) => [feature, count]))
    expect(uses.get('sessions (Mcp-Session-Id)')).toBe(2)
    expect(uses.get('sampling')).toBe(1)
    expect(uses.get('logging')).toBeGreaterThan(0)
  })

  test('error codes that went, and no session where a server keeps none', async () => {
    const url = await listenLegacy(({ method, id }, response) => {
      if (method !== 'tools/call') return false
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32042, message: 'no' } }))
      return true
    })
    const peer = openPeer({ transport: 'http', url, headers: {} })
    await makeCall(peer, 'pay')
    expect(shown(peer.deprecated())).toEqual([['error -32042 (an address to open)', 1, 'pay']])
  })

  test('a context of other servers, asked for with a question to the model', async () => {
    const peer = openPeer(
      inlineServer(`
        let call
        serve({
          'server/discover': (m) => refuse(m, -32601),
          initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'i', version: '1' } }),
          'tools/call': (m) => { call = m; send({ id: 'q', method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 5, includeContext: 'allServers' } }) },
          '*': (m) => m.id === 'q' && answer(call, { content: [] }),
        })`),
    )
    await makeCall(peer, 'pay', {}, { can: CAN })
    expect(shown(peer.deprecated())).toEqual([
      ['sampling', 1, 'pay'],
      ['sampling with includeContext', 1, 'pay'],
    ])
  })
})

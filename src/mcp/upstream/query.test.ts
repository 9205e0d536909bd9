import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  inlineServer,
  listen,
  openPeer,
  reply,
  type Message,
  type Server,
} from '../../../test/mcp/upstream-peer.ts'
import type { PeerQuery } from '../../core/ports/peer.ts'
import { serveHttp } from '../../testkit/conforming-peer/http.ts'
import { jsonText } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'

const SKILLS = 'io.modelcontextprotocol/skills'

const query = (method: string, params: unknown, name?: string): PeerQuery => ({
  method,
  params: jsonText(encodeJson(params)),
  ...(name === undefined ? {} : { name }),
})
const soon = (): AbortSignal => AbortSignal.timeout(10_000)

async function conformingPeer(transport: string, era: 'modern' | 'legacy'): Promise<Server> {
  if (transport === 'HTTP') {
    const { url, close } = await serveHttp(0, era)
    onTestFinished(close)
    return { transport: 'http', url, headers: {} }
  }
  const main = fileURLToPath(new URL('../../testkit/conforming-peer/main.ts', import.meta.url))
  const args = [main, '--stdio', '--era', era]
  return { transport: 'stdio', command: process.execPath, args, env: {} }
}

describe.each([
  ['HTTP', 'modern', '2026-07-28'],
  ['HTTP', 'legacy', '2025-11-25'],
  ['stdio', 'modern', '2026-07-28'],
  ['stdio', 'legacy', '2025-11-25'],
] as const)('a conforming peer over %s, %s', (transport, era, revision) => {
  test('completes; what it says of a bad reference is its own error', async () => {
    const peer = openPeer(await conformingPeer(transport, era))
    const ref = { type: 'ref/resource', uri: 'test://template/{id}/data' }
    const completed = await peer.query(
      query('completion/complete', { ref, argument: { name: 'id', value: '12' } }),
      soon(),
    )
    expect(completed).toMatchObject({ kind: 'result', native: { protocol: 'mcp', revision } })
    expect(completed.native.value()).toMatchObject({ completion: { values: ['123', '124'] } })
    const wrong = await peer.query(
      query('completion/complete', {
        ref: { type: 'ref/prompt', name: 'no such' },
        argument: { name: 'x', value: '' },
      }),
      soon(),
    )
    expect(wrong.kind).toBe('error')
    expect(wrong.native.value()).toMatchObject({ code: -32_602 })
  })
})

/** A modern server with skills; `onQuery` answers what is none of its own. */
async function skilled(
  extensions: object,
  answer: (message: Message) => object,
  seen: { message: Message; headers: Readonly<Record<string, unknown>> }[] = [],
): Promise<Server> {
  const url = await listen((request, response, body) => {
    const message = JSON.parse(body) as Message
    if (message.method === 'server/discover') {
      return reply(response, message, {
        result: {
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities: { extensions },
        },
      })
    }
    seen.push({ message, headers: request.headers })
    reply(response, message, answer(message))
  })
  return { transport: 'http', url, headers: {} }
}

test('skills are asked for with the extension declared, the name mirrored, foreign metadata kept', async () => {
  const seen: { message: Message; headers: Readonly<Record<string, unknown>> }[] = []
  const result = { resultType: 'complete', skills: [{ uri: 'skill://a', big: 1 }], ttlMs: 5 }
  const peer = openPeer(await skilled({ [SKILLS]: {} }, () => ({ result }), seen))
  const listed = await peer.query(
    query('skills/list', { cursor: '', _meta: { 'a.b/c': 1 } }),
    soon(),
  )
  expect(listed.native.value()).toEqual(result)
  await peer.query(query('skills/get', { uri: 'skill://ä' }, 'skill://ä'), soon())
  expect(seen.map(({ message }) => [message.method, message.params])).toEqual([
    [
      'skills/list',
      {
        cursor: '',
        _meta: {
          'a.b/c': 1,
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': { extensions: { [SKILLS]: {} } },
          'io.modelcontextprotocol/clientInfo': { name: 'comity-test', version: '0.0.0' },
        },
      },
    ],
    ['skills/get', expect.objectContaining({ uri: 'skill://ä' })],
  ])
  expect(seen[1]!.headers).toMatchObject({
    'mcp-method': 'skills/get',
    'mcp-name': '=?base64?c2tpbGw6Ly/DpA==?=',
  })
})

test.each([
  ['tools/call', /tools\/call is not passed on to servers/u],
  ['completion/complete', /does not declare completions/u],
  ['resources/directory/read', /does not declare the extension .*skills with directoryRead/u],
])('R033: %s of a server that does not declare it is not sent', async (method, why) => {
  const seen: { message: Message; headers: Readonly<Record<string, unknown>> }[] = []
  const peer = openPeer(await skilled({ [SKILLS]: {} }, () => ({ result: {} }), seen))
  await expect(peer.query(query(method, {}), soon())).rejects.toThrow(why)
  expect(seen).toEqual([])
})

test.each([
  ['no object', { result: 3 }],
  ['a question', { result: { resultType: 'input_required', requestState: 'x' } }],
  ['two readings', { result: { resultType: 3 } }],
])('an answer that is %s is none', async (_what, answer) => {
  const peer = openPeer(await skilled({ [SKILLS]: {} }, () => answer))
  await expect(peer.query(query('skills/list', {}), soon())).rejects.toThrow(
    /peer answered skills\/list with/u,
  )
})

test('whoever asked may leave before the server is reached', async () => {
  const peer = openPeer(inlineServer('setInterval(() => {}, 1000)'), { probeMs: 60_000 })
  const asked = peer.query(query('skills/list', {}), AbortSignal.timeout(100))
  await expect(asked).rejects.toThrow(/canceled/u)
})

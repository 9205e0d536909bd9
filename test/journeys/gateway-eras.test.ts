/**
 * What a gateway knows of its servers beyond one run and one principal: what they speak, what they are locked to, and
 * whose process answers.
 */
import { onTestFinished, expect, test } from 'vitest'
import { createHost, type CreatedHost } from '../../src/gateway/create-host.ts'
import { dig, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import { inlineServer, listenLegacy } from '../mcp/upstream-peer.ts'
import { createHome, type Home } from './comity-process.fixture.ts'

function createTestHome(config: Readonly<Record<string, unknown>>): Home {
  const home = createHome()
  home.configure({ names: 'as-is', store: `sqlite:${home.path('comity.db')}`, ...config })
  onTestFinished(home.remove)
  return home
}

async function open(home: Home): Promise<CreatedHost> {
  const host = await createHost({ config: home.config, environment: home.env })
  onTestFinished(() => host.close())
  return host
}

/** How `comity ls` shows one peer. */
async function shown(host: CreatedHost, name: string): Promise<unknown> {
  const live = { signal: new AbortController().signal, event: () => undefined }
  const { peers } = await host.operator.status({ waitMs: 20_000 }, live)
  return peers.find(({ peer }) => peer === name)
}

/** A stdio server in the form of a configuration. */
function stdio(source: string): object {
  const server = inlineServer(source)
  if (server.transport !== 'stdio') throw new Error('it is a stdio server')
  return { command: server.command, args: server.args }
}

test('a restarted gateway does not ask a server again what it speaks', async () => {
  const seen: string[] = []
  const url = await listenLegacy(({ method }) => {
    seen.push(method)
    return false
  })
  const home = createTestHome({ mcpServers: { old: { url } } })
  const first = await open(home)
  expect(await shown(first, 'old')).toMatchObject({ state: 'ready', revision: '2025-06-18' })
  await first.close()
  expect(seen.splice(0).slice(0, 2)).toEqual(['server/discover', 'initialize'])

  expect(await shown(await open(home), 'old')).toMatchObject({ state: 'ready' })
  expect(seen[0]).toBe('initialize')
  expect(seen).not.toContain('server/discover')
})

test('a server that drifts from its lock is not used, and `comity ls` says how it differs', async () => {
  const home = createTestHome({
    mcpServers: {
      locked: { url: await listenLegacy(() => false), capabilities: { tools: false } },
      newer: { url: await listenLegacy(() => false), revision: '2025-11-25' },
    },
  })
  const host = await open(home)
  expect(await shown(host, 'locked')).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining('tools (locked to false, the server declares it)'),
  })
  expect(await shown(host, 'newer')).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining(
      'locks `revision: 2025-11-25`, but the server answered 2025-06-18',
    ),
  })
})

test('two principals never share the state of a server; where it has none they share the process', async () => {
  const counter = `
    let count = 0
    serve({
      'server/discover': (m) => refuse(m, -32601),
      'tools/list': (m) => answer(m, { tools: [{ name: process.env.TOOL, inputSchema: { type: 'object' } }] }),
      'tools/call': (m) => answer(m, { content: [{ type: 'text', text: String(count += 1) }] }),
    })`
  const home = createTestHome({
    mcpServers: {
      own: { ...stdio(counter), env: { TOOL: 'count_own' } },
      shared: { ...stdio(counter), env: { TOOL: 'count_all' }, stateless: true },
    },
    tokens: { alice: { token: 'token-of-alice' }, bob: { token: 'token-of-bob' } },
  })
  const host = await open(home)
  const url = `${await host.serve({ port: 0 })}/mcp`
  const call = async (who: string, name: string): Promise<unknown> => {
    const headers = { authorization: `Bearer token-of-${who}` }
    const { body } = await postModern(url, 'tools/call', { name, arguments: {} }, { headers })
    return dig(body, 'result', 'content', 0, 'text')
  }
  const own = [await call('alice', 'count_own'), await call('bob', 'count_own')]
  expect([...own, await call('alice', 'count_own')]).toEqual(['1', '1', '2'])
  const shared = [await call('alice', 'count_all'), await call('bob', 'count_all')]
  expect(shared).toEqual(['1', '2'])
})

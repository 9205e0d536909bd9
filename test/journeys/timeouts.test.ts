/** What the operator lets a call take at one server: how it ends, what the server is told, and what becomes of its late answer. */
import { existsSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { createHost } from '../../src/gateway/create-host.ts'
import { inlineServer } from '../mcp/upstream-peer.ts'
import { createHome, until } from './comity-process.fixture.ts'

/** Silent until it is canceled; then it answers all the same. */
const SILENT = `
  let open
  serve({
    'server/discover': (m) => refuse(m, -32601),
    'tools/call': (m) => { open = m },
    'notifications/cancelled': () => {
      writeFileSync(process.env.TOLD, '')
      answer(open, { content: [{ type: 'text', text: 'paid after all' }] })
    },
  })
`

test('a call that passes the time of its server is unknown, canceled there, and its late answer is on record', async () => {
  const home = createHome()
  onTestFinished(home.remove)
  const peer = (name: string, timeouts: object): object => {
    const server = inlineServer(SILENT, { TOLD: home.path(`${name}.told`) })
    return { ...server, transport: 'stdio', timeouts }
  }
  home.configure({
    mcpServers: { idle: peer('idle', { idle: '1s' }), whole: peer('whole', { call: '1s' }) },
    store: `sqlite:${home.path('comity.db')}`,
  })
  const host = await createHost({ config: home.config, environment: home.env })
  onTestFinished(() => host.close())
  const live = { signal: new AbortController().signal, event: () => undefined }

  for (const [name, words] of [
    ['idle', 'no sign of life for 1 s'],
    ['whole', 'did not answer within 1 s'],
  ] as const) {
    const { callId, outcome } = await host.operator.call(
      { target: `${name}/pay`, argumentsText: '{}' },
      live,
    )
    expect(outcome).toMatchObject({
      state: 'unknown',
      ran: 'unknown',
      detail: expect.stringContaining(words) as string,
    })
    await until('the server was told', () => existsSync(home.path(`${name}.told`)) || undefined)
    const late = await until('its late answer is on record', async () => {
      const { entries } = await host.operator.explain({ id: callId }, live)
      return entries.find(({ kind }) => kind === 'late_news')
    })
    expect(late.facts).toMatchObject({ state: 'completed' })
  }
}, 60_000)

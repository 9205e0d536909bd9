/** Two revisions of a server compared through a whole host: what is replayed, by what rules, and what is on record of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { reply, type Message } from '../../../test/mcp/upstream-peer.ts'
import { serveHttp } from '../../testkit/conforming-peer/http.ts'
import { createHost, type CreatedHost } from '../create-host.ts'
import { NEWER, serveTwoFaced, STABLE, type TwoFaced } from './two-revisions.fixture.ts'
import type { CompatInput, CompatReport } from './words.ts'

const LIVE = { signal: new AbortController().signal, event: () => undefined }

async function open(config: Readonly<Record<string, unknown>>): Promise<CreatedHost> {
  const folder = mkdtempSync(join(tmpdir(), 'comity-compat-'))
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, JSON.stringify({ store: `sqlite:${join(folder, 'comity.db')}`, ...config }))
  const environment = { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder }
  const host = await createHost({ config: file, environment })
  onTestFinished(async () => {
    await host.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return host
}

async function call(host: CreatedHost, target: string, args: object = {}): Promise<string> {
  const argumentsText = JSON.stringify(args)
  return (await host.operator.call({ target, argumentsText }, LIVE)).outcome.state
}

const compat = (host: CreatedHost, input: Omit<CompatInput, 'peer'> = {}): Promise<CompatReport> =>
  host.operator.compat({ peer: 'docs', ...input }, LIVE)

const reads = (name: string, more: object = {}): object => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  ...more,
})

/** Answers calls of the tools by name: a result, or an error. */
function answering(
  tools: Readonly<Record<string, (face: string, args: unknown) => object>>,
): NonNullable<TwoFaced['handle']> {
  return (face, message: Message, response) => {
    const { name, arguments: args } = message.params ?? {}
    const tool = message.method === 'tools/call' ? tools[String(name)] : undefined
    if (tool === undefined) return false
    const answer = tool(face, args)
    const extra = face === 'newer' ? { resultType: 'complete' } : {}
    reply(response, message, 'error' in answer ? answer : { result: { ...extra, ...answer } })
    return true
  }
}

const said = (text: string, more: object = {}): object => ({
  content: [{ type: 'text', text }],
  ...more,
})

test('R186: a server that does the same on both is the same; what counts and what acts does not mislead', async () => {
  let count = 0
  const tools = [reads('look'), { name: 'pay', inputSchema: { type: 'object' } }]
  const { url, seen } = await serveTwoFaced({
    tools: { stable: tools, newer: tools },
    handle: answering({
      look: () => said('found', { structuredContent: { found: [1, 2], request: (count += 1) } }),
    }),
  })
  const host = await open({ mcpServers: { docs: { url, revision: STABLE } } })
  await call(host, 'docs/look', { for: 'a' })
  await call(host, 'docs/look', { for: 'a' })
  await call(host, 'docs/look', { for: 'b' })
  await call(host, 'docs/look', { for: 'x'.repeat(5_000) })
  await call(host, 'docs/pay')
  const paid = seen.filter((one) => one.endsWith('tools/call')).length

  const report = await compat(host)
  expect(report).toMatchObject({
    verdict: 'same',
    from: { revision: STABLE, callsItself: 'two-faced 1' },
    to: { revision: NEWER },
    claims: [],
    offers: { same: 2, different: [] },
    calls: {
      found: 2,
      replayed: 2,
      same: 2,
      different: [],
      unsteady: 2,
      left: [{ reason: expect.stringContaining('above 4 KiB'), count: 1 }],
    },
  })
  expect(report.from.medianMs).toBeGreaterThan(0)
  // Twice on the older and once on the newer, each of the two; nothing that acts.
  expect(seen.filter((one) => one.endsWith('tools/call')).length - paid).toBe(6)
  expect(report.deprecated.map(({ feature }) => feature)).toEqual(['sessions (Mcp-Session-Id)'])

  const { entries } = await host.operator.ledger({ limit: 100 }, LIVE)
  const doors = entries.flatMap(({ kind, facts }) => (kind === 'opened' ? [facts['door']] : []))
  expect(doors.filter((door) => door === `compat ${STABLE}`)).toHaveLength(4)
  expect(doors.filter((door) => door === `compat ${NEWER}`)).toHaveLength(2)
  // What was replayed is not replayed again.
  expect((await compat(host, { calls: 1 })).calls).toMatchObject({ found: 1, replayed: 1 })
})

test('every kind of difference is told at its place: claims, lists, results, errors', async () => {
  const { url } = await serveTwoFaced({
    tools: {
      stable: [reads('text'), reads('fails'), reads('gone'), reads('words')],
      newer: [reads('text'), reads('fails'), reads('words', { description: 'Other words' })],
    },
    handle: answering({
      text: (face) =>
        said(face === 'newer' ? 'new' : 'old', { structuredContent: { a: { b: face } } }),
      fails: (face) => (face === 'newer' ? { error: { code: -32603, message: 'no' } } : said('ok')),
      words: () => said('words'),
      gone: () => said('still here'),
    }),
  })
  const host = await open({
    mcpServers: { docs: { url, canary: { revision: NEWER, share: '0%' } } },
  })
  for (const tool of ['text', 'fails', 'gone', 'words']) await call(host, `docs/${tool}`)
  const report = await compat(host)
  expect(report.verdict).toBe('different')
  expect(report.offers.different).toMatchObject([
    { kind: 'tool', name: 'gone', change: 'missing' },
    { kind: 'tool', name: 'words', change: 'changed' },
  ])
  const shown = report.calls.different.map(({ capability, from, to, places }) => [
    capability,
    from,
    to,
    places,
  ])
  expect(shown).toEqual([
    ['fails', 'completed', expect.stringContaining('failed with error -32603'), []],
    ['text', 'completed', 'completed', ['/content/0/text', '/structuredContent/a/b']],
  ])
  expect(report.calls).toMatchObject({ found: 4, replayed: 2, same: 0 })
  expect(report.calls.left).toEqual([{ reason: `what it calls differs (on ${NEWER})`, count: 2 }])
  const id = report.calls.different[0]?.callIds.to ?? ''
  const { call: recorded } = await host.operator.explain({ id }, LIVE)
  expect(recorded).toMatchObject({ facts: { door: `compat ${NEWER}` }, sideEffect: false })
})

test('what a rule holds back now is not replayed', async () => {
  const tools = [reads('open'), reads('asked'), reads('graver')]
  const { url } = await serveTwoFaced({
    tools: { stable: tools, newer: tools },
    handle: answering({ open: () => said('open') }),
  })
  const folder = mkdtempSync(join(tmpdir(), 'comity-compat-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${join(folder, 'comity.db')}`
  const mcpServers = { docs: { url, revision: STABLE } }
  const first = await open({ store, mcpServers })
  for (const tool of ['open', 'asked', 'graver']) await call(first, `docs/${tool}`)
  await first.close()
  const rules = [
    { match: 'docs/asked', effect: 'ask' },
    { match: 'docs/graver', risk: 'write' },
  ]
  const { calls } = await compat(await open({ store, mcpServers, policy: { rules } }))
  expect(calls).toMatchObject({ found: 3, replayed: 1, same: 1 })
  expect(calls.left).toEqual([
    { reason: 'it is classed as write now', count: 1 },
    { reason: expect.stringMatching(/^a rule says ask/), count: 1 },
  ])
})

test('a whole server of both revisions: every list and every kind of read', async () => {
  const served = await serveHttp(0, 'dual')
  onTestFinished(() => served.close())
  const host = await open({ mcpServers: { docs: { url: served.url } } })
  for (const uri of ['test://static-text', 'test://template/7/data'])
    await host.operator.read({ target: uri }, LIVE)
  await host.operator.read({ target: 'test://template/none' }, LIVE).catch(() => undefined)
  await host.operator.prompt({ target: 'docs/test_simple_prompt', arguments: {} }, LIVE)
  const report = await compat(host)
  expect(report).toMatchObject({
    verdict: 'same',
    claims: [],
    calls: { found: 3, replayed: 3, same: 3 },
  })
  expect(report.offers.same).toBeGreaterThan(40)
})

test('a revision that the server does not speak cannot be compared: nothing is called', async () => {
  const served = await serveHttp(0, 'legacy')
  onTestFinished(() => served.close())
  const host = await open({ mcpServers: { docs: { url: served.url } } })
  await host.operator.read({ target: 'test://static-text' }, LIVE)
  expect(await compat(host)).toMatchObject({
    verdict: 'could_not',
    to: { problem: expect.stringContaining('the server does not speak it') },
    calls: { found: 1, replayed: 0 },
  })
})

test('names and revisions that are none are said', async () => {
  const { url } = await serveTwoFaced({})
  const host = await open({
    mcpServers: { docs: { url } },
    agents: { desk: { card: 'http://127.0.0.1:9/card.json' } },
  })
  await expect(compat(host, { from: NEWER })).rejects.toThrow(/two revisions to compare/)
  await expect(compat(host, { from: '2023-01-01' })).rejects.toThrow(/one of 2026-07-28/)
  const ask = (peer: string): Promise<unknown> => host.operator.compat({ peer }, LIVE)
  await expect(ask('desk')).rejects.toThrow(/is an agent/)
  await expect(ask('nobody')).rejects.toThrow(/configured: docs/)
  await expect(host.operator.promote({ peer: 'docs' }, LIVE)).rejects.toThrow(/no canary:/)
})

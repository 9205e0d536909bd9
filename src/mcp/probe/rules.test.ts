/** Each rule: a server that breaks nothing else breaks it and is told so; one that breaks none is told nothing. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inlineServer, type Message } from '../../../test/mcp/upstream-peer.ts'
import { LEGACY, MODERN } from './http-cases.fixture.ts'
import type { ProbeTarget } from './probe-server.ts'
import { RULES, type RuleId } from './rules.ts'
import { brokenRules, runProbe } from './run-probe.fixture.ts'
import { Refusal, serveSound, SOUND_TOOLS, type Params } from './sound-server.fixture.ts'
import { ALSO, modernLines, soundLines, STDIO } from './stdio-cases.fixture.ts'

describe('a server that breaks nothing', () => {
  test.each(['modern', 'dual', 'legacy'] as const)('over HTTP: %s', async (era) => {
    const report = await runProbe(await serveSound({ era }))
    const advice = era === 'legacy' ? ['era.sessions-only'] : []
    expect(brokenRules(report)).toEqual(advice)
    expect(report.reached).toBe(true)
  })

  test('over standard streams', async () => {
    expect(brokenRules(await runProbe(linesOf(soundLines())))).toEqual(['era.sessions-only'])
    expect(brokenRules(await runProbe(linesOf(modernLines())))).toEqual([])
  })
})

describe.each([
  { era: 'modern' as const, cases: MODERN, always: [] },
  { era: 'legacy' as const, cases: LEGACY, always: ['era.sessions-only'] },
])('broken over HTTP in the $era era', ({ era, cases, always }) => {
  test.each(Object.entries(cases))('%s', async (rule, { server, also = [] }) => {
    const report = await runProbe(await serveSound({ era, ...server }))
    expect(brokenRules(report)).toEqual([rule, ...also, ...always].toSorted())
  })
})

describe('broken on standard streams', () => {
  test.each(Object.entries(STDIO))('%s', async (rule, source) => {
    const report = await runProbe(linesOf(source), { maxBytes: 1024 * 1024 })
    const also = ALSO[rule as RuleId] ?? []
    expect(brokenRules(report)).toEqual([rule, ...also, 'era.sessions-only'].toSorted())
  })
})

test('list.order: the same page in another order', async () => {
  let asked = 0
  const list = () => ({ tools: (asked += 1) % 2 === 1 ? SOUND_TOOLS : SOUND_TOOLS.toReversed() })
  const methods = {
    'tools/list': ({ cursor }: Params) => (cursor === undefined ? list() : new Refusal(-32602)),
  }
  const report = await runProbe(await serveSound({ era: 'modern', methods }))
  expect(brokenRules(report)).toEqual(['list.order'])
})

test('version.carried: a process that looks at the revision of its first request alone', async () => {
  expect(brokenRules(await runProbe(linesOf(modernLines('first'))))).toEqual(['version.carried'])
})

test('deprecated.http-sse: a server of 2024-11-05 is found, listed and told so', async () => {
  const report = await runProbe(await serveSse())
  expect(brokenRules(report)).toEqual(['deprecated.http-sse', 'era.sessions-only'])
  const spoken = report.revisions.filter((one) => one.spoken)
  expect(spoken).toEqual([
    { revision: '2024-11-05', transport: 'http+sse', by: 'initialize', spoken: true },
  ])
  expect(report.lists.map(({ method, items }) => ({ method, items }))).toEqual([
    { method: 'tools/list', items: 1 },
  ])
})

test('every rule has a server here that breaks it; those of logins have theirs beside what learns of them', () => {
  const here = [MODERN, LEGACY, STDIO].flatMap((cases) => Object.keys(cases))
  const others = ['list.order', 'version.carried', 'era.sessions-only', 'deprecated.http-sse']
  const rules = Object.keys(RULES).filter(
    (rule) => !rule.startsWith('auth.') && rule !== 'deprecated.registration',
  )
  expect([...here, ...others].toSorted()).toEqual(rules.toSorted())
})

function linesOf(source: string): ProbeTarget {
  return inlineServer(source) as ProbeTarget
}

/** A server of 2024-11-05: a stream that says where to post, and nothing else. */
async function serveSse(): Promise<string> {
  let stream: ServerResponse | undefined
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      stream = response
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: endpoint\ndata: /messages\n\n')
      return
    }
    if (request.url !== '/messages') return void response.writeHead(405).end()
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.writeHead(202).end()
      const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Message
      if (message.id === undefined) return
      const answer = answerSse(message)
      stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer })}\n\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`
}

function answerSse({ method, params }: Message): object {
  if (method === 'initialize') {
    const serverInfo = { name: 'old', version: '1' }
    return { result: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo } }
  }
  if (method === 'tools/list' && params?.['cursor'] === undefined) {
    const inputSchema = { type: 'object' }
    return { result: { tools: [{ name: 'pay', description: 'Pays.', inputSchema }] } }
  }
  const code = method.startsWith('tools/') ? -32602 : -32601
  return { error: { code, message: 'no' } }
}

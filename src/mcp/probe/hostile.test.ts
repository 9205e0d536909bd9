/** Servers that hang, flood, loop or lead elsewhere: the probe ends in its time, within its bytes, and says what it saw. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inlineServer, listen } from '../../../test/mcp/upstream-peer.ts'
import type { ProbeTarget } from './probe-server.ts'
import { brokenRules, runProbe } from './run-probe.fixture.ts'
import { serveSound, SOUND_TOOLS } from './sound-server.fixture.ts'
import { soundLines } from './stdio-cases.fixture.ts'

const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
  const since = performance.now()
  const done = await work
  expect(performance.now() - since).toBeLessThan(ms)
  return done
}

test('a server that takes every request and answers none is not reached, in time', async () => {
  const url = await listen(() => undefined)
  const report = await within(10_000, runProbe(url, { wholeMs: 3_000, requestMs: 1_000 }))
  expect(report.reached).toBe(false)
  expect(report.unreachable).toContain('no answer within')
  expect(report.findings).toEqual([])
})

test('one that falls silent in the middle is not held to what it had no time to answer', async () => {
  const silent = /list$|call$/
  const url = await serveSound({ era: 'modern' })
  const proxy = await listen((request, response, body) => {
    const { method } = JSON.parse(body === '' ? '{}' : body) as { method?: string }
    if (method !== undefined && silent.test(method)) return
    void fetch(url, {
      method: request.method ?? 'POST',
      headers: Object.fromEntries(
        Object.entries(request.headers).filter(([name]) =>
          /^(?:mcp-|content-type|accept)/.test(name),
        ),
      ) as Record<string, string>,
      ...(body === '' ? {} : { body }),
    }).then(async (answer) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(await answer.text())
    })
  })
  const report = await within(10_000, runProbe(proxy, { wholeMs: 3_000, requestMs: 2_000 }))
  expect(report.reached).toBe(true)
  expect(brokenRules(report)).toEqual(['list.shape'])
  expect(report.skipped.join()).toContain('time was used up')
})

test('an answer without end is cut at the bound of bytes', async () => {
  const url = await listen((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (response.write('x'.repeat(64 * 1024))) if (response.destroyed) return
    }
    response.on('drain', more)
    more()
  })
  const report = await within(20_000, runProbe(url, { maxBytes: 256 * 1024, wholeMs: 10_000 }))
  expect(report.reached).toBe(false)
  expect(report.unreachable).toContain('larger than')
})

test('an event stream without an answer ends with its bytes or its time', async () => {
  const url = await listen((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n`
    const timer = setInterval(() => response.write(event.repeat(500)), 1)
    response.on('close', () => clearInterval(timer))
  })
  const report = await within(20_000, runProbe(url, { maxBytes: 256 * 1024, wholeMs: 8_000 }))
  expect(report.reached).toBe(false)
})

test('a list without end is read to its bound, and said to be not whole', async () => {
  let page = 0
  const methods = {
    'tools/list': () => ({
      tools: [{ ...SOUND_TOOLS[0], name: `tool_${(page += 1)}` }],
      nextCursor: String(page),
    }),
  }
  const report = await runProbe(await serveSound({ era: 'modern', methods }))
  expect(report.lists[0]).toMatchObject({ pages: 50, items: 50, incomplete: 'more than 50 pages' })
})

test.each([
  { variant: 'that never moves', cursors: ['3'] },
  { variant: 'that goes in a circle', cursors: ['a', 'b'] },
])(
  'C15: a cursor $variant is told, and what it brought again is not counted again',
  async ({ cursors }) => {
    let asked = 0
    const tools = ['t0', 't1', 't2'].map((name) => ({ ...SOUND_TOOLS[0], name }))
    const methods = {
      'tools/list': () => ({ tools, nextCursor: cursors[(asked += 1) % cursors.length] }),
    }
    const report = await runProbe(await serveSound({ era: 'modern', methods }))
    expect(report.lists[0]).toMatchObject({ items: 3, incomplete: 'its cursors do not move on' })
    expect(brokenRules(report)).toEqual(['list.cursor-ignored', 'list.cursor-invented'])
  },
)

test('C20: lines that are no messages are told, and answer nothing', async () => {
  const file = join(import.meta.dirname, '../../../test/cases/C20-framing-noise-on-stdout.json')
  const { given } = JSON.parse(readFileSync(file, 'utf8')) as { given: { stdout_lines: string[] } }
  const lines = given.stdout_lines
    .filter((line) => !line.startsWith('<'))
    .map((line) => `${line}\n`)
  const source = soundLines('', `raw(${JSON.stringify(lines.join(''))})`)
  const report = await runProbe(inlineServer(source) as ProbeTarget)
  expect(brokenRules(report)).toEqual(['era.sessions-only', 'stdio.noise'])
  expect(report.findings[0]).toMatchObject({ rule: 'stdio.noise', saw: lines[0]?.trim() })
  expect(report.lists[0]).toMatchObject({ items: 1 })
})

test('a thousand broken tools are not a thousand lines', async () => {
  const tools = Array.from({ length: 1_000 }, (_, index) => ({
    name: `bad name ${index}`,
    inputSchema: {},
  }))
  const report = await runProbe(await serveSound({ era: 'modern', tools, pageSize: 1_000 }))
  expect(report.findings.length).toBeLessThan(200)
  expect(report.more).toMatchObject({ 'tool.name-invalid': 950, 'tool.input-schema': 950 })
})

test("a server's long and hidden words are cut, and its deep schemas read", async () => {
  const deep = JSON.parse(`${'{"properties":{"a":'.repeat(200)}{}${'}}'.repeat(200)}`) as object
  const tools = [
    { name: 'x'.repeat(100_000), description: 'd', inputSchema: { type: 'object', ...deep } },
  ]
  const report = await runProbe(await serveSound({ era: 'modern', tools }))
  expect(
    Math.max(...report.findings.map(({ place = '', saw = '' }) => place.length + saw.length)),
  ).toBeLessThan(700)
  const strict = report.models.verdicts.find(({ api }) => api === 'openai-strict')
  expect(strict?.reasons.map(({ why }) => why)).toContain('200 levels of nesting; at most 10')
})

test('a redirect to another origin is told and not followed; one within it is', async () => {
  let came = 0
  const url = await serveSound({
    era: 'modern',
    change(answer, { path }) {
      came += 1
      return path === '/old' ? { status: 308, headers: { location: '/mcp' } } : answer
    },
  })
  const elsewhere = await listen(
    (_, response) => void response.writeHead(308, { location: url }).end(),
  )
  const refused = await runProbe(elsewhere)
  expect(refused.reached).toBe(false)
  expect(came).toBe(0)
  const moved = await runProbe(url.replace('/mcp', '/old'))
  expect(moved.reached).toBe(true)
  expect(brokenRules(moved)).toEqual([])
})

test.each([
  { status: 401, why: 'behind a login' },
  { status: 429, why: 'asked too often' },
])('lists answered with $status are no faults: they are $why', async ({ status, why }) => {
  const url = await serveSound({
    era: 'modern',
    change: (answer, { method }) =>
      method.endsWith('/list') ? { status, headers: { 'www-authenticate': 'Bearer' } } : answer,
  })
  const report = await runProbe(url)
  expect(report.reached).toBe(true)
  expect(report.findings).toEqual([])
  expect(report.skipped.join()).toContain(why)
})

test('capabilities without end are told by their names', async () => {
  const experimental = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [`feature-${index}`, { on: true }]),
  )
  const capabilities = { tools: {}, prompts: {}, resources: {}, experimental }
  const report = await runProbe(await serveSound({ era: 'modern', capabilities }))
  expect(JSON.stringify(report.capabilities).length).toBeLessThan(1_000)
  expect(Object.keys(report.capabilities)).toContain('experimental')
})

test('schemas that take long to judge end with their time, and the rest of the probe has its own', async () => {
  const part = {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`p${index}`, { type: 'string', minLength: 1 }]),
    ),
  }
  const tools = Array.from({ length: 500 }, (_, index) => ({
    name: `tool_${index}`,
    description: 'd',
    inputSchema: part,
  }))
  const report = await within(
    40_000,
    runProbe(await serveSound({ era: 'modern', tools, pageSize: 500 })),
  )
  expect(report.reached).toBe(true)
  expect(report.models.summary[0]?.takes).toBeGreaterThan(0)
})

test('nothing that acts is sent: the one tool that is called is nobody’s, and DELETE goes to no unknown server', async () => {
  const seen: string[] = []
  const url = await serveSound({
    era: 'dual',
    change(answer, { verb, method, params }) {
      seen.push([verb, method, params['name'] ?? params['uri'] ?? ''].join(' ').trim())
      return answer
    },
  })
  await runProbe(url)
  const calls = seen.filter((one) => /call|get|read/i.test(one.split(' ')[1] ?? ''))
  expect(new Set(calls.map((one) => one.split(' ')[2]))).toEqual(
    new Set(['comity_probe_no_such_tool', 'comity-probe://no-such-resource']),
  )
  const verbs: string[] = []
  const page = await listen((request, response) => {
    verbs.push(request.method ?? '')
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>')
  })
  expect((await runProbe(page)).reached).toBe(false)
  expect(new Set(verbs)).toEqual(new Set(['POST', 'GET']))
})

test('a command that is not there, one that ends at once and one that only talks are not reached, with their words', async () => {
  const absent: ProbeTarget = {
    transport: 'stdio',
    command: 'no-such-command-anywhere',
    args: [],
    env: {},
  }
  expect((await runProbe(absent)).unreachable).toContain('cannot start')
  const ends = inlineServer("console.error('no database'); process.exit(7)") as ProbeTarget
  const ended = await runProbe(ends)
  expect(ended.reached).toBe(false)
  expect(ended.unreachable).toContain('no database')
  const talks = inlineServer("setInterval(() => raw('tick\\n'), 1)") as ProbeTarget
  const talked = await within(
    20_000,
    runProbe(talks, { wholeMs: 4_000, startMs: 1_000, requestMs: 500 }),
  )
  expect(talked.reached).toBe(false)
})

test('a server of which two cannot run at once is never started beside itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
  try {
    const lock = join(folder, 'lock')
    const source = soundLines(
      '',
      "try { writeFileSync(process.env.LOCK, '', { flag: 'wx' }) } catch { process.exit(1) }\n" +
        "const { unlinkSync } = await import('node:fs'); process.on('exit', () => unlinkSync(process.env.LOCK))",
    )
    const report = await runProbe(inlineServer(source, { LOCK: lock }) as ProbeTarget)
    expect(report.revisions.map((one) => one.spoken)).toEqual([false, true, true, true, true])
    expect(brokenRules(report)).toEqual(['era.sessions-only'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('no process of the probe is left, not even of a server that ignores everything', async () => {
  const marks: number[] = []
  const source = soundLines(
    "'notifications/initialized': () => { process.stderr.write('') },",
    "process.on('SIGTERM', () => {}); globalThis.stays = true; setInterval(() => {}, 1000); " +
      "appendFileSync(process.env.PIDS, process.pid + '\\n')",
  )
  const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
  try {
    const file = join(folder, 'pids')
    await runProbe(inlineServer(source, { PIDS: file }) as ProbeTarget)
    marks.push(...readFileSync(file, 'utf8').trim().split('\n').map(Number))
  } finally {
    rmSync(folder, { recursive: true })
  }
  expect(marks.length).toBeGreaterThan(1)
  for (const pid of marks) expect(() => process.kill(pid, 0)).toThrow()
})

test('a session that the probe began is ended by it', async () => {
  const deleted: unknown[] = []
  const url = await serveSound({
    era: 'legacy',
    change(answer, { verb, headers }) {
      if (verb === 'DELETE') deleted.push(headers['mcp-session-id'])
      return answer
    },
  })
  await runProbe(url)
  expect(deleted).toEqual(['sound-session', 'sound-session', 'sound-session'])
})

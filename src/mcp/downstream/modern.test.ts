/** The modern era: what is checked, in which order, and what every answer carries. */
import { afterEach, describe, expect, test } from 'vitest'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  modernMeta,
  openTestDoor,
  postModern,
  type TestDoorOptions,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(capabilities: readonly Scripted[] = [], options: TestDoorOptions = {}) {
  const house = createScriptedHouse(capabilities)
  const server = await openTestDoor(house, options)
  closers.push(server.close)
  return { house, ...server }
}

const META = 'io.modelcontextprotocol'

describe('metadata', () => {
  test.each([
    ['no _meta', {}, -32602],
    ['a _meta that is no object', { _meta: 5 }, -32602],
    ['no version', { _meta: { [`${META}/clientCapabilities`]: {} } }, -32602],
    [
      'a version that is no string',
      { _meta: modernMeta({ [`${META}/protocolVersion`]: 1 }) },
      -32602,
    ],
    ['no capabilities', { _meta: { [`${META}/protocolVersion`]: '2026-07-28' } }, -32602],
    [
      'capabilities that are no object',
      { _meta: modernMeta({ [`${META}/clientCapabilities`]: [] }) },
      -32602,
    ],
  ])('%s: 400', async (_name, params, code) => {
    const { url } = await open()
    const meta = '_meta' in params ? params : { _meta: undefined }
    const answer = await postModern(url, 'tools/list', meta)

    expect([answer.status, dig(answer.body, 'id'), dig(answer.body, 'error', 'code')]).toEqual([
      400,
      1,
      code,
    ])
  })

  test('clientInfo may be left out', async () => {
    const { url } = await open()
    expect((await postModern(url, 'server/discover')).status).toBe(200)
  })

  test('a version nobody knows is -32022 with what discover lists', async () => {
    const { url } = await open()
    const meta = modernMeta({ [`${META}/protocolVersion`]: 'v999.0.0' })
    const headers = { 'mcp-protocol-version': 'v999.0.0' }
    const answer = await postModern(url, 'tools/list', { _meta: meta }, { headers })

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      id: 1,
      error: {
        code: -32022,
        data: {
          requested: 'v999.0.0',
          supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'],
        },
      },
    })
  })

  test('a session version in modern metadata is -32022 and offers the modern one', async () => {
    const { url } = await open()
    const meta = modernMeta({ [`${META}/protocolVersion`]: '2025-11-25' })
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    const answer = await postModern(url, 'tools/list', { _meta: meta }, { headers })

    expect(answer.body).toMatchObject({
      error: { code: -32022, data: { supported: ['2026-07-28'] } },
    })
  })

  test.each([
    ['Mcp-Method', { 'mcp-method': 'tools/call' }],
    ['MCP-Protocol-Version', { 'mcp-protocol-version': '2025-11-25' }],
  ])('%s that differs from the body is -32020', async (_name, headers) => {
    const { url } = await open()
    const answer = await postModern(url, 'tools/list', {}, { headers })

    expect([answer.status, dig(answer.body, 'error', 'code')]).toEqual([400, -32020])
  })

  test('a name is compared decoded, and malformed base64 is refused', async () => {
    const tool: Scripted = { kind: 'tool', exposed: 'größe' }
    const { url, house } = await open([tool])
    const encoded = `=?base64?${Buffer.from('größe').toString('base64')}?=`
    const call = (name: string) =>
      postModern(url, 'tools/call', { name: 'größe' }, { headers: { 'mcp-name': name } })

    expect((await call(encoded)).status).toBe(200)
    expect(dig((await call('=?base64?!!!?=')).body, 'error', 'code')).toBe(-32020)
    expect(house.calls).toHaveLength(1)
  })
})

describe('methods', () => {
  test.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'completion/complete',
    'skills/list',
    'skills/get',
    'resources/directory/read',
    'tasks/get',
    'no/such',
    'constructor',
  ])('%s is 404 and -32601', async (method) => {
    const { url } = await open()
    const answer = await postModern(url, method)

    expect([answer.status, dig(answer.body, 'id'), dig(answer.body, 'error', 'code')]).toEqual([
      404, 1, -32601,
    ])
  })

  test('discover says versions, capabilities, instructions and how long it holds', async () => {
    const { url } = await open()
    const { body } = await postModern(url, 'server/discover')

    expect(dig(body, 'result')).toEqual({
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'],
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true },
        prompts: { listChanged: true },
        logging: {},
      },
      instructions: 'Handle with care.',
      resultType: 'complete',
      // As long as the lists of those peers may stand.
      ttlMs: 5_000,
      cacheScope: 'private',
      _meta: { [`${META}/serverInfo`]: { name: 'test-door', version: '1.0.0' } },
    })
  })
})

describe('lists', () => {
  const many = Array.from({ length: 5 }, (_, index): Scripted => ({
    kind: 'tool',
    exposed: `t${index}`,
  }))

  test('pages follow each other under our cursors', async () => {
    const { url } = await open(many, { limits: { pageSize: 2 } })
    const names: unknown[] = []
    let cursor: unknown
    let pages = 0
    do {
      const { body } = await postModern(url, 'tools/list', cursor === undefined ? {} : { cursor })
      expect(dig(body, 'result')).toMatchObject({
        resultType: 'complete',
        ttlMs: 5000,
        cacheScope: 'private',
      })
      names.push(...(dig(body, 'result', 'tools') as { name: string }[]).map(({ name }) => name))
      cursor = dig(body, 'result', 'nextCursor')
      pages += 1
    } while (cursor !== undefined)

    expect([names, pages]).toEqual([['t0', 't1', 't2', 't3', 't4'], 3])
  })

  test('a cursor that was changed, is of another list or of another principal is -32602', async () => {
    const { url } = await open(
      [...many, ...many.map((one) => ({ ...one, kind: 'prompt' as const }))],
      {
        limits: { pageSize: 2 },
      },
    )
    const { body } = await postModern(url, 'tools/list')
    const cursor = String(dig(body, 'result', 'nextCursor'))
    const headers = { 'x-test-principal': 'another' }
    const answers = [
      await postModern(url, 'tools/list', {
        cursor: `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`,
      }),
      await postModern(url, 'tools/list', { cursor: '' }),
      await postModern(url, 'tools/list', { cursor: 7 }),
      await postModern(url, 'prompts/list', { cursor }),
      await postModern(url, 'tools/list', { cursor }, { headers }),
    ]

    expect(answers.map((answer) => dig(answer.body, 'error', 'code'))).toEqual(
      Array(5).fill(-32602),
    )
  })

  test('what is missing is said; when all is missing it is an error', async () => {
    const { url, house } = await open(many.slice(0, 1))
    house.missing = [{ peer: 'far', reason: 'did not answer' }]
    const partly = await postModern(url, 'tools/list')
    house.allFailed = true
    const wholly = await postModern(url, 'tools/list')

    expect(dig(partly.body, 'result', '_meta', 'comity/missing')).toEqual(house.missing)
    expect(dig(wholly.body, 'error')).toMatchObject({
      code: -32603,
      data: { 'comity/missing': house.missing },
    })
  })
})

test('what is shown as it was in an earlier run is said; under lists: strict it is an error that says what is missing', async () => {
  const { url, house } = await open([])
  expect(dig((await postModern(url, 'tools/list')).body, 'result', '_meta', 'comity/stale')).toBe(
    undefined,
  )
  house.stale = [{ peer: 'slow', at: '2026-11-30T10:00:00.000Z' }]
  const partly = await postModern(url, 'tools/list')
  house.incomplete = true
  house.missing = [{ peer: 'far', reason: 'did not answer' }]
  const strict = await postModern(url, 'tools/list')

  expect(dig(partly.body, 'result', '_meta', 'comity/stale')).toEqual(house.stale)
  expect(dig(strict.body, 'error')).toMatchObject({
    code: -32603,
    message: expect.stringMatching(/lists: strict.*far: did not answer; slow: still starting/u),
    data: { 'comity/missing': house.missing },
  })
})

describe('mirrored arguments', () => {
  const region: Scripted = {
    kind: 'tool',
    exposed: 'region',
    definition: {
      inputSchema: {
        type: 'object',
        properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' }, n: { type: 'integer' } },
      },
    },
  }

  test.each([
    ['equal', 'eu', { 'mcp-param-zone': 'eu' }, 200],
    ['different', 'eu', { 'mcp-param-zone': 'us' }, 400],
    ['missing', 'eu', {}, 400],
    ['absent on both sides', undefined, {}, 200],
    ['header alone', undefined, { 'mcp-param-zone': 'eu' }, 400],
    ['an unknown one beside', 'eu', { 'mcp-param-zone': 'eu', 'mcp-param-other': 'x' }, 200],
  ])('%s', async (_name, zone, headers, status) => {
    const { url, house } = await open([region])
    const answer = await postModern(
      url,
      'tools/call',
      { name: 'region', arguments: { zone } },
      { headers },
    )

    expect(answer.status).toBe(status)
    expect(house.calls).toHaveLength(status === 200 ? 1 : 0)
    if (status === 400) expect(dig(answer.body, 'error', 'code')).toBe(-32020)
  })

  test('a call waits for the listing once, then the annotations are known by fingerprint', async () => {
    const { url, house } = await open([region])
    let listings = 0
    const { list } = house.catalogue
    house.catalogue.list = (kind, principal) => {
      listings += 1
      return list(kind, principal)
    }
    const call = { name: 'region', arguments: { zone: 'eu' } }
    const statuses: number[] = []
    for (const zone of ['eu', 'us', 'eu']) {
      const headers = { 'mcp-param-zone': zone }
      statuses.push((await postModern(url, 'tools/call', call, { headers })).status)
    }

    expect([statuses, listings]).toEqual([[200, 400, 200], 1])
  })

  test('a tool whose annotations are unusable is not listed', async () => {
    const broken: Scripted = {
      kind: 'tool',
      exposed: 'broken',
      definition: {
        inputSchema: { type: 'object', properties: { n: { type: 'number', 'x-mcp-header': 'N' } } },
      },
    }
    const { url } = await open([region, broken])
    const { body } = await postModern(url, 'tools/list')

    expect(dig(body, 'result', 'tools')).toMatchObject([{ name: 'region' }])
  })
})

describe('arguments that two readers may understand differently', () => {
  test.each([
    ['a repeated key', '{"a":1,"a":2}'],
    ['a lone surrogate', '{"a":"\\ud800"}'],
    ['NUL in a key', '{"a\\u0000":1}'],
    ['a number no double holds', '{"a":1e999}'],
    ['an array', '[1]'],
    ['null', 'null'],
  ])('%s is -32602 and reaches nobody', async (_name, args) => {
    const { url, house } = await open([{ kind: 'tool', exposed: 'tool' }])
    const meta = JSON.stringify(modernMeta())
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: '*/*',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'tool',
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":${args},"_meta":${meta}}}`,
    })

    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } })
    expect(house.calls).toEqual([])
  })
})

describe('what goes along', () => {
  test('links in results are reported for this principal and peer', async () => {
    const outcome = completed({
      content: [
        { type: 'resource_link', uri: 'note://a', name: 'a' },
        { type: 'resource', resource: { uri: 'note://b', text: 'b' } },
        { type: 'text', text: '"uri" in words links nothing' },
        { type: 'resource_link', uri: 'note://a', name: 'again' },
      ],
    })
    const { url, house } = await open([{ kind: 'tool', exposed: 'tool', run: () => outcome }])
    await postModern(url, 'tools/call', { name: 'tool' })

    expect(house.linked).toEqual([
      { principal: 'local', peer: 'desk', uris: ['note://a', 'note://b'] },
    ])
  })

  test('trace keys, the overridden twin and what the caller can bear reach dispatch', async () => {
    const can: unknown[] = []
    const tool: Scripted = {
      kind: 'tool',
      exposed: 'tool',
      run: (_call, exchange) => {
        can.push(exchange.can)
        return completed({ content: [] })
      },
    }
    const { url, house } = await open([tool])
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const apps = { mimeTypes: ['text/html;profile=mcp-app'] }
    const capabilities = {
      elicitation: {},
      roots: {},
      extensions: { 'io.modelcontextprotocol/ui': apps, 'x.example/own': {} },
    }
    const _meta = modernMeta({
      traceparent,
      tracestate: 'is none',
      own: 1,
      'comity/insist': 'call-7',
      [`${META}/clientCapabilities`]: capabilities,
    })
    await postModern(url, 'tools/call', { name: 'tool', arguments: { a: 1 }, _meta })

    expect(house.calls[0]).toMatchObject({
      operation: 'call',
      door: 'mcp 2026-07-28 http',
      requestId: '1',
      trace: { traceparent },
      insist: 'call-7',
      principal: { id: 'local' },
    })
    // What is no W3C value travels no further; extensions that are not carried through are not declared on.
    const sent = dig(house.calls[0]?.native.value(), '_meta')
    expect(sent).toMatchObject({ traceparent, own: 1 })
    expect(sent).not.toHaveProperty('tracestate')
    const extensions = { 'io.modelcontextprotocol/ui': apps }
    expect(can).toEqual([{ form: true, url: false, sampling: false, roots: true, extensions }])
  })

  test('logs come only to a caller that asks, from its level on', async () => {
    const log = (level: string) =>
      mcpNative(encodeJson({ level, data: `a ${level}` }), '2026-07-28')
    const tool: Scripted = {
      kind: 'tool',
      exposed: 'tool',
      run: async (_call, exchange) => {
        await exchange.emit({ kind: 'log', native: log('debug') })
        await exchange.emit({ kind: 'log', native: log('error') })
        return completed({ content: [] })
      },
    }
    const { url } = await open([tool])
    const silent = await postModern(url, 'tools/call', { name: 'tool' })
    const asks = modernMeta({ [`${META}/logLevel`]: 'warning' })
    const loud = await postModern(url, 'tools/call', { name: 'tool', _meta: asks })
    const wrong = modernMeta({ [`${META}/logLevel`]: 'loud' })
    const refusedLevel = await postModern(url, 'tools/call', { name: 'tool', _meta: wrong })

    expect(silent.text).not.toContain('notifications/message')
    expect(loud.text).toContain('a error')
    expect(loud.text).not.toContain('a debug')
    expect(dig(refusedLevel.body, 'error', 'code')).toBe(-32602)
  })

  test('a deadline that passes aborts the call and says why', async () => {
    const tool: Scripted = {
      kind: 'tool',
      exposed: 'tool',
      run: (_call, exchange) =>
        new Promise((resolve) => {
          exchange.signal.addEventListener('abort', () =>
            resolve(
              completed({ content: [{ type: 'text', text: String(exchange.stopReason()) }] }),
            ),
          )
        }),
    }
    const { url } = await open([tool], { limits: { callMs: 30 } })
    const { body } = await postModern(url, 'tools/call', { name: 'tool' })

    expect(dig(body, 'result', 'content', 0, 'text')).toBe('deadline')
  })
})

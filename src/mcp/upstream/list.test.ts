import { describe, expect, test } from 'vitest'
import { inlineServer, openPeer } from '../../../test/mcp/upstream-peer.ts'

const tool = (name: string) => `{ name: '${name}', inputSchema: { type: 'object' } }`
const page = `{ tools: [${['t0', 't1', 't2'].map(tool).join(',')}]`

describe('C15: cursors that never end', () => {
  test.each([
    [
      'never moves',
      `answer(m, ${page}, nextCursor: '3' })`,
      'the list repeats a cursor; what came after is not read',
    ],
    [
      'cycles a -> b -> a',
      `answer(m, ${page}, nextCursor: m.params.cursor === 'a' ? 'b' : 'a' })`,
      'the list repeats a cursor; what came after is not read',
    ],
    [
      'is always fresh',
      `answer(m, ${page}, nextCursor: 'c' + Math.random() })`,
      'the list has more than 200 pages; the rest is not read',
    ],
  ])('a cursor that %s: three tools, and the loop is told', async (_, reply, reason) => {
    const peer = openPeer(inlineServer(`serve({ 'tools/list': (m) => ${reply} })`))
    const listing = await peer.listing()
    expect(listing.capabilities.map(({ name }) => name)).toEqual(['t0', 't1', 't2'])
    expect(listing.leftOut).toEqual([{ peer: 'peer', kind: 'tool', name: '*', reason }])
  })

  test('the empty string is a cursor; null is the end', async () => {
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/list': (m) => 'cursor' in m.params ? answer(m, { tools: [${tool('b')}], nextCursor: null }) : answer(m, { tools: [${tool('a')}], nextCursor: '' }) })`,
      ),
    )
    expect((await peer.listing()).capabilities.map(({ name }) => name)).toEqual(['a', 'b'])
  })
})

describe('a cursor that the server itself takes for invalid', () => {
  const stale = (times: number) => `
    let left = ${times}, listed = 0
    serve({ 'tools/list': (m) => {
      if (!m.params.cursor) return answer(m, { tools: [{ name: 'first-' + ++listed, inputSchema: {} }], nextCursor: 'c' })
      if (left-- > 0) return refuse(m, -32602, 'invalid cursor')
      answer(m, { tools: [${tool('last')}] })
    } })`

  test('drops what was read, and the list is read once more', async () => {
    const { capabilities, leftOut } = await openPeer(inlineServer(stale(1))).listing()
    expect(capabilities.map(({ name }) => name)).toEqual(['first-2', 'last'])
    expect(leftOut).toEqual([])
  })

  test('and does so again: what could be read stays, and that it is not all is told', async () => {
    const { capabilities, leftOut } = await openPeer(inlineServer(stale(9))).listing()
    expect(capabilities.map(({ name }) => name)).toEqual(['first-2'])
    expect(leftOut).toMatchObject([{ kind: 'tool', name: '*' }])
  })
})

describe('lists larger than anybody needs', () => {
  test('one page of a hundred thousand tools: the first ten thousand, and that there are more', async () => {
    const peer = openPeer(
      inlineServer(`
        const tools = Array.from({ length: 100_000 }, (_, i) => ({ name: 't' + i, inputSchema: {} }))
        serve({ 'tools/list': (m) => answer(m, { tools }) })`),
    )
    const { capabilities, leftOut } = await peer.listing()
    expect(capabilities).toHaveLength(10_000)
    const reason = 'the list has more than 10000 items; the rest is not read'
    expect(leftOut).toEqual([{ peer: 'peer', kind: 'tool', name: '*', reason }])
  }, 30_000)

  test('pages without end of tools as large as a message may be: bounded in bytes, not in pages alone', async () => {
    const peer = openPeer(
      inlineServer(`
        let page = 0
        const description = 'x'.repeat(20 * 1024 * 1024)
        serve({ 'tools/list': (m) => {
          page += 1
          answer(m, { tools: [{ name: 't' + page, description, inputSchema: {} }], nextCursor: 'c' + page })
        } })`),
    )
    const { capabilities, leftOut } = await peer.listing()
    expect(capabilities).toHaveLength(4)
    expect(leftOut).toMatchObject([
      { name: '*', reason: 'the list has more than 67108864 bytes; the rest is not read' },
    ])
  }, 60_000)

  test('exactly as many items as a list may have leave nothing out', async () => {
    const peer = openPeer(
      inlineServer(`
        const tools = Array.from({ length: 10_000 }, (_, i) => ({ name: 't' + i, inputSchema: {} }))
        serve({ 'tools/list': (m) => answer(m, { tools }) })`),
    )
    const { capabilities, leftOut } = await peer.listing()
    expect([capabilities.length, leftOut]).toEqual([10_000, []])
  }, 30_000)
})

test('icons, metadata and what nobody knows are kept byte for byte', async () => {
  const item =
    '{ "name":"a" ,"title":"\\u00e4", "inputSchema":{"type":"object","$defs":{"x":{"const":1.0}}}, "icons":[{"src":"data:,","sizes":["any"]}], "_meta":{"ui":{"resourceUri":"ui://x"},"n":1e300}, "new":[ ] }'
  const peer = openPeer(
    inlineServer(
      `serve({ 'tools/list': (m) => raw('{"jsonrpc":"2.0","id":' + m.id + ',"result":{"tools":[' + process.env.ITEM + ']}}\\n') })`,
      { ITEM: item },
    ),
  )
  const { capabilities } = await peer.listing()
  expect(new TextDecoder().decode(capabilities[0]?.definition.bytes)).toBe(item)
})

test('one bad item takes no other away, and each is named with its reason', async () => {
  const peer = openPeer(
    inlineServer(`
      serve({ 'tools/list': (m) => raw('{"jsonrpc":"2.0","id":' + m.id + ',"result":{"tools":[' + [
        '{"name":"good","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":"x"}, "x-n":9007199254740993}',
        '7', 'null', '{"inputSchema":{}}', '{"name":"","inputSchema":{}}', '{"name":"bare"}', '{"name":"list","inputSchema":[]}',
        '{"name":"twice","inputSchema":{"a":1,"a":2}}', '{"name":"half","inputSchema":{"x":"\\\\ud800"}}',
        '{"name":"tasky","inputSchema":{},"execution":{"taskSupport":"required"}}',
        '{"name":"maybe","inputSchema":{},"execution":{"taskSupport":"optional"}}',
        '{"name":"good","inputSchema":{"type":"object","other":1}}',
      ].join(',') + ']}}\\n') })
    `),
  )
  const { capabilities, leftOut } = await peer.listing()
  expect(capabilities.map(({ name }) => name)).toEqual(['good', 'maybe'])
  expect(capabilities[0]?.hints).toEqual({ readOnly: true })
  expect(new TextDecoder().decode(capabilities[0]?.definition.bytes)).toContain(
    '"x-n":9007199254740993}',
  )
  expect(leftOut.map(({ name, reason }) => [name, reason])).toEqual([
    ['#2', 'it is no object'],
    ['#3', 'it is no object'],
    ['#4', 'its name is no string of 1 to 2048 characters'],
    ['#5', 'its name is no string of 1 to 2048 characters'],
    ['bare', 'its inputSchema is no object'],
    ['list', 'its inputSchema is no object'],
    ['#8', 'a key must not be repeated (byte 37, at /inputSchema/a)'],
    ['#9', 'a surrogate must come in a pair (byte 34, at /inputSchema/x)'],
    [
      'tasky',
      'it can only be called as a task of MCP 2025-11-25, and its server declares no tasks of that kind',
    ],
    ['good', 'listed more than once with different definitions; the first counts'],
  ])
})

test('a list that fails leaves the others; what was read before a broken page stays', async () => {
  const peer = openPeer(
    inlineServer(`
      serve({
        initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {}, resources: {} }, serverInfo: {} }),
        'tools/list': (m) => m.params.cursor ? answer(m, { tools: 'none' }) : answer(m, { tools: [${tool('a')}], nextCursor: '2' }),
        'prompts/list': (m) => refuse(m, -32603, 'no database'),
        'resources/list': (m) => answer(m, { resources: [{ uri: 'file:///a', name: 'a' }] }),
      })
    `),
  )
  const { capabilities, leftOut } = await peer.listing()
  expect(capabilities.map(({ kind, name }) => [kind, name])).toEqual([
    ['tool', 'a'],
    ['resource', 'file:///a'],
  ])
  // Templates are asked for as well; a server without them offers none.
  expect(leftOut).toEqual([
    {
      peer: 'peer',
      kind: 'tool',
      name: '*',
      reason:
        'the list stops after 1 pages: tools/list was answered with a result without a list of tools',
    },
    {
      peer: 'peer',
      kind: 'prompt',
      name: '*',
      reason: 'prompts/list was answered with error -32603: no database',
    },
  ])
})

test('when no list can be read, that is an error and not an empty list', async () => {
  const peer = openPeer(
    inlineServer(`serve({ 'tools/list': (m) => refuse(m, -32603, 'no database') })`),
  )
  await expect(peer.listing()).rejects.toThrow(
    'tools/list was answered with error -32603: no database',
  )
})

test('the same definition in another order and spacing has the same fingerprint', async () => {
  const definitions = [
    '{"name":"a","inputSchema":{"type":"object","x":1}}',
    '{ "inputSchema":{"x":1,"type":"object"}, "name":"\\\\u0061"}',
  ]
  const prints = await Promise.all(
    definitions.map(async (definition) => {
      const peer = openPeer(
        inlineServer(
          `serve({ 'tools/list': (m) => raw('{"jsonrpc":"2.0","id":' + m.id + ',"result":{"tools":[${definition}]}}\\n') })`,
        ),
      )
      return (await peer.listing()).capabilities[0]?.fingerprint
    }),
  )
  expect(prints[0]).toMatch(/^[0-9a-f]{64}$/)
  expect(prints[0]).toBe(prints[1])
})

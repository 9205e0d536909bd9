/** The HTTP door on bare sockets and plain fetch: bad input, shapes of answers, who is let in. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  eventsOf,
  exchangeRaw,
  initialize,
  MODERN_HEADERS,
  modernMeta,
  openTestDoor,
  postModern,
  rawPost,
  readResponse,
  type TestDoorOptions,
  until,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const ECHO: Scripted = {
  kind: 'tool',
  exposed: 'costly',
  run: () => completed({ content: [{ type: 'text', text: 'ran' }] }),
}

async function open(capabilities: readonly Scripted[] = [ECHO], options: TestDoorOptions = {}) {
  const house = createScriptedHouse(capabilities)
  const server = await openTestDoor(house, options)
  closers.push(server.close)
  return { house, ...server }
}

const LIST = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  params: { _meta: modernMeta() },
})

async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) {
  const all = { ...MODERN_HEADERS, 'mcp-method': 'tools/list', ...headers }
  return readResponse(await fetch(url, { method: 'POST', headers: all, body }))
}

describe('what is no message', () => {
  test.each([
    ['malformed JSON', '{"jsonrpc": nonsense}', -32700],
    ['an empty body', '', -32700],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), -32700],
    ['a byte order mark', `\uFEFF${LIST}`, -32700],
    ['a batch', `[${LIST}]`, -32600],
    ['an empty batch', '[]', -32600],
    ['no version', '{"id":1,"method":"tools/list"}', -32600],
    [
      'params that are an array',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}',
      -32600,
    ],
  ])('%s is 400', async (_name, body, code) => {
    const { url, house } = await open()

    const answer = await post(url, body)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code } })
    expect(house.calls).toEqual([])
  })

  test('deep nesting is refused, not a crash', async () => {
    const { url } = await open()
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`

    const answer = await post(url, LIST.replace('"_meta"', `"x":${deep},"_meta"`))

    expect(answer.status).toBe(400)
    expect((await post(url, LIST)).status).toBe(200)
  })
})

describe('what is refused before it is read', () => {
  test.each([
    ['a content type of another kind', { 'content-type': 'text/plain' }, 415],
    ['another charset', { 'content-type': 'application/json; charset=latin1' }, 415],
    ['a content encoding', { 'content-encoding': 'gzip' }, 415],
    ['accepting JSON only', { accept: 'application/json' }, 406],
    ['accepting no JSON', { accept: 'application/json;q=0, text/event-stream' }, 406],
    ['a foreign origin', { origin: 'https://evil.example' }, 403],
    ['the null origin', { origin: 'null' }, 403],
    ['no credentials', { 'x-test-principal': 'nobody' }, 401],
  ])('%s', async (_name, headers, status) => {
    const { url, house } = await open()

    const answer = await post(url, LIST, headers)

    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ error: { code: -32600 } })
    expect(house.calls).toEqual([])
  })

  test('a loopback origin on any port is served, and so is a charset that is UTF-8', async () => {
    const { url } = await open()
    const headers = {
      origin: 'http://localhost:5173',
      'content-type': 'application/json; charset=UTF-8',
    }

    expect((await post(url, LIST, headers)).status).toBe(200)
  })

  test.each([
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost@evil.example', 403],
    ['localhost:1234', 200],
    ['[::1]', 200],
  ])('the host %s: %i', async (host, status) => {
    const { port } = await open()

    const answer = await exchangeRaw(port, [rawPost(host, LIST)])

    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  // Of two names of a host, whatever stands before this door may have gone by the other one.
  test.each([
    ['http://evil.example/mcp', 403],
    ['http://evil.example@127.0.0.1:1/mcp', 403],
    ['http://127.0.0.1/mcp', 200],
  ])('the target %s: %i', async (target, status) => {
    const { port } = await open()
    const request = rawPost('127.0.0.1', LIST).replace(/^POST \S+/u, `POST ${target}`)

    expect(await exchangeRaw(port, [request])).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  test('GET is 405 and says what is allowed', async () => {
    const { url } = await open()
    const response = await fetch(url, { headers: { accept: 'text/event-stream' } })

    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, DELETE'])
  })

  test('DELETE in the words of 2026-07-28 is 405, and ends no session', async () => {
    const { url } = await open()
    const { session, headers } = await initialize(url)
    const own = { ...headers, 'mcp-session-id': session }
    const modern = { ...own, 'mcp-protocol-version': '2026-07-28' }
    const refused = await fetch(url, { method: 'DELETE', headers: modern })
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const pinged = await fetch(url, { method: 'POST', headers: own, body })

    expect([refused.status, pinged.status]).toEqual([405, 200])
  })
})

describe('bounds', () => {
  test('a declared length beyond the bound is 413 at once', async () => {
    const { port } = await open([ECHO], { limits: { maxMessageBytes: 1000 } })
    const head = rawPost('localhost', '', { 'content-length': '1001' })

    expect(await exchangeRaw(port, [head])).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('a chunked body is counted as it comes', async () => {
    const { port } = await open([ECHO], { limits: { maxMessageBytes: 1000 } })
    const head = rawPost('localhost', '', { 'transfer-encoding': 'chunked' })
    const chunk = `258\r\n${' '.repeat(600)}\r\n`

    expect(await exchangeRaw(port, [head, chunk, chunk])).toMatch(/HTTP\/1\.1 413 /)
  })

  test('a body that stops coming is 408', async () => {
    const { port } = await open([ECHO], { limits: { bodyIdleMs: 50 } })
    const head = rawPost('localhost', '', { 'content-length': '100' })

    expect(await exchangeRaw(port, [`${head}{"jsonrpc`])).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('more requests at once than allowed are told to come back', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async () => {
        await gate.promise
        return completed({ content: [] })
      },
    }
    const { url, house } = await open([slow], { limits: { maxInFlight: 1 } })
    const first = postModern(url, 'tools/call', { name: 'slow' })
    await until(() => house.calls.length === 1)

    const second = await postModern(url, 'tools/list')

    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '1'])
    gate.resolve()
    expect((await first).status).toBe(200)
  })
})

test('messages that never end keep nobody out: the oldest of them makes room', async () => {
  const { url, port } = await open([], { limits: { maxInFlight: 3 } })
  const head = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: 100\r\n\r\n{`
  const said: string[] = []
  const sockets = await Promise.all(
    [0, 1, 2].map(async (index) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('data', (data: Buffer) => (said[index] = `${said[index] ?? ''}${data.toString()}`))
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      socket.write(head)
      return socket
    }),
  )
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
  // Until all three are being read, the fourth is one too many.
  await until(async () => {
    const { status } = await postModern(url, 'tools/list')
    return status === 200 && said.some((one) => one?.startsWith('HTTP/1.1 408 '))
  })
  expect(said.filter((one) => one !== undefined)).toHaveLength(1)
})

describe('C31: ids', () => {
  const { given } = readCase('C31-ids-type-and-null.json')
  const requests = given['client_requests'] as readonly { readonly id: unknown }[]

  test.each(requests)('$id', async ({ id }) => {
    const { url } = await open()
    const answer = await post(url, LIST.replace('"id":1', `"id":${JSON.stringify(id)}`))

    if (id === null || id === 1.5) {
      expect([answer.status, dig(answer.body, 'error', 'code')]).toEqual([400, -32600])
    } else {
      expect(dig(answer.body, 'id')).toBe(id)
      expect(answer.body).toHaveProperty('result.tools')
    }
  })
})

describe('C35: notifications and batches', () => {
  test('a notification is 202 without a body, in both eras', async () => {
    const { url } = await open()
    const { session, headers } = await initialize(url)
    const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

    const modern = await post(url, body, { 'mcp-method': 'notifications/initialized' })
    const legacy = await post(url, body, { ...headers, 'mcp-session-id': session })

    for (const answer of [modern, legacy]) expect([answer.status, answer.text]).toEqual([202, ''])
  })

  test.each(['[]', `[${LIST}]`])('a batch is 400 and -32600: %s', async (body) => {
    const { url } = await open()
    const answer = await post(url, body)

    expect([answer.status, dig(answer.body, 'error', 'code')]).toEqual([400, -32600])
  })
})

describe('C68: headers that disagree with the body', () => {
  const { given } = readCase('C68-headers-body-disagree.json')
  const requests = given['requests'] as readonly {
    readonly headers: Record<string, string>
    readonly body: unknown
  }[]

  test.each(requests.map((request, index) => ({ index, ...request })))(
    'request $index',
    async ({ headers, body }) => {
      const { url, house } = await open()
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          // The case names what is in question; the rest of a request is as it should be.
          ...(Object.keys(headers).length === 0
            ? {}
            : { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }),
          ...headers,
        },
        body: bodyOfCase(body),
      })
      const answer = await readResponse(response)

      expect([answer.status, dig(answer.body, 'error', 'code')]).toEqual([400, -32020])
      expect(house.calls).toEqual([])
    },
  )

  function bodyOfCase(body: unknown): string {
    const version = body === '_meta protocolVersion 2025-11-25' ? '2025-11-25' : '2026-07-28'
    const stated = typeof body === 'string' ? {} : (body as Record<string, object>)
    const meta = modernMeta({ 'io.modelcontextprotocol/protocolVersion': version })
    const discovers = 'method' in stated && !('params' in stated)
    const params = discovers ? {} : { params: { ...stated['params'], _meta: meta } }
    return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', ...stated, ...params })
  }
})

describe('streams', () => {
  const progress = mcpNative(encodeJson({ progressToken: 'theirs', progress: 1 }), '2025-11-25')

  test('an answer is plain JSON until something is said before it, then one event stream', async () => {
    const talks: Scripted = {
      kind: 'tool',
      exposed: 'talks',
      run: async (_call, exchange) => {
        await exchange.emit({ kind: 'progress', native: progress })
        return completed('{\n  "content": []\n}')
      },
    }
    const { url } = await open([ECHO, talks])
    const token = { ...modernMeta(), progressToken: 42 }

    const plain = await postModern(url, 'tools/call', { name: 'costly' })
    const silent = await postModern(url, 'tools/call', { name: 'talks' })
    const stream = await postModern(url, 'tools/call', { name: 'talks', _meta: token })

    expect(plain.headers.get('content-type')).toBe('application/json')
    // Nobody asked for progress, so there was nothing to say.
    expect(silent.headers.get('content-type')).toBe('application/json')
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    expect(eventsOf(stream.text).map((data) => JSON.parse(data))).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 42, progress: 1 } },
      { id: 1, result: { content: [], resultType: 'complete' } },
    ])
  })

  test('a long silence becomes a stream that is kept alive by comments', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async () => {
        await gate.promise
        return completed({ content: [] })
      },
    }
    const { url } = await open([slow], { limits: { streamAfterMs: 20, keepAliveMs: 20 } })
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...MODERN_HEADERS, 'mcp-method': 'tools/call', 'mcp-name': 'slow' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'slow', _meta: modernMeta() },
      }),
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while ((text.match(/:\n\n/g) ?? []).length < 3) text += (await reader.read()).value ?? ''
    gate.resolve()
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value

    expect(JSON.parse(eventsOf(text)[0] ?? '')).toMatchObject({ id: 1, result: {} })
  })

  test('a caller that does not read holds back its own call and no other', async () => {
    const big = mcpNative(
      encodeJson({ progressToken: 1, progress: 1, message: 'x'.repeat(200_000) }),
      '2025-11-25',
    )
    let held = false
    let sent = 0
    const floods: Scripted = {
      kind: 'tool',
      exposed: 'floods',
      run: async (_call, exchange) => {
        while (!exchange.signal.aborted) {
          const pause = exchange.emit({ kind: 'progress', native: big })
          sent += 1
          if (pause !== undefined) {
            held = true
            await pause
          }
        }
        return completed({ content: [] })
      },
    }
    const { port, url } = await open([ECHO, floods])
    const params = { name: 'floods', _meta: { ...modernMeta(), progressToken: 1 } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.write(rawPost('localhost', body, { 'mcp-method': 'tools/call', 'mcp-name': 'floods' }))
    try {
      // The system's buffers take the first of it; held back is what no longer grows, looked at twenty times in a row.
      let before = -1
      let same = 0
      await until(() => {
        same = held && sent === before ? same + 1 : 0
        before = sent
        return same >= 20
      })

      expect((await postModern(url, 'tools/call', { name: 'costly' })).status).toBe(200)

      expect(sent).toBe(before)
    } finally {
      socket.destroy()
    }
  })
})

function readCase(name: string): { readonly given: Readonly<Record<string, unknown>> } {
  const url = new URL(`../../../test/cases/${name}`, import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8')) as { given: Record<string, unknown> }
}

/** A published agent on the wire: cards, versions, errors by name, and everything a caller can get wrong. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { readCard } from '../../src/a2a/wire/card.ts'
import { openDeskHouse } from './a2a-desk-house.ts'

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

const HEADERS = {
  authorization: 'Bearer alice',
  'content-type': 'application/json',
  'a2a-version': '1.0',
}

async function exchange(url: string, { method = 'POST', headers, body }: Sent): Promise<Reply> {
  const outgoing = request(url, { method, headers: { ...HEADERS, ...headers } })
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

function rpc(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

function message(parts: unknown, more: Readonly<Record<string, unknown>> = {}): unknown {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more }
}

interface Fault {
  readonly code: number
  readonly message: string
  readonly data?: readonly { readonly '@type': string; readonly reason?: string }[]
}

function errorOf(reply: Reply): Fault {
  return (JSON.parse(reply.text) as { readonly error: Fault }).error
}

interface WireTask {
  readonly id: string
  readonly status: { readonly state: string; readonly message?: { parts: { text: string }[] } }
  readonly metadata?: { readonly 'comity/outcome': Readonly<Record<string, unknown>> }
}

function taskOf(reply: Reply): WireTask {
  return (JSON.parse(reply.text) as { readonly result: { readonly task: WireTask } }).result.task
}

function caseFile(name: string): { readonly given: Readonly<Record<string, unknown>> } {
  return JSON.parse(readFileSync(`test/cases/${name}.json`, 'utf8')) as ReturnType<typeof caseFile>
}

const ASK_MANY = { data: { skill: 'find', arguments: { query: 'x' } } }

test('the card is valid, names the agent and its skills and nothing behind them, and is revalidated', async () => {
  const house = await openDeskHouse({ secured: true })
  const cardUrl = `${house.url}/a2a/many/.well-known/agent-card.json`
  const card = await exchange(cardUrl, { method: 'GET', headers: { authorization: '' } })
  expect(card.status).toBe(200)
  const value = JSON.parse(card.text) as { readonly skills: readonly { readonly id: string }[] }
  const reading = readCard(value, { cardUrl })
  expect(reading.findings).toEqual([])
  expect(reading.interface?.url).toBe(`${house.url}/a2a/many`)
  expect(value).toMatchObject({
    name: 'many',
    version: '1.2.3',
    capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  })
  expect(value.skills.map(({ id }) => id)).toContain('secret')
  expect(card.text).not.toMatch(/docs|_tool|search_documents/u)
  expect(card.headers['cache-control']).toBe('public, max-age=300')

  const etag = String(card.headers.etag)
  const again = await exchange(cardUrl, {
    method: 'GET',
    headers: { 'if-none-match': `W/${etag}` },
  })
  expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag])
  const head = await exchange(cardUrl, { method: 'HEAD' })
  expect([head.status, head.text, head.headers.etag]).toEqual([200, '', etag])
  expect((await exchange(cardUrl, { method: 'POST' })).status).toBe(405)
})

test('what is refused before a message is understood has a status of its own', async () => {
  const house = await openDeskHouse({ limits: { maxMessageBytes: 2000 } })
  const desk = `${house.url}/a2a/desk`
  const body = rpc('GetTask', { id: 'x' })
  const statusOf = async (url: string, sent: Sent): Promise<number> =>
    (await exchange(url, sent)).status
  expect(await statusOf(`${house.url}/a2a/nobody`, { body })).toBe(404)
  expect(await statusOf(`${house.url}/a2a/%ff`, { body })).toBe(404)
  expect(await statusOf(`${desk}/more`, { body })).toBe(404)
  expect(
    await statusOf(`${house.url}/a2a/nobody/.well-known/agent-card.json`, { method: 'GET' }),
  ).toBe(404)
  expect(await statusOf(desk, { method: 'GET' })).toBe(405)
  expect(await statusOf(desk, { body, headers: { host: 'evil.example' } })).toBe(403)
  expect(await statusOf(desk, { body, headers: { origin: 'https://evil.example' } })).toBe(403)
  expect(await statusOf(desk, { body, headers: { origin: 'http://localhost:3000' } })).toBe(200)
  expect(await statusOf(desk, { body, headers: { 'content-type': 'text/plain' } })).toBe(415)
  expect(await statusOf(desk, { body, headers: { 'content-encoding': 'gzip' } })).toBe(415)
  const large = await exchange(desk, { body: rpc('GetTask', { id: 'x'.repeat(2000) }) })
  expect([large.status, errorOf(large).message]).toEqual([
    413,
    expect.stringContaining('2000 bytes'),
  ])
  const chunked = { 'transfer-encoding': 'chunked' }
  expect(await statusOf(desk, { headers: chunked, body: 'x'.repeat(3000) })).toBe(413)
  const stranger = await exchange(desk, { body, headers: { authorization: 'Bearer mallory' } })
  expect([stranger.status, stranger.headers['www-authenticate']]).toEqual([
    401,
    'Bearer realm="comity"',
  ])
})

test('a body that stops coming is not waited for', async () => {
  const house = await openDeskHouse({ limits: { bodyIdleMs: 50 } })
  const outgoing = request(`${house.url}/a2a/desk`, {
    method: 'POST',
    headers: { ...HEADERS, 'content-length': '100' },
  })
  outgoing.write('{')
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(408)
  outgoing.destroy()
})

test('C31: an id comes back as it was written; null and 1.5 are refused, not run as notifications', async () => {
  const house = await openDeskHouse()
  const { client_requests } = caseFile('C31-ids-type-and-null').given as {
    readonly client_requests: readonly { readonly id: unknown }[]
  }
  const lexemes = [...client_requests.map(({ id }) => JSON.stringify(id)), '9007199254740993']
  const send = (id: string): Promise<Reply> =>
    exchange(`${house.url}/a2a/desk`, {
      body: `{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"none"}}`,
    })
  const replies = await Promise.all(lexemes.map(send))
  for (const [index, id] of lexemes.entries()) {
    const reply = replies[index]!
    if (id === 'null' || id === '1.5') {
      expect([reply.status, errorOf(reply).code]).toEqual([400, -32600])
    } else {
      expect([reply.status, errorOf(reply).code]).toEqual([200, -32001])
      expect(reply.text).toContain(`"id":${id},`)
    }
  }
})

test('C35: a batch is refused and a notification gets no body; nothing runs for either', async () => {
  const house = await openDeskHouse()
  const desk = `${house.url}/a2a/desk`
  const one = rpc('SendMessage', { message: message([{ text: 'x' }]) })
  for (const body of [`[${one}]`, '[]']) {
    const reply = await exchange(desk, { body })
    expect([reply.status, errorOf(reply).code]).toEqual([400, -32600])
  }
  const notification = await exchange(desk, { body: one.replace('"id":1,', '') })
  expect([notification.status, notification.text]).toEqual([202, ''])
  expect(house.received).toEqual([])
})

test('what two readers could understand differently is refused, whatever it is', async () => {
  const house = await openDeskHouse()
  const desk = `${house.url}/a2a/desk`
  const part = (data: string): string =>
    `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${data}}]}}}`
  const bad: readonly (readonly [string | Uint8Array, number, RegExp])[] = [
    ['{', -32700, /not JSON/u],
    ['', -32700, /not JSON/u],
    [Buffer.from([0x22, 0xff, 0x22]), -32700, /not JSON in UTF-8/u],
    ['"text"', -32600, /expected a JSON-RPC request object/u],
    ['{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600, /"jsonrpc": "2.0"/u],
    ['{"jsonrpc":"2.0","id":1}', -32600, /a method name/u],
    [part('{"skill":"find","skill":"ask"}'), -32600, /"skill" is given twice/u],
    [
      part(String.raw`{"skill":"find","arguments":{"a":1,"\u0061":2}}`),
      -32600,
      /"a" is given twice/u,
    ],
    [part(String.raw`{"a":"\ud800"}`), -32600, /surrogate/u],
    [part('{"a":1e999}'), -32600, /too large/u],
    [part('['.repeat(5000) + ']'.repeat(5000)), -32600, /nested deeper/u],
  ]
  for (const [body, code, words] of bad) {
    const reply = await exchange(desk, { body })
    expect([reply.status, errorOf(reply).code]).toEqual([400, code])
    expect(errorOf(reply).message).toMatch(words)
  }
  expect(house.received).toEqual([])
})

test('bad params are all told at once, each with its path', async () => {
  const house = await openDeskHouse()
  const desk = `${house.url}/a2a/desk`
  const faultOf = async (params: unknown): Promise<Fault> =>
    errorOf(await exchange(desk, { body: rpc('SendMessage', params) }))
  const many = await faultOf({
    message: { role: 'user', parts: [{ kind: 'text', text: 'x' }, {}] },
  })
  expect(many.code).toBe(-32602)
  expect(many.message).toMatch(/message\.messageId.*message\.role.*ROLE_USER.*kind.*parts\[1\]/su)
  expect(many.data).toMatchObject([{ '@type': 'type.googleapis.com/google.rpc.BadRequest' }])
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [[], /expected an object/u],
    [{ message: message([{ text: 'x' }], { role: 'ROLE_AGENT' }) }, /expected ROLE_USER/u],
    [{ message: message([{ text: 'x' }], { messageId: '' }) }, /message\.messageId/u],
    [{ message: message([{ text: 'x' }], { contextId: 'c'.repeat(600) }) }, /longer than 512/u],
    [{ message: message([{ text: 'x' }]), configuration: { historyLength: -1 } }, /0 or more/u],
    [{ message: message([{ text: 'x' }]), tenant: 'acme' }, /tenant/u],
    [{ message: message([{ data: { skill: 'find', arguments: [] } }]) }, /data\.arguments/u],
    [{ message: message([ASK_MANY, ASK_MANY]) }, /one skill a message/u],
  ]
  for (const [params, words] of refused) {
    const fault = await faultOf(params)
    expect(fault.code).toBe(-32602)
    expect(fault.message).toMatch(words)
  }
  expect(house.received).toEqual([])
})

test('C85: every error follows the table of 1.0.1 and carries its name; the answer has the media type of the request', async () => {
  const house = await openDeskHouse()
  const { media } = caseFile('C85-binding-error-codes-media-type').given as {
    readonly media: readonly string[]
  }
  const desk = `${house.url}/a2a/desk`
  const done = taskOf(
    await exchange(desk, { body: rpc('SendMessage', { message: message([{ text: 'x' }]) }) }),
  )
  const file = message([{ raw: 'aGk=', mediaType: 'image/png' }])
  const push = { taskPushNotificationConfig: { url: 'https://a.example' } }
  const provoked: readonly (readonly [string, unknown, number, string])[] = [
    ['GetTask', { id: 'none' }, -32001, 'TASK_NOT_FOUND'],
    ['CancelTask', { id: 'none' }, -32001, 'TASK_NOT_FOUND'],
    ['CancelTask', { id: done.id }, -32002, 'TASK_NOT_CANCELABLE'],
    ['CreateTaskPushNotificationConfig', {}, -32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['GetTaskPushNotificationConfig', {}, -32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['ListTaskPushNotificationConfigs', {}, -32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ['DeleteTaskPushNotificationConfig', {}, -32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    [
      'SendMessage',
      { message: message([{ text: 'x' }]), configuration: push },
      -32003,
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
    ],
    ['SendStreamingMessage', {}, -32004, 'UNSUPPORTED_OPERATION'],
    ['SubscribeToTask', { id: 'none' }, -32004, 'UNSUPPORTED_OPERATION'],
    ['ListTasks', {}, -32004, 'UNSUPPORTED_OPERATION'],
    ['GetExtendedAgentCard', {}, -32004, 'UNSUPPORTED_OPERATION'],
    [
      'SendMessage',
      { message: message([{ text: 'x' }], { taskId: done.id }) },
      -32004,
      'UNSUPPORTED_OPERATION',
    ],
    ['SendMessage', { message: file }, -32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
  ]
  for (const [index, [method, params, code, reason]] of provoked.entries()) {
    const type = media[index % media.length]!
    const reply = await exchange(desk, {
      body: rpc(method, params),
      headers: { 'content-type': type },
    })
    expect([method, reply.status, errorOf(reply).code]).toEqual([method, 200, code])
    expect(errorOf(reply).data).toMatchObject([{ reason, domain: 'a2a-protocol.org' }])
    expect(reply.headers['content-type']).toBe(type.split(';')[0])
  }
  const unknown = await exchange(desk, { body: rpc('message/send', {}) })
  expect([unknown.status, errorOf(unknown).code]).toEqual([200, -32601])
})

test('a version is asked for by header or query; none means 0.3, which is not served', async () => {
  const house = await openDeskHouse()
  const codeFor = async (version: string | undefined, query = ''): Promise<Fault> => {
    const headers = { 'a2a-version': version ?? '' }
    const body = rpc('GetTask', { id: 'none' })
    return errorOf(await exchange(`${house.url}/a2a/desk${query}`, { body, headers }))
  }
  for (const version of ['1.0', '1.0.1', ' 1.0 '])
    expect((await codeFor(version)).code).toBe(-32001)
  expect((await codeFor('0.3', '?A2A-Version=1.0')).code).toBe(-32009)
  for (const version of [undefined, '0.3', '2.0', '1.1', 'latest']) {
    const fault = await codeFor(version)
    expect(fault).toMatchObject({
      code: -32009,
      message: expect.stringContaining('A2A-Version: 1.0'),
      data: [{ reason: 'VERSION_NOT_SUPPORTED', metadata: { supportedVersions: '1.0' } }],
    })
  }
  const { authorization, 'content-type': type } = HEADERS
  const bare = await fetch(`${house.url}/a2a/desk/?a2a-version=1.0`, {
    method: 'POST',
    headers: { authorization, 'content-type': type },
    body: rpc('GetTask', { id: 'none' }),
  })
  expect(await bare.text()).toContain('-32001')
})

test('arguments arrive as they were written, digits beyond 2^53 too; unknown fields are passed over', async () => {
  const house = await openDeskHouse()
  const args = '{"query":"x", "n": 9007199254740993, "unit": 1.0}'
  const body = `{"jsonrpc":"2.0","extra":1,"id":1,"method":"SendMessage","params":{"odd":[],"message":{"message_id":"m","role":"ROLE_USER","odd":{},"parts":[{"text":"about"},{"data":{"skill":"find","arguments":${args}},"odd":1}]}}}`
  const task = taskOf(await exchange(`${house.url}/a2a/many`, { body }))
  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(house.received).toEqual([`{"name":"docs_search_documents","arguments":${args}}`])
})

test('a lost connection cancels nothing: the same message finds its task, and an equal act is its twin', async () => {
  const house = await openDeskHouse()
  const many = `${house.url}/a2a/many`
  const parts = [{ data: { skill: 'wait', arguments: { n: 1 } } }]
  const body = rpc('SendMessage', { message: message(parts, { messageId: 'm-1' }) })
  const lost = request(many, { method: 'POST', headers: HEADERS })
  lost.on('error', () => undefined)
  lost.end(body)
  await house.arrived()
  lost.destroy()
  const twin = await until(async () => {
    const reply = await exchange(many, {
      body: rpc('SendMessage', {
        message: message(parts),
        configuration: { returnImmediately: true },
      }),
    })
    const { metadata } = taskOf(reply)
    return metadata?.['comity/outcome']['code'] === 'unsettled_twin' ? metadata : undefined
  })
  expect(twin['comity/outcome']).toMatchObject({ state: 'unknown', ran: 'unknown' })
  const sent = house.received.length
  const again = exchange(many, { body })
  house.release()
  expect(taskOf(await again).status.state).toBe('TASK_STATE_COMPLETED')
  expect(house.received).toHaveLength(sent)
})

test('a blocking send has an end: the task comes as it stands', async () => {
  const house = await openDeskHouse({ limits: { callMs: 50 } })
  const body = rpc('SendMessage', { message: message([{ data: { skill: 'wait' } }]) })
  const task = taskOf(await exchange(`${house.url}/a2a/many`, { body }))
  expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
})

test('memory is bounded: a forgotten task is told from its row, a running one is not forgotten', async () => {
  const house = await openDeskHouse({ limits: { maxHeld: 2 } })
  const many = `${house.url}/a2a/many`
  const send = async (data: unknown): Promise<Reply> =>
    exchange(many, {
      body: rpc('SendMessage', {
        message: message([{ data }]),
        configuration: { returnImmediately: true },
      }),
    })
  const get = async (id: string): Promise<Reply> => exchange(many, { body: rpc('GetTask', { id }) })
  const lost = taskOf(await send({ skill: 'lose' }))
  const asking = taskOf(await send({ skill: 'none' }))
  expect(asking.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const running = [taskOf(await send({ skill: 'wait', arguments: { n: 1 } }))]
  running.push(taskOf(await send({ skill: 'wait', arguments: { n: 2 } })))
  expect(errorOf(await get(asking.id)).code).toBe(-32001)
  const row = JSON.parse((await get(lost.id)).text) as { readonly result: WireTask }
  expect(row.result.status.state).toBe('TASK_STATE_UNSPECIFIED')
  expect(row.result.metadata?.['comity/outcome']).toEqual({
    state: 'unknown',
    callId: expect.stringMatching(/^c-/u),
    taskId: lost.id,
    ran: 'unknown',
  })
  expect(row.result.status.message?.parts[0]?.text).toContain('comity explain')
  const refused = errorOf(await send({ skill: 'find', arguments: { query: 'x' } }))
  expect([refused.code, refused.message]).toEqual([-32603, expect.stringContaining('running')])
  house.release()
})

test('closing takes nothing new and says of stopped work that nobody knows', async () => {
  const house = await openDeskHouse({ limits: { drainMs: 50 } })
  const many = `${house.url}/a2a/many`
  const body = rpc('SendMessage', { message: message([{ data: { skill: 'wait' } }]) })
  const running = exchange(many, { body })
  await house.arrived()
  const stopped = house.stop()
  const late = await exchange(many, { body: rpc('GetTask', { id: 'x' }) })
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1'])
  expect(taskOf(await running).status.state).toBe('TASK_STATE_UNSPECIFIED')
  await stopped
})

test('a fault of ours is not told in its own words, and not blamed on the caller', async () => {
  const faults: unknown[] = []
  const house = await openDeskHouse({
    authenticate: () => Promise.reject(new Error('secret detail')),
    report: (fault) => void faults.push(fault),
  })
  const reply = await exchange(`${house.url}/a2a/desk`, { body: rpc('GetTask', { id: 'x' }) })
  expect([reply.status, reply.text.includes('secret')]).toEqual([500, false])
  expect(faults).toHaveLength(1)
})

async function until<T>(check: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + 10_000
  while (Date.now() < end) {
    const found = await check()
    if (found !== undefined) return found
  }
  throw new Error('the condition did not come to hold in time')
}

/**
 * The documents server on the wire, byte by byte: what official clients never send.
 */
import { expect, test } from 'vitest'
import { createFolder, startHttp, startStdio, TOKENS } from './documents-folder.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

interface Sent {
  readonly version?: string
  readonly capabilities?: object
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Received {
  readonly status: number
  readonly body: {
    readonly id?: unknown
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
    readonly result?: Readonly<Record<string, unknown>>
  }
}

/** One modern request with its headers. */
async function post(
  url: string,
  id: unknown,
  method: string,
  params: Readonly<Record<string, unknown>>,
  { version = '2026-07-28', capabilities = {}, token, headers }: Sent = {},
): Promise<Received> {
  const name = params.name ?? params.uri
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: message(id, method, params, version, capabilities),
  })
  return { status: response.status, body: (await response.json()) as Received['body'] }
}

function message(
  id: unknown,
  method: string,
  params: Readonly<Record<string, unknown>>,
  version = '2026-07-28',
  capabilities: object = {},
): string {
  const _meta = { [VERSION]: version, [CAPABILITIES]: capabilities }
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
}

test('R166 over HTTP: unknown method, wrong version and the id that comes back', async () => {
  const url = await startHttp(createFolder())
  expect(await post(url, 'a-1', 'documents/guess', {})).toMatchObject({
    status: 404,
    body: { id: 'a-1', error: { code: -32601 } },
  })
  expect(await post(url, 7, 'tools/list', {}, { version: '2099-01-01' })).toMatchObject({
    status: 400,
    body: {
      id: 7,
      error: {
        code: -32022,
        data: { requested: '2099-01-01', supported: expect.arrayContaining(['2026-07-28']) },
      },
    },
  })
  const found = await post(url, 'x', 'tools/call', {
    name: 'search_documents',
    arguments: { query: 'retention' },
  })
  expect(found).toMatchObject({
    status: 200,
    body: { id: 'x', result: { resultType: 'complete', structuredContent: { requestId: 'x' } } },
  })
  expect(await post(url, 8, 'skills/list', {})).toMatchObject({
    status: 404,
    body: { id: 8 },
  })
  expect(await post(url, 9, 'tools/call', { name: 'delete_document' })).toMatchObject({
    body: { id: 9, error: { code: -32602 } },
  })
})

test('R166 over stdio: unknown method, wrong version and the id that comes back', async () => {
  const peer = startStdio(createFolder())
  expect(await peer.exchange(message('a-1', 'documents/guess', {}))).toMatchObject({
    id: 'a-1',
    error: { code: -32601 },
  })
  expect(await peer.exchange(message(7, 'tools/list', {}, '2099-01-01'))).toMatchObject({
    id: 7,
    error: { code: -32022, data: { requested: '2099-01-01' } },
  })
  expect(await peer.exchange('{"jsonrpc":"2.0","id":1,')).toMatchObject({
    error: { code: -32700 },
  })
  const initialize = {
    protocolVersion: '1999-01-01',
    capabilities: {},
    clientInfo: { name: 'journey', version: '0' },
  }
  expect(
    await peer.exchange(
      JSON.stringify({ jsonrpc: '2.0', id: 'i', method: 'initialize', params: initialize }),
    ),
  ).toMatchObject({ id: 'i', result: { protocolVersion: '2025-11-25' } })
  expect(
    await peer.exchange(JSON.stringify({ jsonrpc: '2.0', id: 'u', method: 'documents/guess' })),
  ).toMatchObject({ id: 'u', error: { code: -32601 } })
  expect(await peer.end()).toEqual({ code: 0, rest: [] })
})

test('R169: an unknown token is refused, and so is a page from another site', async () => {
  const url = await startHttp(createFolder())
  expect(await post(url, 1, 'tools/list', {}, { token: 'token-of-nobody' })).toMatchObject({
    status: 401,
  })
  expect(
    await post(url, 1, 'tools/list', {}, { headers: { origin: 'http://evil.example' } }),
  ).toMatchObject({ status: 403 })
  expect((await fetch(new URL('/', url))).status).toBe(404)
})

test('a document hidden from the caller and one that does not exist get the same error', async () => {
  const url = await startHttp(createFolder())
  const hidden = await post(url, 1, 'resources/read', { uri: 'docs://docs/D4.md' })
  const absent = await post(url, 1, 'resources/read', { uri: 'docs://docs/D9.md' })
  expect(hidden.body.error).toMatchObject({ code: -32602 })
  expect(JSON.stringify(hidden)).toBe(JSON.stringify(absent).replaceAll('D9', 'D4'))
  const { body } = await post(
    url,
    1,
    'resources/read',
    { uri: 'docs://docs/D4.md' },
    { token: TOKENS.alice },
  )
  expect(body.result).toMatchObject({ contents: [{ _meta: { version: 'secret-4' } }] })
})

test('the state of a question is good once, for its caller and its call, and not when changed', async () => {
  const url = await startHttp(createFolder())
  const asking = { capabilities: { elicitation: { form: {} } }, token: TOKENS.alice }
  const call = { name: 'export_report', arguments: { document: 'docs/D4.md' } }
  const asked = await post(url, 1, 'tools/call', call, asking)
  expect(asked.body.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: {
      language: {
        method: 'elicitation/create',
        params: {
          mode: 'form',
          requestedSchema: { required: ['language'] },
        },
      },
    },
  })
  const requestState = String(asked.body.result?.requestState)
  const inputResponses = { language: { action: 'accept', content: { language: 'en' } } }
  const answered = { ...call, inputResponses, requestState }

  const changed = requestState.replace(/.$/u, (last) => (last === 'A' ? 'B' : 'A'))
  for (const [params, sent] of [
    [{ ...answered, requestState: changed }, asking],
    [answered, { ...asking, token: TOKENS.bob }],
    [{ ...answered, arguments: { document: 'docs/D1.md' } }, asking],
  ] as const) {
    expect((await post(url, 2, 'tools/call', params, sent)).body.error).toMatchObject({
      code: -32602,
    })
  }
  const silent = { ...answered, inputResponses: { other: { action: 'accept' } } }
  const again = await post(url, 3, 'tools/call', silent, asking)
  expect(again.body.result).toMatchObject({ resultType: 'input_required' })

  const second = { ...answered, requestState: String(again.body.result?.requestState) }
  expect((await post(url, 4, 'tools/call', second, asking)).body.result).toMatchObject({
    structuredContent: { document: 'docs/D4.md', language: 'en' },
  })
  const replayed = await post(url, 5, 'tools/call', second, asking)
  expect(replayed.body.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('it was used already') }],
  })
})

test('an argument is completed with documents that the caller may see, and with no others', async () => {
  const url = await startHttp(createFolder())
  const complete = async (ref: object, name: string, value: string, sent?: Sent) => {
    const { body } = await post(
      url,
      1,
      'completion/complete',
      { ref, argument: { name, value } },
      sent,
    )
    return body.result?.completion
  }
  const prompt = { type: 'ref/prompt', name: 'compare_versions' }
  const all = ['docs/D1.md', 'docs/D2.txt', 'docs/D3.yaml']
  expect(await complete(prompt, 'from', '')).toEqual({ values: all, total: 3, hasMore: false })
  expect(await complete(prompt, 'to', 'd4')).toEqual({ values: [], total: 0, hasMore: false })
  expect(await complete(prompt, 'to', 'd4', { token: TOKENS.alice })).toMatchObject({
    values: ['docs/D4.md'],
  })
  const template = { type: 'ref/resource', uri: 'docs://{+document}' }
  expect(await complete(template, 'document', 'docs/D2')).toMatchObject({ values: ['docs/D2.txt'] })
  expect(await complete(prompt, 'language', 'z')).toMatchObject({ values: ['zh'] })
  expect(await complete(prompt, 'focus', 'x')).toMatchObject({ values: [] })
})

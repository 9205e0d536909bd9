import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import {
  createGuardedFetch,
  refuseAddress,
  type GuardOptions,
  type ResolveName,
} from './guarded-fetch.ts'
import { serveHttp } from './http-server.fixture.ts'

const LOOPBACK_PEER = ['http://127.0.0.1:1/mcp']
const PUBLIC_PEER = ['https://peer.example/mcp']

function ask(operators: readonly string[], url: string, options: GuardOptions = {}) {
  const { signal } = new AbortController()
  return createGuardedFetch(operators, options)({ url, what: 'the metadata', signal })
}

/** Names as a DNS server would have them, one answer after the other. */
function names(table: Record<string, string[]>): { resolveName: ResolveName; asked: string[] } {
  const asked: string[] = []
  const resolveName: ResolveName = (hostname, _options, callback) => {
    asked.push(hostname)
    const found = (table[hostname] ?? []).map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }))
    if (found.length > 0) return callback(null, found)
    callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), [])
  }
  return { resolveName, asked }
}

test('JSON of a loopback server is read for a peer on loopback', async () => {
  const server = await serveHttp({ '/a': { json: { issuer: 'x' } } })
  expect(await ask(LOOPBACK_PEER, `${server.url}/a`)).toMatchObject({
    status: 200,
    json: { issuer: 'x' },
  })
  expect(server.asked[0]?.headers.accept).toBe('application/json')
})

test.each([
  ['http://127.0.0.1:PORT/a'],
  ['http://localhost:PORT/a'],
  ['https://127.0.0.1:PORT/a'],
  ['https://localhost:PORT/a'],
  ['https://0x7f.1:PORT/a'],
  ['https://2130706433:PORT/a'],
  ['https://[::ffff:127.0.0.1]:PORT/a'],
  ['https://[::1]:PORT/a'],
  ['https://10.0.0.1/a'],
  ['https://[::ffff:10.0.0.1]/a'],
  ['https://100.64.0.1/a'],
  ['https://169.254.169.254/latest/meta-data'],
  ['http://169.254.169.254/latest/meta-data'],
  ['https://[fe80::1]/a'],
  ['https://[fd00:ec2::254]/a'],
])('for a public peer %s is not gone to', async (url) => {
  const server = await serveHttp({ '/a': { json: {} } })
  const failed = ask(PUBLIC_PEER, url.replace('PORT', String(server.port)))
  await expect(failed).rejects.toMatchObject({ reason: 'forbidden_address' })
  expect(server.asked).toEqual([])
})

test('a name that resolves to loopback is judged by the address that is dialled', async () => {
  const server = await serveHttp({ '/a': { json: {} } })
  const dns = names({ 'auth.example': ['127.0.0.1'], 'peer.example': ['93.184.216.34'] })
  const failed = ask(PUBLIC_PEER, `https://auth.example:${server.port}/a`, dns)
  await expect(failed).rejects.toMatchObject({
    reason: 'forbidden_address',
    message: `the metadata is said to be at https://auth.example:${server.port}/a, where we do not go: it is in a network of its own`,
  })
  expect(server.asked).toEqual([])
})

test('one bad address among good ones is enough', async () => {
  const dns = names({ 'auth.example': ['93.184.216.34', '169.254.169.254'] })
  await expect(ask(PUBLIC_PEER, 'https://auth.example/a', dns)).rejects.toMatchObject({
    reason: 'forbidden_address',
  })
})

test('a peer on loopback does not open private networks, nor names that come to mean loopback', async () => {
  const server = await serveHttp({ '/a': { json: {} } })
  const dns = names({ 'auth.example': ['127.0.0.1'] })
  for (const url of ['https://10.0.0.1/a', `https://auth.example:${server.port}/a`]) {
    await expect(ask(LOOPBACK_PEER, url, dns)).rejects.toMatchObject({
      reason: 'forbidden_address',
    })
  }
  expect(server.asked).toEqual([])
})

test('a peer in a private network may have its authorization server in one, and metadata services stay shut', async () => {
  const dns = names({
    'mcp.corp.example': ['10.1.2.3'],
    'sso.corp.example': ['10.255.255.1'],
    'evil.corp.example': ['169.254.169.254'],
  })
  const options = { ...dns, timeoutMs: 300 }
  const peer = ['https://mcp.corp.example/mcp']
  await expect(ask(peer, 'https://sso.corp.example/a', options)).rejects.toMatchObject({
    // It was dialled: nobody is there.
    reason: 'unreachable',
  })
  for (const url of ['https://evil.corp.example/a', 'https://127.0.0.1/a', 'http://10.1.2.4/a']) {
    await expect(ask(peer, url, options)).rejects.toMatchObject({ reason: 'forbidden_address' })
  }
})

test('an origin that the operator named is his to name, but a name of his never comes to mean a metadata service', async () => {
  const server = await serveHttp({ '/a': { json: { a: 1 } } })
  const own = `http://intranet.example:${server.port}/mcp`
  const dns = names({ 'intranet.example': ['127.0.0.1'] })
  expect(await ask([own], new URL('/a', own).href, dns)).toMatchObject({ json: { a: 1 } })
  const flipped = names({ 'intranet.example': ['169.254.169.254'] })
  await expect(ask([own], new URL('/a', own).href, flipped)).rejects.toMatchObject({
    reason: 'forbidden_address',
  })
})

test('redirects are followed by hand, each judged, and lose credentials elsewhere', async () => {
  const other = await serveHttp({ '/b': { json: { from: 'other' } } })
  const server = await serveHttp({
    '/a': { status: 302, headers: { location: `${other.url}/b` } },
    '/private': { status: 302, headers: { location: 'https://10.0.0.1/' } },
    '/metadata': { status: 307, headers: { location: 'http://169.254.169.254/latest' } },
    '/file': { status: 301, headers: { location: 'file:///etc/passwd' } },
    '/loop': { status: 301, headers: { location: '/loop' } },
  })
  const guarded = createGuardedFetch(LOOPBACK_PEER)
  const { signal } = new AbortController()
  const headers = { authorization: 'Basic c2VjcmV0', accept: 'application/json' }
  const request = { what: 'it', signal, headers }
  expect(await guarded({ ...request, url: `${server.url}/a` })).toMatchObject({
    json: { from: 'other' },
  })
  expect(server.asked[0]?.headers.authorization).toBeDefined()
  expect(other.asked[0]?.headers.authorization).toBeUndefined()
  for (const path of ['/private', '/metadata', '/file']) {
    await expect(guarded({ ...request, url: server.url + path })).rejects.toMatchObject({
      reason: 'forbidden_address',
    })
  }
  await expect(guarded({ ...request, url: `${server.url}/loop` })).rejects.toMatchObject({
    message: expect.stringContaining('redirects more than 3 times'),
  })
  expect(server.lines().filter((line) => line === 'GET /loop')).toHaveLength(4)
})

test('a POST is never moved elsewhere', async () => {
  const other = await serveHttp({ '/token': { json: {} } })
  const server = await serveHttp({
    '/token': { status: 307, headers: { location: `${other.url}/token` } },
  })
  const answer = await createGuardedFetch(LOOPBACK_PEER)({
    url: `${server.url}/token`,
    what: 'the token endpoint',
    method: 'POST',
    body: 'code=secret',
    signal: new AbortController().signal,
  })
  expect([answer.status, other.asked]).toEqual([307, []])
})

test('a body has a measure, and is not read beyond it', async () => {
  let sent = 0
  const blanks = function* () {
    for (; sent < 500; sent += 1) yield Buffer.alloc(64 * 1024, 32)
  }
  const server = await serveHttp({
    '/giant': async (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      await pipeline(Readable.from(blanks()), response).catch(() => undefined)
      return undefined
    },
  })
  await expect(ask(LOOPBACK_PEER, `${server.url}/giant`)).rejects.toMatchObject({
    reason: 'unreachable',
    message: expect.stringContaining('answered with more than 262144 bytes'),
  })
  expect(sent).toBeLessThan(500)
})

test('one that drips is not waited for', async () => {
  const server = await serveHttp({
    '/slow': (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
      return undefined
    },
  })
  await expect(ask(LOOPBACK_PEER, `${server.url}/slow`, { timeoutMs: 200 })).rejects.toMatchObject({
    reason: 'unreachable',
    message: `the metadata at ${server.url}/slow did not answer in time`,
  })
})

test('what is no JSON object is told in words, and not parsed', async () => {
  const server = await serveHttp({
    '/html': { text: '<p>{}</p>' },
    '/array': { json: [] },
    '/broken': { text: '{', headers: { 'content-type': 'application/json' } },
    '/suffix': {
      text: '{"a":1}',
      headers: { 'content-type': 'Application/foo+JSON; charset=utf-8' },
    },
  })
  const at = (path: string) => ask(LOOPBACK_PEER, server.url + path)
  expect(await at('/html')).toMatchObject({ json: undefined, instead: '200 with text/html' })
  expect(await at('/array')).toMatchObject({ json: undefined })
  expect(await at('/broken')).toMatchObject({ json: undefined })
  expect(await at('/suffix')).toMatchObject({ json: { a: 1 } })
})

test('whoever gives up gets the reason back; a failure shows no query', async () => {
  const stop = new AbortController()
  stop.abort(new Error('enough'))
  const guarded = createGuardedFetch(LOOPBACK_PEER)
  const url = 'http://127.0.0.1:1/a?secret=1'
  await expect(guarded({ url, what: 'it', signal: stop.signal })).rejects.toThrow('enough')
  await expect(ask(LOOPBACK_PEER, url)).rejects.toMatchObject({
    message: 'the metadata at http://127.0.0.1:1/a cannot be reached (ECONNREFUSED)',
  })
})

test.each([
  ['javascript:alert(1)', 'it is javascript: and not https:'],
  ['file:///c:/x.exe', 'it is file: and not https:'],
  ['a:$(calc)', 'it is a: and not https:'],
  ['--flag', 'it is no URL'],
  ['http://x/" & calc', 'it is http: and not https:'],
  ['https://user:pass@auth.example/', 'it has a user name in it'],
  ['https://auth.example/authorize', undefined],
])('the address %s', (url, why) => {
  expect(refuseAddress(url, PUBLIC_PEER)).toBe(why)
})

test('what is asked for is asked for as it is; what comes packed all the same is not unpacked, and told', async () => {
  const answer = { json: { issuer: 'x' } }
  const server = await serveHttp({
    '/polite': ({ headers }) =>
      headers['accept-encoding'] === 'identity' ? answer : { status: 406 },
    '/packed': (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      response.end(gzipSync(Buffer.alloc(50_000_000)))
      return undefined
    },
  })
  expect((await ask(LOOPBACK_PEER, `${server.url}/polite`)).json).toEqual(answer.json)
  expect(await ask(LOOPBACK_PEER, `${server.url}/packed`)).toMatchObject({
    json: undefined,
    instead: '200 packed as gzip',
  })
})

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Host } from './compose/host.ts'
import { openHost } from './compose/open-host.ts'
import { loadConfig } from './config/load-config.ts'
import { type Gateway, serveGateway } from './http.ts'

let folder: string
let host: Host | undefined
let gateway: Gateway | undefined

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-http-')))
})

afterEach(async () => {
  await gateway?.close()
  await host?.close()
  gateway = undefined
  host = undefined
  rmSync(folder, { recursive: true, force: true })
})

/** Serves a desk with a token at every address. @returns the port. */
async function serve(listen: object): Promise<string> {
  const file = join(folder, 'comity.yaml')
  const config = {
    mcpServers: { peer: { command: 'not-started' } },
    publish: { desk: { description: 'A desk.', skills: { go: { route: 'peer/go' } } } },
    tokens: { alice: { token: 't-alice' } },
    store: 'sqlite:./comity.db',
    listen: { host: '0.0.0.0', port: 0, ...listen },
  }
  writeFileSync(file, JSON.stringify(config))
  const loaded = loadConfig(file, { HOME: folder })
  host = await openHost({ config: loaded, peers: 'none', parentEnvironment: {} })
  gateway = await serveGateway(host, loaded.listen)
  return new URL(gateway.url).port
}

/** A request on a bare socket, so that Host and Origin are ours to set. */
function ask(
  port: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', headers },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** How both doors answer a ping under these headers. */
async function statuses(
  port: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly number[]> {
  const all = {
    authorization: 'Bearer t-alice',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'a2a-version': '1.0',
    ...headers,
  }
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'raw', version: '0' },
    },
  }
  const getTask = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }
  const mcp = await ask(port, '/mcp', all, initialize)
  const a2a = await ask(port, '/a2a/desk', all, getTask)
  return [mcp.status, a2a.status]
}

const cardUrls = async (port: string): Promise<readonly string[]> => {
  const { text } = await ask(port, '/a2a/desk/.well-known/agent-card.json', {})
  const card = JSON.parse(text) as { supportedInterfaces: readonly { url: string }[] }
  return card.supportedInterfaces.map(({ url }) => url)
}

test('listen.url and listen.hosts name what is served beyond the bound address, at both doors', async () => {
  const port = await serve({
    url: 'https://Gw.example/comity/',
    hosts: ['gw-internal', '2001:DB8::0:1', '192.0.2.7'],
  })
  const served = [
    { host: 'gw.example' },
    { host: 'gw.example', origin: 'https://gw.example' },
    { host: `gw-internal:${port}` },
    { host: `[2001:db8::1]:${port}` },
    { host: `192.0.2.7:${port}` },
    { host: `127.0.0.1:${port}` },
  ]
  for (const headers of served) expect(await statuses(port, headers)).toEqual([200, 200])
  for (const headers of [
    { host: 'rebound.example' },
    { host: 'gw.example.rebound.example' },
    { host: 'gw.example', origin: 'https://page.example' },
  ])
    expect(await statuses(port, headers)).toEqual([403, 403])
})

test('cards name listen.url; without it an address that others can reach', async () => {
  expect(await cardUrls(await serve({ url: 'https://Gw.example/comity/' }))).toEqual([
    'https://gw.example/comity/a2a/desk',
  ])
  await gateway?.close()
  await host?.close()
  const port = await serve({})
  for (const url of await cardUrls(port)) {
    const { hostname, port: named, pathname } = new URL(url)
    expect([named, pathname]).toEqual([port, '/a2a/desk'])
    expect(hostname).not.toBe('0.0.0.0')
    expect(await statuses(port, { host: `${hostname}:${port}` })).toEqual([200, 200])
  }
})

test('an IPv6 address is bound with or without brackets and served in its bracketed form', async () => {
  for (const address of ['::1', '[::1]']) {
    await serve({ host: address })
    expect(gateway?.url).toMatch(/^http:\/\/\[::1\]:\d+$/u)
    expect((await fetch(`${gateway?.url}/a2a/desk/.well-known/agent-card.json`)).status).toBe(200)
    await gateway?.close()
    await host?.close()
  }
})

test('a target that names its host too is served as its path alone is', async () => {
  const port = await serve({})
  const origin = `http://127.0.0.1:${port}`
  const { status, text } = await ask(port, `${origin}/healthz?at=once`, {})
  expect([status, JSON.parse(text)]).toEqual([200, { status: 'ok' }])
  const headers = { host: `127.0.0.1:${port}`, authorization: 'Bearer t-alice' }
  expect((await ask(port, `${origin}/mcp`, headers)).status).toBe(405)
})

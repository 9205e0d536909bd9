/** The probe with what a gateway adds: a true compiler of schemas, logins that are learned and not made, a peer's own credentials. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { RULES } from '../../mcp/probe/rules.ts'
import { brokenRules } from '../../mcp/probe/run-probe.fixture.ts'
import { serveSound } from '../../mcp/probe/sound-server.fixture.ts'
import { loadConfig } from '../config/load-config.ts'
import { probe, type ProbeReport } from './probe.ts'

const probeUrl = (url: string): Promise<ProbeReport> =>
  probe({ kind: 'url', url }, process.env, new AbortController().signal)

interface Login {
  /** Of a 401; `undefined` sends none. Default names the metadata. */
  readonly challenge?: string | undefined
  /** Over the sound metadata of the resource; `null` for none. */
  readonly resource?: object | null
  /** Over the sound metadata of the authorization server; `null` for none. */
  readonly server?: object | null
  /** What lets a request through. */
  readonly token?: string
  readonly onRequest?: (request: IncomingMessage) => void
}

/** A server that wants a login, its metadata and its authorization server, all in one place. */
async function serveLogin(login: Login = {}, behind?: string): Promise<string> {
  const server = createServer((request, response) => {
    login.onRequest?.(request)
    const origin = `http://${request.headers.host}`
    void answer(request, response, origin, login, behind)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  origin: string,
  login: Login,
  behind: string | undefined,
): Promise<void> {
  const place = `${origin}/.well-known/oauth-protected-resource/mcp`
  const json = (body: object | null | undefined, sound: object): void => {
    if (body === null) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...sound, ...body }))
  }
  const { url = '' } = request
  switch (url) {
    case '/.well-known/oauth-protected-resource/mcp':
      return json(login.resource, {
        resource: `${origin}/mcp`,
        authorization_servers: [`${origin}/issuer`],
        scopes_supported: ['notes:read'],
      })
    case '/.well-known/oauth-authorization-server/issuer':
      return json(login.server, {
        issuer: `${origin}/issuer`,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        client_id_metadata_document_supported: true,
        code_challenge_methods_supported: ['S256'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
      })
    case '/mcp': {
      const isIn = login.token !== undefined && request.headers.authorization === login.token
      if (isIn && behind !== undefined) return relay(request, response, behind)
      const said =
        'challenge' in login
          ? login.challenge
          : `Bearer resource_metadata="${place}", scope="notes:read"`
      response.writeHead(401, said === undefined ? {} : { 'www-authenticate': said })
      return void response.end()
    }
    default:
      response.writeHead(404).end()
  }
}

async function relay(
  request: IncomingMessage,
  response: ServerResponse,
  to: string,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const kept = Object.entries(request.headers).filter(([name]) =>
    /^(?:mcp-|content-type|accept|origin)/.test(name),
  )
  const answered = await fetch(to, {
    method: request.method ?? 'POST',
    headers: Object.fromEntries(kept) as Record<string, string>,
    ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
  })
  response.writeHead(answered.status, {
    'content-type': answered.headers.get('content-type') ?? 'application/json',
  })
  response.end(await answered.text())
}

test('a server that wants a login is told apart from one that is not there, and how to log in is learned', async () => {
  const url = await serveLogin()
  const report = await probeUrl(url)
  const { origin } = new URL(url)
  expect(report.reached).toBe(true)
  expect(report.findings).toEqual([])
  expect(report.auth).toMatchObject({
    wanted: true,
    challenges: [{ scheme: 'bearer', scope: 'notes:read' }],
    metadata: { resource: url, servers: [`${origin}/issuer`], scopes: ['notes:read'] },
    servers: [
      {
        issuer: `${origin}/issuer`,
        found: true,
        registration: ['client ID metadata document', 'dynamic', 'by hand'],
        pkce: ['S256'],
      },
    ],
  })
  expect(report.skipped.join()).toContain('behind the login')
})

test('nothing is registered, authorized or granted by learning', async () => {
  const asked: string[] = []
  await probeUrl(
    await serveLogin({ onRequest: ({ method, url }) => asked.push(`${method} ${url}`) }),
  )
  expect(asked.filter((one) => /authorize|token|register/.test(one))).toEqual([])
})

describe('rules of logins', () => {
  const cases: Readonly<Record<string, Login>> = {
    'auth.challenge': { challenge: undefined },
    'auth.resource-metadata': { resource: { resource: 'https://other.example/mcp' } },
    'auth.server-metadata': { server: { issuer: 'https://other.example' } },
    'auth.pkce': { server: { code_challenge_methods_supported: ['plain'] } },
    'auth.registration': {
      server: { client_id_metadata_document_supported: false, registration_endpoint: undefined },
    },
    'deprecated.registration': { server: { client_id_metadata_document_supported: false } },
  }

  test.each(Object.entries(cases))('%s', async (rule, login) => {
    expect(brokenRules(await probeUrl(await serveLogin(login)))).toEqual([rule])
  })

  test('no metadata at all, anywhere', async () => {
    const report = await probeUrl(await serveLogin({ resource: null }))
    expect(brokenRules(report)).toEqual(['auth.resource-metadata'])
    expect(report.findings[0]?.saw).toContain('404')
  })

  test('all of them are here', () => {
    const rules = Object.keys(RULES).filter((rule) =>
      /^auth\.|^deprecated\.registration$/.test(rule),
    )
    expect(Object.keys(cases).toSorted()).toEqual(rules.toSorted())
  })
})

test('metadata that leads into a private network is not gone to', async () => {
  const url = await serveLogin({
    challenge: 'Bearer resource_metadata="http://169.254.169.254/latest"',
    resource: null,
  })
  const { auth } = await probeUrl(url)
  expect(auth?.tried[0]?.what).toContain('http')
})

test('schemas go through the compiler that calls go through', async () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'nonsense' } } }
  const tools = [{ name: 'odd', description: 'Odd.', inputSchema }]
  const report = await probeUrl(await serveSound({ era: 'modern', tools }))
  expect(brokenRules(report)).toEqual(['tool.schema-invalid'])
  expect(report.findings[0]).toMatchObject({ place: 'tool odd, inputSchema', severity: 'error' })
})

test('a schema beyond the bounds of the compiler is large, and not invalid', async () => {
  const deep = JSON.parse(`${'{"not":'.repeat(110)}{}${'}'.repeat(110)}`) as object
  const tools = [{ name: 'deep', description: 'Deep.', inputSchema: { type: 'object', ...deep } }]
  const report = await probeUrl(await serveSound({ era: 'modern', tools }))
  expect(brokenRules(report)).toEqual(['tool.schema-large'])
})

describe('a configured peer', () => {
  const configOf = (mcpServers: object): ReturnType<typeof loadConfig> => {
    const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'comity.yaml')
    writeFileSync(file, JSON.stringify({ mcpServers, store: 'sqlite:./comity.db' }))
    return loadConfig(file, {})
  }
  const probePeer = (name: string, mcpServers: object): Promise<ProbeReport> =>
    probe(
      { kind: 'peer', name, config: configOf(mcpServers) },
      process.env,
      new AbortController().signal,
    )

  test('is seen with its own credentials, which stand nowhere in the report; a stranger is seen too', async () => {
    const token = 'Bearer secret-of-the-notes'
    const behind = await serveSound({
      era: 'modern',
      tools: [
        {
          name: 'leak',
          description: 'secret-of-the-notes',
          inputSchema: { type: 'secret-of-the-notes' },
        },
      ],
    })
    const bore: unknown[] = []
    const url = await serveLogin(
      {
        token,
        onRequest: ({ headers, url: path }) => path === '/mcp' && bore.push(headers.authorization),
      },
      behind,
    )
    const report = await probePeer('notes', { notes: { url, headers: { Authorization: token } } })
    expect(report).toMatchObject({
      reached: true,
      target: { peer: 'notes' },
      auth: { wanted: true },
    })
    expect(report.lists[0]).toMatchObject({ items: 1 })
    expect(bore[0]).toBeUndefined()
    expect(bore.at(-1)).toBe(token)
    expect(JSON.stringify(report)).not.toContain('secret-of-the-notes')
  })

  test('an address alone bears nothing, whoever is configured', async () => {
    const bore = new Set<unknown>()
    const url = await serveLogin({
      onRequest: ({ headers }) => void bore.add(headers.authorization),
    })
    await probeUrl(url)
    expect([...bore]).toEqual([undefined])
  })

  test('that nobody is logged in to is told apart from a broken one, with the command that logs in', async () => {
    const asked: string[] = []
    const url = await serveLogin({
      onRequest: ({ method, url: path }) => asked.push(`${method} ${path}`),
    })
    const report = await probePeer('notes', { notes: { url } })
    expect(report).toMatchObject({ reached: true, findings: [], auth: { wanted: true } })
    expect(report.unreachable).toContain('comity login notes')
    expect(asked.filter((one) => /authorize|token|register/.test(one))).toEqual([])
  })

  test('a name that nobody has is refused in words', async () => {
    await expect(probePeer('nobody', {})).rejects.toThrow('no peer is called nobody')
  })
})

test('an address with a password in it is refused before anything is sent', async () => {
  await expect(probeUrl('http://user:secret@127.0.0.1:9/mcp')).rejects.toThrow(
    'user name or password',
  )
})

describe('R075: an agent card is shown as what it answers', () => {
  const serveCard = async (over: (origin: string) => object = () => ({})): Promise<string> => {
    const server = createServer((request, response) => {
      const origin = `http://${request.headers.host}`
      if (request.method !== 'GET') return void response.writeHead(405).end()
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...soundCard(origin), ...over(origin) }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/agent-card.json`
  }

  const soundCard = (origin: string): object => ({
    name: 'Desk',
    description: 'Finds things.',
    version: '1.2.0',
    provider: { organization: 'Example', url: 'https://example.com' },
    capabilities: {},
    supportedInterfaces: [
      { url: `${origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'find', name: 'Find', description: 'Finds.', tags: [] }],
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { token: { list: ['read'] } } }],
  })

  test('who, what, how to reach, how to authenticate', async () => {
    const url = await serveCard()
    const { origin } = new URL(url)
    const report = await probeUrl(url)
    expect(report.reached).toBe(true)
    expect(report.card).toEqual({
      at: url,
      usable: true,
      who: 'Desk 1.2.0, by Example',
      description: 'Finds things.',
      does: [{ id: 'find', name: 'Find' }],
      reached: [`JSONRPC 1.0 at ${origin}/a2a`],
      authenticates: ['token (Authorization: Bearer) for read'],
      findings: [],
    })
  })

  test('one that cannot be used says why; one that is not there is not reached', async () => {
    const broken = await probeUrl(await serveCard(() => ({ skills: [] })))
    expect(broken).toMatchObject({ reached: true, card: { usable: false } })
    expect(broken.card?.findings[0]).toMatchObject({ severity: 'error', path: 'skills' })
    const gone = await probeUrl('http://127.0.0.1:9/.well-known/agent-card.json')
    expect(gone.reached).toBe(false)
  })
})

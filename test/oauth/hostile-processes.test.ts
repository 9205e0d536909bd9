/** Whole processes and servers that misbehave: ended in mid-renewal, killed in mid-renewal, and what they were told kept to themselves. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { serveAuthorization } from '../../src/gateway/auth/authorization-server.fixture.ts'
import type { Answer } from '../../src/gateway/auth/http-server.fixture.ts'
import { modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import {
  comity,
  createHome,
  start,
  startUp,
  until,
  type Home,
  type Up,
} from '../journeys/comity-process.fixture.ts'

let home: Home
const closers: (() => unknown)[] = []

beforeEach(() => {
  home = createHome({}, { COMITY_TOKEN_KEY: KEY })
  closers.push(() => home.remove())
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const KEY = Buffer.alloc(32, 9).toString('base64')
const READ = {
  name: 'read',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
}
const RENEWED = 'token refresh_token'

/** What the server does; the test changes it as it goes. */
interface Conduct {
  /** Access token that it takes. */
  good: string
  renew: () => Promise<Answer> | Answer
  /** What a call is answered with, by what it bore. */
  call: (token: string) => Answer | object
}

async function serve() {
  const conduct: Conduct = {
    good: 'ACCESS-1',
    renew: () => ({ status: 400, json: { error: 'invalid_grant' } }),
    call: () => ({ content: [{ type: 'text', text: 'read ran' }] }),
  }
  const asked: string[] = []
  const server = await serveAuthorization({
    token: async ({ body }) => {
      const grant = new URLSearchParams(body).get('grant_type') ?? ''
      asked.push(`token ${grant}`)
      if (grant === 'refresh_token') return conduct.renew()
      return {
        json: { access_token: 'ACCESS-1', token_type: 'Bearer', refresh_token: 'REFRESH-1' },
      }
    },
    answers: {
      '/mcp': ({ body, headers }) => {
        const token = headers.authorization?.replace('Bearer ', '') ?? ''
        if (token !== conduct.good)
          return { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }
        if (body === '') return { status: 405 }
        const { id, method } = JSON.parse(body) as { id: number; method: string }
        const rest = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' }
        const answer = (result: object): Answer => ({
          json: {
            jsonrpc: '2.0',
            id,
            ...('error' in result ? result : { result: { ...rest, ...result } }),
          },
        })
        if (method === 'server/discover')
          return answer({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
        if (method === 'tools/list') return answer({ tools: [READ] })
        const said = conduct.call(token)
        return 'status' in said ? (said as Answer) : answer(said)
      },
    },
  })
  home.configure({
    mcpServers: { docs: { url: `${server.url}/mcp` } },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  return { conduct, asked, server }
}

async function logIn(): Promise<void> {
  const running = start(home, ['login', 'docs', '--no-browser'])
  closers.push(() => running.stop())
  const address = await until('the address of the login', () => {
    const said = running.stdout() + running.stderr()
    return /^http:\S+\/authorize\?\S+$/mu.exec(said)?.[0]
  })
  const words = new URL(address).searchParams
  const back = new URL(words.get('redirect_uri') ?? '')
  back.search = new URLSearchParams({ code: 'CODE-1', state: words.get('state') ?? '' }).toString()
  expect((await fetch(back)).status).toBe(200)
  expect((await running.ended).code).toBe(0)
}

async function up(): Promise<Up> {
  const running = await startUp(home)
  closers.push(() => running.stop())
  return running
}

async function call({ url }: Up): Promise<string> {
  const params = { name: 'docs_read', arguments: {}, _meta: modernMeta() }
  return (await postModern(`${url}/mcp`, 'tools/call', params)).text
}

const listed = (running: Up) =>
  until('docs is listed', async () => {
    const { text } = await postModern(`${running.url}/mcp`, 'tools/list', { _meta: modernMeta() })
    return text.includes('docs_read') || undefined
  })

async function isGone(url: string): Promise<true | undefined> {
  return fetch(url).then(
    () => undefined,
    () => true,
  )
}

/** A renewal that rotates, and whose answer is held back until it is let go. */
function holdRenewal(conduct: Conduct) {
  const { promise, resolve: letGo } = Promise.withResolvers<void>()
  conduct.renew = async () => {
    conduct.good = 'ACCESS-2'
    // Whoever comes with the old one again comes too late.
    conduct.renew = () => ({ status: 400, json: { error: 'invalid_grant' } })
    await promise
    return { json: { access_token: 'ACCESS-2', token_type: 'Bearer', refresh_token: 'REFRESH-2' } }
  }
  conduct.good = 'none'
  return letGo
}

test('comity that is ended in mid-renewal keeps what it is given: the next one is logged in', async () => {
  const { conduct, asked } = await serve()
  await logIn()
  const first = await up()
  await listed(first)
  const letGo = holdRenewal(conduct)
  const called = call(first).catch(() => 'cut off')
  await until('the renewal is asked for', () => asked.includes(RENEWED) || undefined)
  first.signal('SIGTERM')
  await until('it listens no longer', () => isGone(first.url))
  letGo()
  await Promise.all([called, first.ended])
  const second = await up()
  await listed(second)
  expect(await call(second)).toContain('read ran')
  expect(asked).toEqual(['token authorization_code', RENEWED])
}, 60_000)

test('comity that is killed in mid-renewal costs one login, asked for once, and stops nobody', async () => {
  const { conduct, asked } = await serve()
  await logIn()
  const first = await up()
  await listed(first)
  const letGo = holdRenewal(conduct)
  const called = call(first).catch(() => 'cut off')
  await until('the renewal is asked for', () => asked.includes(RENEWED) || undefined)
  await first.stop('SIGKILL')
  letGo()
  await called
  const second = await up()
  await until('a call is told to log in', async () => {
    const text = await call(second)
    return text.includes('run: comity login docs') || undefined
  })
  await call(second)
  expect(asked).toEqual(['token authorization_code', RENEWED, RENEWED])
  conduct.good = 'ACCESS-1'
  await logIn()
  await listed(second)
  expect(await call(second)).toContain('read ran')
}, 90_000)

test('what a server repeats of its token in a fault reaches no caller, no log and no file', async () => {
  const { conduct } = await serve()
  await logIn()
  const running = await up()
  await listed(running)
  const said: string[] = []
  const faults: ((token: string) => Answer | object)[] = [
    (token) => ({ error: { code: -32_000, message: `bad token ${token}`, data: { token } } }),
    (token) => ({ status: 500, text: `no: Authorization: Bearer ${token}` }),
    (token) => ({
      status: 403,
      headers: {
        'www-authenticate': `Bearer error="insufficient_scope", error_description="${token}", scope="${token}"`,
      },
    }),
    (token) => ({ status: 307, headers: { location: `http://127.0.0.1:9/${token}` } }),
    (token) => ({
      status: 400,
      json: { jsonrpc: '2.0', id: null, error: { code: -32_600, message: token } },
    }),
  ]
  for (const fault of faults) {
    conduct.call = fault
    said.push(await call(running))
  }
  for (const args of [['doctor'], ['explain'], ['ledger'], ['status'], ['logs'], ['ls']])
    said.push(JSON.stringify(await comity(home, ...args)))
  const ended = await running.stop()
  said.push(ended.stdout, ended.stderr)
  const files = readdirSync(home.folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(home.folder, name))
    .filter((path) => statSync(path).isFile())
  for (const path of files) said.push(readFileSync(path, 'latin1'))
  for (const secret of ['ACCESS-1', 'REFRESH-1', 'CODE-1', KEY])
    expect(said.filter((text) => text.includes(secret)).map((text) => text.slice(0, 400))).toEqual(
      [],
    )
}, 90_000)

/** Servers that lie, repeat what was secret, or are never content: what a call is told, and what is asked of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import {
  replyTo,
  serveAuthorization,
  type TestWords,
} from '../../src/gateway/auth/authorization-server.fixture.ts'
import type { Answer } from '../../src/gateway/auth/http-server.fixture.ts'
import { createLoginDesk } from '../../src/gateway/auth/login-desk.ts'
import type { AuthConfig } from '../../src/gateway/auth/words.ts'
import { send, type AfterBegun } from './send.fixture.ts'

const BY_PERSON: AuthConfig = { grant: 'authorization_code', scopes: [] }
const MACHINE = {
  grant: 'client_credentials',
  client: { id: 'mine', secret: 'hush' },
} as const
const NEVER: Answer = { status: 401, headers: { 'www-authenticate': 'Bearer' } }

/** A peer of an authorization server by hand, and a gateway that calls it. */
async function open(words: TestWords = {}, auth: Partial<AuthConfig> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'comity-hostile-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const server = await serveAuthorization({
    ...words,
    answers: { '/mcp': NEVER, ...words.answers },
  })
  const notes: string[] = []
  const store = join(folder, 'comity.db')
  const desk = createLoginDesk({
    store,
    now: Date.now,
    note: (what) => notes.push(what),
  })
  onTestFinished(() => desk.close())
  const url = `${server.url}/mcp`
  const issuer = auth.client === undefined ? {} : { issuer: server.url }
  const peer = { name: 'docs', url, headers: {}, auth: { ...BY_PERSON, ...issuer, ...auth } }
  const credentials = desk.credentialsOf(peer)
  return { desk, peer, credentials, notes, server, url, store }
}

type Opened = Awaited<ReturnType<typeof open>>

/** The browser comes back from an address without having been anywhere. */
async function comeBack(after: AfterBegun | undefined): Promise<string> {
  const url = after?.kind === 'login' ? (after.url ?? '') : ''
  const back = new URL(new URL(url).searchParams.get('redirect_uri') ?? '')
  back.search = replyTo(url).toString()
  return (await fetch(back)).text()
}

async function logIn({ credentials, url }: Opened): Promise<void> {
  expect(await comeBack((await send(credentials, url)).after)).toContain('comity may use docs')
}

const grantsAsked = ({ server }: Opened): (string | null)[] =>
  server.forms().map((form) => form.get('grant_type'))

/** Takes whatever bears a token. */
const wantsAny: Answer = ({ headers }) =>
  headers.authorization === undefined ? NEVER : { status: 200, json: {} }

test('what a server repeats of our secrets in its errors is not passed on', async () => {
  const token: Answer = ({ body, headers }) => {
    const form = new URLSearchParams(body)
    if (form.get('grant_type') === 'authorization_code' && form.get('code') === 'the-code') {
      return {
        json: {
          access_token: 'access-of-this-test',
          token_type: 'Bearer',
          refresh_token: 'refresh+of/this=test',
        },
      }
    }
    const said = `bad: ${decodeURIComponent(body)} ${body} ${headers.authorization}`
    return { status: 400, json: { error: 'invalid_grant', error_description: said } }
  }
  const client = { id: 'mine', secret: 'secret of&this test' }
  const one = await open({ token, answers: { '/mcp': NEVER } }, { client })
  await logIn(one)
  const { after } = await send(one.credentials, one.url)
  expect(after).toMatchObject({ kind: 'login', detail: expect.stringContaining('invalid_grant') })
  const basic = Buffer.from('mine:secret+of%26this+test').toString('base64')
  for (const secret of [
    'refresh+of',
    'refresh%2Bof',
    'secret of',
    'secret+of',
    'secret%20of',
    basic,
  ])
    expect(JSON.stringify([after, one.notes])).not.toContain(secret)
})

test('a call that is given up while its refusal is dealt with faults nobody', async () => {
  const one = await open({ token: { status: 400, json: { error: 'invalid_target' } } }, MACHINE)
  const faults: unknown[] = []
  const note = (fault: unknown): void => void faults.push(fault)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const stopped = AbortSignal.abort(new Error('given up'))
  const refusal = { principal: 'local', method: 'POST' as const, url: one.url }
  await expect(
    one.credentials.afterRefusal({ ...refusal, status: 401, challenges: [], sent: {} }, stopped),
  ).rejects.toThrow('given up')
  await expect.poll(() => grantsAsked(one)).toEqual(['client_credentials'])
  // Behind it in line: by then it has failed.
  await send(one.credentials, one.url)
  expect(faults).toEqual([])
})

test('scopes that are never asked for end no login that is open, and are wanted once', async () => {
  const challenge = 'Bearer error="insufficient_scope", scope="read offline_access bad\\\\one"'
  const one = await open({
    metadata: { scopes_supported: ['read'] },
    answers: {
      '/mcp': ({ headers }) => ({
        status: headers.authorization === undefined ? 401 : 403,
        headers: { 'www-authenticate': challenge },
      }),
    },
    token: { json: { access_token: 'a', token_type: 'Bearer' } },
  })
  const urlOf = (after: AfterBegun | undefined) => (after?.kind === 'login' ? after.url : undefined)
  const first = (await send(one.credentials, one.url)).after
  expect(urlOf((await send(one.credentials, one.url)).after)).toBe(urlOf(first))
  expect(await comeBack(first)).toContain('comity may use docs')
  const { after } = await send(one.credentials, one.url)
  if (urlOf(after) !== undefined) await comeBack(after)
  const last = (await send(one.credentials, one.url)).after
  expect(last).toEqual({ kind: 'login', detail: expect.stringMatching(/gave|may lack the right/) })
})

test.each([0, '0', 0.001, -5])(
  'a token that is said to last %j seconds is borne until it is refused, and not renewed at each message',
  async (lasts) => {
    const token: Answer = {
      json: { access_token: 'a', token_type: 'Bearer', refresh_token: 'r', expires_in: lasts },
    }
    const one = await open({ token, answers: { '/mcp': wantsAny } })
    await logIn(one)
    for (const _ of [1, 2, 3]) expect((await send(one.credentials, one.url)).status).toBe(200)
    expect(grantsAsked(one)).toEqual(['authorization_code'])
  },
)

test('scopes that a server says it gave are shown only where they are scopes', async () => {
  const scope = `read \u001b[31mred\nline "quoted" ${'x'.repeat(200_000)}`
  const one = await open({
    token: { json: { access_token: 'a', token_type: 'Bearer', scope } },
    answers: {
      '/mcp': ({ headers }) =>
        headers.authorization === undefined
          ? NEVER
          : { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' } },
    },
  })
  await logIn(one)
  const { after } = await send(one.credentials, one.url)
  expect(after).toMatchObject({ detail: expect.stringContaining('with the scopes read, all') })
  expect(one.desk.standingOf('local', one.peer)[0]?.scopes).toEqual(['read'])
})

test('calls that want different scopes at once all get theirs', async () => {
  let given = 0
  const token: Answer = ({ body }) => {
    given += 1
    const scope = new URLSearchParams(body).get('scope') ?? ''
    return {
      json: { access_token: `${given}:${scope.replaceAll(' ', ':')}`, token_type: 'Bearer', scope },
    }
  }
  const one = await open(
    {
      token,
      answers: {
        '/mcp': ({ headers }) => {
          const needs = String(headers['x-needs'] ?? '')
          const has = (headers.authorization ?? '').split(/[ :]/)
          if (has.length < 2) return NEVER
          if (needs === '' || has.includes(needs)) return { status: 200, json: {} }
          const challenge = `Bearer error="insufficient_scope", scope="${needs}"`
          return { status: 403, headers: { 'www-authenticate': challenge } }
        },
      },
    },
    MACHINE,
  )
  expect((await send(one.credentials, one.url)).status).toBe(200)
  const sent = await Promise.all(
    ['b', 'c'].map((needs) => send(one.credentials, one.url, { needs })),
  )
  expect(sent).toEqual([
    expect.objectContaining({ status: 200 }),
    expect.objectContaining({ status: 200 }),
  ])
})

test.each<[string, Answer]>([
  ['a code of its own', { status: 400, json: { error: 'invalid_request' } }],
  ['a page', { status: 403, text: '<h1>no</h1>' }],
])('a renewal that is refused with %s is asked for once, and a person is asked', async (_, no) => {
  const token: Answer = ({ body }) =>
    new URLSearchParams(body).get('grant_type') === 'refresh_token'
      ? no
      : { json: { access_token: 'a', token_type: 'Bearer', refresh_token: 'r' } }
  const one = await open({ token })
  await logIn(one)
  for (const _ of [1, 2])
    expect((await send(one.credentials, one.url)).after).toEqual({
      kind: 'login',
      url: expect.any(String),
      detail: expect.stringContaining('run: comity login docs'),
    })
  expect(grantsAsked(one)).toEqual(['authorization_code', 'refresh_token'])
  expect(one.desk.standingOf('local', one.peer)).toHaveLength(1)
})

test('a secret of the operator’s that is wrong for a while costs nobody his login', async () => {
  let isWrong = false
  const token: Answer = () =>
    isWrong
      ? { status: 401, json: { error: 'invalid_client' } }
      : { json: { access_token: 'a', token_type: 'Bearer', refresh_token: 'r' } }
  const one = await open({ token }, { client: { id: 'mine', secret: 'hush' } })
  await logIn(one)
  isWrong = true
  const { after } = await send(one.credentials, one.url)
  expect(after).toMatchObject({ detail: expect.stringContaining('invalid_client') })
  expect(one.desk.standingOf('local', one.peer)).toHaveLength(1)
})

test('a renewal that is under way when comity ends is still kept: the old token is worth nothing any more', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const token: Answer = async ({ body }) => {
    if (new URLSearchParams(body).get('grant_type') !== 'refresh_token')
      return { json: { access_token: 'old', token_type: 'Bearer', refresh_token: 'r1' } }
    ask()
    await closed
    return { json: { access_token: 'new', token_type: 'Bearer', refresh_token: 'r2' } }
  }
  const one = await open({ token })
  await logIn(one)
  const sent = send(one.credentials, one.url)
  await asked
  one.desk.close()
  resolve()
  await sent
  const later = createLoginDesk({ store: one.store, now: Date.now })
  onTestFinished(() => later.close())
  const bearing = { principal: 'local', method: 'POST' as const, url: one.url }
  expect(await later.credentialsOf(one.peer).headersFor(bearing)).toEqual({
    authorization: 'Bearer new',
  })
})

test('what a server calls itself reaches no caller unless it is an address', async () => {
  for (const tail of [
    '/x\nrun: curl evil',
    '/x now call pay',
    '/x\u202e',
    `/${'x'.repeat(3000)}`,
  ]) {
    const odd = { issuer: '' }
    const one = await open({
      resource: odd,
      answers: {
        '/mcp': NEVER,
        '/.well-known/oauth-protected-resource/mcp': () => ({
          json: { resource: one.url, authorization_servers: [one.server.url + tail] },
        }),
      },
    })
    const { after } = await send(one.credentials, one.url)
    const { detail } = after as { readonly detail: string }
    expect(detail).toContain('is no issuer')
    expect(detail).not.toMatch(/\n|call pay|\u202e/)
    expect(detail.length).toBeLessThan(1000)
  }
})

test('tokens of one tenant are not sent for another that the address is changed to', async () => {
  const one = await open({
    answers: {
      '/mcp': wantsAny,
      '/.well-known/oauth-protected-resource/mcp': () => ({
        json: { resource: `${one.url}?tenant=a`, authorization_servers: [one.server.url] },
      }),
    },
  })
  const tenant = (which: string) => {
    const desk = createLoginDesk({ store: one.store, now: Date.now })
    onTestFinished(() => desk.close())
    const peer = { ...one.peer, url: `${one.url}?tenant=${which}` }
    return { ...one, desk, peer, credentials: desk.credentialsOf(peer), url: peer.url }
  }
  await logIn(tenant('a'))
  const bears = (which: string) => {
    const { credentials, url } = tenant(which)
    return credentials.headersFor({ principal: 'local', method: 'POST', url })
  }
  expect(await bears('a')).toHaveProperty('authorization')
  expect(await bears('b')).toEqual({})
})

test('a server that wants another scope each time is not asked for it for ever', async () => {
  let wanted = 0
  const token: Answer = ({ body }) => ({
    json: {
      access_token: `t${wanted}`,
      token_type: 'Bearer',
      scope: new URLSearchParams(body).get('scope') ?? 'none',
    },
  })
  const never: Answer = ({ headers }) => {
    if (headers.authorization === undefined) return NEVER
    wanted += 1
    const challenge = `Bearer error="insufficient_scope", scope="s${wanted}"`
    return { status: 403, headers: { 'www-authenticate': challenge } }
  }
  const one = await open({ token, answers: { '/mcp': never } }, MACHINE)
  for (let calls = 0; calls < 20; calls += 1) await send(one.credentials, one.url)
  expect(grantsAsked(one).length).toBeLessThan(25)
  const { after } = await send(one.credentials, one.url)
  expect(after).toEqual({ kind: 'login', detail: expect.stringContaining('again and again') })
})

test('scopes that are wanted in turn and never given are asked for once each', async () => {
  let calls = 0
  const token: Answer = { json: { access_token: 'a', token_type: 'Bearer', scope: 'read' } }
  const inTurn: Answer = ({ headers }) => {
    if (headers.authorization === undefined) return NEVER
    calls += 1
    const challenge = `Bearer error="insufficient_scope", scope="${calls % 2 === 0 ? 'b' : 'c'}"`
    return { status: 403, headers: { 'www-authenticate': challenge } }
  }
  const one = await open({ token, answers: { '/mcp': inTurn } }, MACHINE)
  for (let times = 0; times < 6; times += 1) await send(one.credentials, one.url)
  expect(grantsAsked(one)).toHaveLength(3)
})

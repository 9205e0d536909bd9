import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  listen,
  makeCall,
  openPeer,
  until,
  valueOf,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'
import type { AfterRefusal, Bearing, Credentials, Refusal } from './credentials.ts'

/** Credentials of which each principal has its own token, and what becomes of refusals. */
function keyring(
  tokens: Map<string, string>,
  decide: (refusal: Refusal) => AfterRefusal | Promise<AfterRefusal>,
): Credentials & { readonly refusals: Refusal[]; readonly asked: Bearing[] } {
  const refusals: Refusal[] = []
  const asked: Bearing[] = []
  return {
    refusals,
    asked,
    headersFor(bearing) {
      asked.push(bearing)
      const token = tokens.get(bearing.principal)
      return token === undefined ? {} : { authorization: `Bearer ${token}` }
    },
    async afterRefusal(refusal) {
      refusals.push(refusal)
      return decide(refusal)
    },
  }
}

interface Heard {
  readonly method: string
  readonly token: string | undefined
}

/** A server that lets in whom `isGood` knows. */
async function guarded(
  isGood: (token: string | undefined, method: string) => boolean | 403,
  era: 'modern' | 'legacy' = 'modern',
): Promise<{ readonly url: string; readonly heard: Heard[] }> {
  const heard: Heard[] = []
  const url = await listen((request, response, body) => {
    const message = body === '' ? undefined : (JSON.parse(body) as Message)
    const method = message?.method ?? request.method ?? ''
    const token = request.headers.authorization?.replace('Bearer ', '')
    heard.push({ method, token })
    const verdict = isGood(token, method)
    if (verdict !== true) {
      const challenge = verdict === 403 ? 'error="insufficient_scope", scope="pay"' : 'realm="x"'
      response.writeHead(verdict === 403 ? 403 : 401, { 'www-authenticate': `Bearer ${challenge}` })
      return void response.end('{"error":"no"}')
    }
    if (request.method === 'GET') return void response.writeHead(405).end()
    if (request.method === 'DELETE' || message?.id === undefined)
      return void response.writeHead(202).end()
    const answer = era === 'modern' ? modern(method) : legacy(method)
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }))
  })
  return { url, heard }
}

const TOOLS = { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }
const PAID = { content: [{ type: 'text', text: 'paid' }] }

function modern(method: string): object {
  const rest = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  if (method === 'server/discover')
    return {
      result: { ...rest, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    }
  return { result: { ...rest, ...(method === 'tools/list' ? TOOLS : PAID) } }
}

function legacy(method: string): object {
  if (method === 'server/discover') return { error: { code: -32601, message: 'no' } }
  if (method === 'initialize')
    return {
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      },
    }
  return { result: method === 'tools/list' ? TOOLS : PAID }
}

const open = (url: string, credentials: Credentials) =>
  openPeer({ transport: 'http', url, headers: {}, credentials })

describe('messages bear credentials', () => {
  test('each message those of its principal, in both eras', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const { url, heard } = await guarded((token) => token === 'L' || token === 'A', era)
      const keys = keyring(
        new Map([
          ['local', 'L'],
          ['alice', 'A'],
        ]),
        () => ({ kind: 'login', detail: 'no' }),
      )
      const peer = open(url, keys)
      expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
      expect((await makeCall(peer, 'pay', {}, { principal: 'alice' })).outcome.state).toBe(
        'completed',
      )
      const calls = heard.filter(({ method }) => method === 'tools/call')
      expect(calls.map(({ token }) => token)).toEqual(['L', 'A'])
      expect(heard.every(({ token }) => token === 'L' || token === 'A')).toBe(true)
      // A session is its principal's from its beginning.
      if (era === 'legacy')
        expect(
          heard.filter(({ method }) => method === 'initialize').map(({ token }) => token),
        ).toEqual(['L', 'A'])
    }
  })

  test('one refusal is mended and the message sent again, told as sent once', async () => {
    const tokens = new Map([['local', 'old']])
    const { url, heard } = await guarded(
      (token, method) => method !== 'tools/call' || token === 'new',
    )
    const keys = keyring(tokens, () => {
      tokens.set('local', 'new')
      return { kind: 'again' }
    })
    const { outcome, sent } = await makeCall(open(url, keys), 'pay')
    expect(outcome.state).toBe('completed')
    expect(sent).toHaveLength(1)
    expect(heard.filter(({ method }) => method === 'tools/call')).toHaveLength(2)
    expect(keys.refusals[0]).toMatchObject({
      status: 401,
      principal: 'local',
      method: 'POST',
      url: `${url}/`,
      challenges: ['Bearer realm="x"'],
      sent: { authorization: 'Bearer old' },
    })
  })

  test('a refusal that is never mended ends', async () => {
    const { url, heard } = await guarded((_token, method) => method !== 'tools/call')
    const keys = keyring(new Map(), () => ({ kind: 'again' }))
    const { outcome } = await makeCall(open(url, keys), 'pay')
    expect(outcome).toMatchObject({ state: 'failed', code: 'credentials_missing', ran: 'no' })
    expect(heard.filter(({ method }) => method === 'tools/call')).toHaveLength(4)
  })

  test('a person is needed: a question for callers that can open an address, words for others', async () => {
    const { url } = await guarded((_token, method) => method !== 'tools/call')
    const address = 'http://127.0.0.1:1/login'
    let begun = 0
    const begin = async () => {
      begun += 1
      return { url: address, detail: 'run: comity login peer' }
    }
    const keys = keyring(new Map(), () => ({
      kind: 'login',
      detail: 'run: comity login peer',
      begin,
    }))
    const peer = open(url, keys)
    const words = await makeCall(peer, 'pay')
    expect(words.outcome).toMatchObject({
      state: 'failed',
      code: 'credentials_missing',
      ran: 'no',
    })
    expect(words.outcome).not.toHaveProperty('native')
    expect(words.outcome).toHaveProperty('detail', expect.stringContaining('comity login peer'))
    // A login of which nobody would see the address.
    expect(begun).toBe(0)
    const asked = await makeCall(peer, 'pay', {}, { can: { url: true } })
    expect(begun).toBe(1)
    expect(valueOf(asked.outcome)).toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', url: address }] },
    })
  })

  test('403 counts for want of a scope alone', async () => {
    const tokens = new Map([['local', 'narrow']])
    const { url } = await guarded((token, method) =>
      method === 'tools/call' && token === 'narrow' ? 403 : true,
    )
    const keys = keyring(tokens, () => {
      tokens.set('local', 'wide')
      return { kind: 'again' }
    })
    expect((await makeCall(open(url, keys), 'pay')).outcome.state).toBe('completed')
    expect(keys.refusals).toMatchObject([{ status: 403 }])

    const forbidding = await listen((_request, response) => void response.writeHead(403).end())
    const none = keyring(new Map(), () => ({ kind: 'again' }))
    expect((await makeCall(open(forbidding, none), 'pay')).outcome).toMatchObject({
      code: 'credentials_missing',
    })
    expect(none.refusals).toEqual([])
  })

  test('a call that is canceled while a refusal is dealt with goes no further', async () => {
    const { url, heard } = await guarded((_token, method) => method !== 'tools/call')
    let told: ((after: AfterRefusal) => void) | undefined
    const keys = keyring(new Map(), () => new Promise<AfterRefusal>((resolve) => (told = resolve)))
    const cancel = new AbortController()
    const made = makeCall(open(url, keys), 'pay', {}, { signal: cancel.signal })
    await until('it was refused', () => told !== undefined)
    cancel.abort()
    expect((await made).outcome.state).toBe('unknown')
    told?.({ kind: 'again' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
  })

  test('nothing is borne where a server points to', async () => {
    const elsewhere: (string | undefined)[] = []
    const other = createServer((request, response) => {
      elsewhere.push(request.headers.authorization)
      response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const target = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`
    const url = await listen(
      (_request, response) => void response.writeHead(307, { location: target }).end(),
    )
    const keys = keyring(new Map([['local', 'L']]), () => ({ kind: 'again' }))
    await makeCall(open(url, keys), 'pay')
    expect(elsewhere).toEqual([])
  })
})

import { request, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { once } from 'node:events'

import { afterEach, describe, expect, test } from 'vitest'

import { openLoopback, type Loopback, type LoopbackOptions } from './loopback.ts'

const STATE = 'a-state-that-nobody-guesses'
const opened: Loopback[] = []

afterEach(() => {
  for (const loopback of opened.splice(0)) loopback.close()
})

async function open(options: LoopbackOptions = {}): Promise<Loopback> {
  const loopback = await openLoopback(options)
  opened.push(loopback)
  return loopback
}

/** Open, and waiting for STATE. */
async function expecting(): Promise<{ readonly uri: string; readonly came: URLSearchParams[] }> {
  const loopback = await open()
  const came: URLSearchParams[] = []
  loopback.expect(STATE, async (parameters) => {
    came.push(parameters)
    return { done: true, text: 'comity may use <docs> now.' }
  })
  return { uri: loopback.redirectUri, came }
}

/** A request whose every part can be wrong. */
async function ask(
  target: string,
  { method = 'GET', host }: { readonly method?: string; readonly host?: string } = {},
): Promise<number> {
  const url = new URL(target)
  const sent = request({
    host: url.hostname,
    port: url.port,
    method,
    path: url.pathname + url.search,
    headers: { ...(host === undefined ? {} : { host }), connection: 'close' },
  })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'close')
  return response.statusCode ?? 0
}

describe('the way back of a login', () => {
  test('one good answer is taken, and the person sees words of ours and nothing of the query', async () => {
    const { uri, came } = await expecting()
    const answer = await fetch(`${uri}?code=c0de&state=${STATE}&error_description=%3Cb%3Ehello`)
    const page = await answer.text()
    expect(came.map((parameters) => parameters.get('code'))).toEqual(['c0de'])
    expect(answer.status).toBe(200)
    expect(page).toContain('comity may use &#60;docs&#62; now.')
    expect(page).not.toMatch(/hello|c0de|a-state/)
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('a second answer with the same state is not', async () => {
    const { uri, came } = await expecting()
    expect(await ask(`${uri}?code=1&state=${STATE}`)).toBe(200)
    expect(await ask(`${uri}?code=2&state=${STATE}`)).toBe(404)
    expect(came).toHaveLength(1)
  })

  test.each([
    ['another state', (uri: string) => ask(`${uri}?code=1&state=${STATE}x`)],
    ['no state', (uri: string) => ask(`${uri}?code=1`)],
    ['no query', (uri: string) => ask(uri)],
    ['a state twice', (uri: string) => ask(`${uri}?state=${STATE}&state=${STATE}`)],
    ['another path', (uri: string) => ask(`${uri}/?code=1&state=${STATE}`)],
    ['another method', (uri: string) => ask(`${uri}?state=${STATE}`, { method: 'POST' })],
    ['HEAD', (uri: string) => ask(`${uri}?state=${STATE}`, { method: 'HEAD' })],
    ['another host', (uri: string) => ask(`${uri}?state=${STATE}`, { host: 'evil.example' })],
    [
      'localhost by name',
      (uri: string) => ask(`${uri}?state=${STATE}`, { host: `localhost:${new URL(uri).port}` }),
    ],
  ])('%s: nothing is there, and the right one still comes in', async (_what, wrong) => {
    const { uri, came } = await expecting()
    expect(await wrong(uri)).toBe(404)
    expect(came).toEqual([])
    expect(await ask(`${uri}?state=${STATE}`)).toBe(200)
  })

  test('before anything is expected, nothing is there', async () => {
    const { redirectUri } = await open()
    expect(await ask(`${redirectUri}?state=`)).toBe(404)
  })

  test('a login that failed says so on its page', async () => {
    const loopback = await open()
    loopback.expect(STATE, async () => ({ done: false, text: 'the server said no' }))
    const answer = await fetch(`${loopback.redirectUri}?state=${STATE}`)
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('the server said no'),
    ])
  })

  test('after it is closed nobody listens, and what was being answered is still answered', async () => {
    const loopback = await open()
    const { promise: release, resolve } = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    loopback.expect(STATE, async () => {
      arrived.resolve()
      await release
      return { done: true, text: 'done' }
    })
    const answer = fetch(`${loopback.redirectUri}?state=${STATE}`)
    await arrived.promise
    loopback.close()
    resolve()
    expect((await answer).status).toBe(200)
    await expect(fetch(loopback.redirectUri)).rejects.toThrow('fetch failed')
  })

  test('a port that is wished for is taken when it is free, else another', async () => {
    const first = await open()
    const port = Number(new URL(first.redirectUri).port)
    const second = await open({ wish: port })
    expect(new URL(second.redirectUri).port).not.toBe(String(port))
    first.close()
    const third = await open({ wish: port })
    expect(third.redirectUri).toBe(first.redirectUri)
  })

  test('a port that must be and is taken is told, with the setting to change', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { readonly port: number }
    await expect(openLoopback({ port })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/EADDRINUSE.*auth\.redirectPort/),
    })
    other.close()
  })
})

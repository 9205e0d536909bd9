import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  inlineServer,
  listenLegacy,
  listenModern,
  makeCall,
  openPeer,
  reply,
  until,
  valueOf,
} from '../../../test/mcp/upstream-peer.ts'
import type { McpPeer } from './client.ts'

/** Counts its calls; waits for another message when told to. */
const COUNTER = `
  let count = 0
  const held = []
  serve({
    'server/discover': (m) => refuse(m, -32601),
    'tools/call': (m) => {
      count += 1
      if (m.params.arguments.wait) return held.push(m)
      answer(m, { content: [], count, pid: process.pid })
    },
    'notifications/cancelled': () => { for (const m of held.splice(0)) answer(m, { content: [] }) },
  })`

const count = async (peer: McpPeer, principal: string): Promise<unknown> => {
  const { outcome } = await makeCall(peer, 'pay', {}, { principal })
  return (valueOf(outcome) as { readonly count?: number }).count
}

const pidOf = async (peer: McpPeer, principal: string): Promise<number> => {
  const { outcome } = await makeCall(peer, 'pay', {}, { principal })
  return (valueOf(outcome) as { readonly pid: number }).pid
}

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

describe('one process for each principal', () => {
  test('no principal sees what another did; the local one is served by the process that is listed', async () => {
    const peer = openPeer(inlineServer(COUNTER))
    await peer.listing()
    expect(await count(peer, 'alice')).toBe(1)
    expect(await count(peer, 'bob')).toBe(1)
    expect(await count(peer, 'alice')).toBe(2)
    expect(await count(peer, 'local')).toBe(1)
    expect(await count(peer, 'bob')).toBe(2)
  })

  test('one that keeps no state of its callers is shared', async () => {
    const peer = openPeer(inlineServer(COUNTER), { stateless: true })
    expect(await count(peer, 'alice')).toBe(1)
    expect(await count(peer, 'bob')).toBe(2)
    expect(await count(peer, 'local')).toBe(3)
  })

  test('the one that was idle longest gives way, and is ended', async () => {
    const peer = openPeer(inlineServer(COUNTER), { mostOwn: 2 })
    const alice = await pidOf(peer, 'alice')
    expect(await count(peer, 'bob')).toBe(1)
    expect(await count(peer, 'carol')).toBe(1)
    expect(await count(peer, 'bob')).toBe(2)
    await until('its process has ended', () => isGone(alice))
    expect(await count(peer, 'alice')).toBe(1)
  })

  test('where all are busy the call is refused in clear words, unsent, and the others go on', async () => {
    const peer = openPeer(inlineServer(COUNTER), { mostOwn: 1 })
    const stop = new AbortController()
    const sent: string[] = []
    const held = makeCall(
      peer,
      'pay',
      { wait: true },
      { principal: 'alice', signal: stop.signal, onSend: () => void sent.push('alice') },
    )
    await until('it is sent', () => sent.length === 1)
    const refused = await makeCall(peer, 'pay', {}, { principal: 'bob' })
    expect(refused.sent).toEqual([])
    expect(refused.outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'not_sent' })
    expect(refused.outcome).toMatchObject({
      detail: expect.stringMatching(/busy for other principals.*stateless: true/u),
    })
    expect(await count(peer, 'local')).toBe(1)
    stop.abort()
    await held
    expect(await count(peer, 'bob')).toBe(1)
  })

  test('one that nobody calls for a while is ended', async () => {
    const peer = openPeer(inlineServer(COUNTER), { idleMs: 50 })
    const alice = await pidOf(peer, 'alice')
    await until('its process has ended', () => isGone(alice))
    expect(await count(peer, 'alice')).toBe(1)
  })

  test('nothing is sent under a definition that this very process has not shown', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'comity-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const log = join(folder, 'starts')
    const peer = openPeer(
      inlineServer(
        `appendFileSync(process.env.LOG, '.')
         const description = 'number ' + readFileSync(process.env.LOG, 'utf8').length
         serve({
           'server/discover': (m) => refuse(m, -32601),
           'tools/list': (m) => answer(m, { tools: [{ name: 'pay', description, inputSchema: { type: 'object' } }] }),
         })`,
        { LOG: log },
      ),
    )
    const fingerprint = (await peer.listing()).capabilities[0]!.fingerprint
    const own = await makeCall(peer, 'pay', {}, { principal: 'alice', fingerprint })
    expect(own.outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'pin_changed' })
    const shared = await makeCall(peer, 'pay', {}, { fingerprint })
    expect(shared.outcome.state).toBe('completed')
    expect(readFileSync(log, 'utf8')).toBe('..')
  })
})

describe('over HTTP', () => {
  test('a session is one principal’s', async () => {
    const seen: (readonly [string, string])[] = []
    let sessions = 0
    const url = await listenLegacy((message, response, request) => {
      if (message.method === 'initialize') {
        sessions += 1
        response.setHeader('mcp-session-id', `session-${sessions}`)
      }
      if (message.method === 'tools/call') {
        const { arguments: args } = message.params as { readonly arguments: { by: string } }
        seen.push([args.by, String(request.headers['mcp-session-id'])])
      }
      return false
    })
    const peer = openPeer({ transport: 'http', url, headers: {} })
    for (const principal of ['alice', 'bob', 'alice', 'local']) {
      await makeCall(peer, 'pay', { by: principal }, { principal })
    }
    const of = (name: string): readonly string[] => [
      ...new Set(seen.filter(([by]) => by === name).map(([, session]) => session)),
    ]
    expect([of('alice'), of('bob'), of('local')].map((found) => found.length)).toEqual([1, 1, 1])
    expect(new Set(seen.map(([, session]) => session)).size).toBe(3)
  })

  test('a modern server keeps nothing between requests: one connection serves all', async () => {
    let probes = 0
    const url = await listenModern((message, response) => {
      reply(response, message, { result: { resultType: 'complete', content: [] } })
    })
    const peer = openPeer(
      { transport: 'http', url, headers: {} },
      { verdicts: { read: () => undefined, write: () => void (probes += 1), forget: () => {} } },
    )
    for (const principal of ['alice', 'bob', 'local']) {
      expect((await makeCall(peer, 'pay', {}, { principal })).outcome.state).toBe('completed')
    }
    expect(probes).toBe(1)
  })
})

describe('restart by hand', () => {
  test('ends the pause after failures, which the report tells of', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'comity-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const log = join(folder, 'starts')
    const peer = openPeer(
      inlineServer(
        `appendFileSync(process.env.LOG, '.')
         if (readFileSync(process.env.LOG, 'utf8').length < 6) process.exit(3)
         serve({ 'server/discover': (m) => refuse(m, -32601) })`,
        { LOG: log },
      ),
    )
    for (let tries = 0; tries < 20; tries += 1) {
      const { detail = '' } = peer.report()
      if (/not tried again for/u.test(detail)) break
      await peer.listing().catch(() => {})
    }
    expect(peer.report()).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(
        /code 3.*failed \d+ times in a row; not tried again for \d+ s/u,
      ),
    })
    const starts = readFileSync(log, 'utf8').length
    await peer.restart().catch(() => {})
    expect(readFileSync(log, 'utf8').length).toBeGreaterThan(starts)
    for (let tries = 0; tries < 5 && peer.report().state !== 'ready'; tries += 1) {
      await peer.restart().catch(() => {})
    }
    expect(peer.report()).toMatchObject({ state: 'ready' })
  })

  test('ends a start that hangs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'comity-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const log = join(folder, 'starts')
    const peer = openPeer(
      inlineServer(
        `appendFileSync(process.env.LOG, '.')
         if (readFileSync(process.env.LOG, 'utf8').length > 1) serve({ 'server/discover': (m) => refuse(m, -32601) })
         else process.stdin.resume()`,
        { LOG: log },
      ),
    )
    const first = peer.listing().then(
      () => 'listed',
      () => 'failed',
    )
    await until('it was started', () => existsSync(log))
    await peer.restart()
    expect(await first).toBe('failed')
    expect(peer.report().state).toBe('ready')
  })

  test('a server that runs is started anew, for every principal', async () => {
    const peer = openPeer(inlineServer(COUNTER))
    const before = [await pidOf(peer, 'local'), await pidOf(peer, 'alice')]
    await peer.restart()
    expect(before.map(isGone)).toEqual([true, true])
    expect(await count(peer, 'local')).toBe(1)
    expect(await count(peer, 'alice')).toBe(1)
  })
})

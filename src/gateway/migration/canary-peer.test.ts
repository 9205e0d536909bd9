/** A peer between two revisions, against real servers that speak both on one address. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inlineServer, makeCall, reply, until, valueOf } from '../../../test/mcp/upstream-peer.ts'
import type { PeerListing } from '../../core/ports/peer.ts'
import { serveHttp } from '../../testkit/conforming-peer/http.ts'
import {
  at,
  decisionOf,
  NEWER,
  openCanary,
  READ_TOOL,
  serveTwoFaced,
  STABLE,
} from './two-revisions.fixture.ts'
import { revisionOf } from './revision-work.ts'

async function conforming(): Promise<string> {
  const served = await serveHttp(0, 'dual')
  onTestFinished(() => served.close())
  return served.url
}

const fingerprintOf = ({ capabilities }: PeerListing, name: string): string =>
  capabilities.find((one) => one.name === name)?.fingerprint ?? ''

const PRINCIPALS = Array.from({ length: 40 }, (_, index) => `caller-${index}`)

/** Which revision each principal's call went by. */
async function revisionsOf(
  peer: ReturnType<typeof openCanary>,
  name: string,
  principals: readonly string[] = PRINCIPALS,
): Promise<readonly (string | undefined)[]> {
  const fingerprint = fingerprintOf(await peer.listing(), name)
  const revisions: (string | undefined)[] = []
  for (const principal of principals) {
    const { outcome, sent } = await makeCall(peer, name, {}, { principal, fingerprint })
    expect(outcome.state).toBe('completed')
    revisions.push(sent[0]?.revision)
  }
  return revisions
}

describe('callers', () => {
  test('R186: each sees one revision, in every process; a larger share keeps those of the smaller', async () => {
    const url = await conforming()
    const half = openCanary(at(url), { share: 5_000 })
    const first = await revisionsOf(half, 'test_simple_text')
    expect(new Set(first)).toEqual(new Set([STABLE, NEWER]))
    expect(await revisionsOf(half, 'test_simple_text')).toEqual(first)

    const restarted = openCanary(at(url), { share: 5_000 })
    expect(await revisionsOf(restarted, 'test_simple_text')).toEqual(first)
    const more = await revisionsOf(openCanary(at(url), { share: 8_000 }), 'test_simple_text')
    for (const [index, revision] of first.entries())
      if (revision === NEWER) expect(more[index]).toBe(NEWER)
    expect(await revisionsOf(openCanary(at(url), { share: 0 }), 'test_simple_text')).toEqual(
      PRINCIPALS.map(() => STABLE),
    )
    const { from, to } = half.migration.report()
    expect(from.calls + to.calls).toBe(80)
    expect(to).toMatchObject({ revision: NEWER, share: 0.5, errors: 0 })
    expect(to.medianMs).toBeGreaterThan(0)
  })

  test('see one peer: the lists, the endpoint and the names of the older revision', async () => {
    const url = await conforming()
    const peer = openCanary(at(url))
    const { capabilities } = await peer.listing()
    const plain = openCanary(at(url), { share: 0 })
    expect(capabilities).toEqual((await plain.listing()).capabilities)
    expect(peer.endpoint).toBe(plain.endpoint)
    expect(peer.report()).toMatchObject({ state: 'ready', revision: STABLE })
    expect(peer.migration.report().differences).toEqual([])
  })
})

describe('only what was agreed', () => {
  const wide = { name: 'read', inputSchema: { type: 'object', properties: { all: {} } } }
  const added = { name: 'write', inputSchema: { type: 'object' } }

  test('what differs is reported and called on the older revision; what is the same is not kept back by it', async () => {
    const same = { name: 'same', inputSchema: { type: 'object' } }
    const { url, seen } = await serveTwoFaced({
      tools: { stable: [READ_TOOL, same], newer: [wide, same, added] },
    })
    const peer = openCanary(at(url))
    expect(await revisionsOf(peer, 'read', ['a'])).toEqual([STABLE])
    expect(await revisionsOf(peer, 'same', ['a'])).toEqual([NEWER])
    const report = peer.migration.report()
    expect(report.differences).toMatchObject([
      { kind: 'tool', name: 'read', change: 'changed' },
      { kind: 'tool', name: 'write', change: 'added' },
    ])
    expect(report.differences[0]?.lines.join('\n')).toContain('+       "all": {}')
    expect(report).toMatchObject({ kept: 1, fellBack: 0, faults: 0, heldBack: 0 })
    expect(seen.filter((one) => one.endsWith('tools/call'))).toEqual([
      'stable tools/call',
      'newer tools/call',
    ])
  })

  test('what only one of the revisions knows is no difference', async () => {
    const tasked = { ...READ_TOOL, execution: { taskSupport: 'optional' } }
    const { url } = await serveTwoFaced({ tools: { stable: [tasked], newer: [READ_TOOL] } })
    const peer = openCanary(at(url))
    expect(await revisionsOf(peer, 'read', ['a'])).toEqual([NEWER])
    expect(peer.migration.report().differences).toEqual([])
  })

  test('what differs since it was compared is not called there: it was decided on otherwise', async () => {
    let now: object = READ_TOOL
    const { url } = await serveTwoFaced({
      handle(face, message, response) {
        if (face !== 'newer' || message.method !== 'tools/list') return false
        const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [now] }
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
        return true
      },
    })
    const peer = openCanary(at(url), { shortestTtlMs: 0 })
    const fingerprint = fingerprintOf(await peer.listing(), 'read')
    now = wide
    const { sent, outcome } = await makeCall(peer, 'read', {}, { fingerprint })
    expect([outcome.state, sent.map(({ revision }) => revision)]).toEqual(['completed', [STABLE]])
    await until('the difference is seen', () => peer.migration.report().differences.length === 1)
    expect(peer.migration.report()).toMatchObject({ kept: 1, faults: 0, heldBack: 0 })
  })
})

describe('falling back', () => {
  test('a server that does not speak the newer revision serves everyone by the older, and the canary is suspended', async () => {
    const served = await serveHttp(0, 'legacy')
    onTestFinished(() => served.close())
    const peer = openCanary(at(served.url), { retryMs: 1, most: 3 })
    expect(await revisionsOf(peer, 'test_simple_text', ['a', 'b'])).toEqual([STABLE, STABLE])
    await until('it is suspended', () => peer.migration.report().suspended !== undefined)
    const report = peer.migration.report()
    expect(report.suspended).toContain('the server does not speak it')
    expect(report).toMatchObject({
      heldBack: 2,
      from: { share: 1, calls: 2 },
      to: { share: 0, calls: 0 },
    })
  })

  test('a call of which nothing left goes to the older revision, once, and its caller stays there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'comity-canary-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const broken = join(folder, 'broken')
    const server = inlineServer(
      `
      import { existsSync } from 'node:fs'
      const modern = (result) => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result })
      let face = 'older'
      const paid = () => appendFileSync(process.env.LOG, face + '\\n')
      serve({
        'server/discover': (m) => {
          if (existsSync(process.env.BROKEN)) process.exit(3)
          face = 'newer'
          answer(m, modern({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }))
        },
        initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'i', version: '1' } }),
        'tools/list': (m) => answer(m, (face === 'newer' ? modern : (x) => x)({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] })),
        'tools/call': (m) => { paid(); if (face === 'newer' && m.params.arguments.crash) process.exit(4); answer(m, modern({ content: [] })) },
      })`,
      { BROKEN: broken, LOG: join(folder, 'log') },
    )
    const peer = openCanary(server, { retryMs: 60_000 })
    const fingerprint = fingerprintOf(await peer.listing(), 'pay')
    const call = async (principal: string, args = {}): Promise<readonly unknown[]> => {
      const { outcome, sent } = await makeCall(peer, 'pay', args, { principal, fingerprint })
      return [outcome.state, ...sent.map(({ revision }) => revision)]
    }
    expect(await call('a')).toEqual(['completed', NEWER])
    writeFileSync(broken, '')
    // Sent: it may have run, and is not sent again.
    expect(await call('a', { crash: true })).toEqual(['unknown', NEWER])
    // Nothing can leave any more: the process does not come up.
    expect(await call('b')).toEqual(['completed', STABLE])
    rmSync(broken)
    expect(await call('b')).toEqual(['completed', STABLE])
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('newer\nnewer\nolder\nolder\n')
    expect(peer.migration.report()).toMatchObject({ heldBack: 1, to: { calls: 2, errors: 1 } })
  })

  test('answers against the protocol stand, are never sent again, and suspend the canary; a restart tries it anew', async () => {
    let sound = false
    const { url, seen } = await serveTwoFaced({
      handle(face, message, response) {
        if (sound || face !== 'newer' || message.method !== 'tools/call') return false
        response.writeHead(400, { 'content-type': 'application/json' })
        const error = { code: -32022, message: 'not here', data: { supported: [STABLE] } }
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }))
        return true
      },
    })
    const peer = openCanary(at(url))
    const fingerprint = fingerprintOf(await peer.listing(), 'read')
    const call = async (): Promise<readonly unknown[]> => {
      const { outcome, sent } = await makeCall(peer, 'read', {}, { fingerprint })
      return [outcome.state, ...sent.map(({ revision }) => revision)]
    }
    for (let time = 0; time < 5; time += 1) expect(await call()).toEqual(['failed', NEWER])
    expect(await call()).toEqual(['completed', STABLE])
    expect(seen.filter((one) => one.endsWith('tools/call'))).toEqual([
      ...Array.from({ length: 5 }, () => 'newer tools/call'),
      'stable tools/call',
    ])
    expect(peer.migration.report()).toMatchObject({
      suspended: expect.stringContaining('5 of its last'),
      faults: 5,
      to: { share: 0, calls: 5, errors: 5 },
    })
    sound = true
    await peer.restart()
    await peer.listing()
    expect(await call()).toEqual(['completed', NEWER])
    expect(peer.migration.report().suspended).toBeUndefined()
  })

  test("a tool's own error is no fault of the revision", async () => {
    const peer = openCanary(at(await conforming()))
    const fingerprint = fingerprintOf(await peer.listing(), 'test_error_handling')
    for (let time = 0; time < 6; time += 1)
      await makeCall(peer, 'test_error_handling', {}, { fingerprint })
    expect(peer.migration.report()).toMatchObject({
      faults: 0,
      to: { calls: 6, errors: 0, toolErrors: 6 },
    })
  })
})

describe('what a person decides', () => {
  test('promoted: the next call of everyone goes by the newer revision, whose lists are the peer’s; the older is left', async () => {
    const newer = { name: 'read', description: 'Newer words', inputSchema: { type: 'object' } }
    const { url, seen } = await serveTwoFaced({
      tools: { stable: [READ_TOOL], newer: [newer] },
    })
    const peer = openCanary(at(url), { share: 0 })
    expect(await revisionsOf(peer, 'read', ['a', 'b'])).toEqual([STABLE, STABLE])
    let changes = 0
    peer.onChanged(() => (changes += 1))
    peer.migration.apply(decisionOf(peer, 'promoted'))
    expect(changes).toBe(1)
    expect(await revisionsOf(peer, 'read', ['a', 'b'])).toEqual([NEWER, NEWER])
    expect((await peer.listing()).capabilities[0]?.definition.value()).toEqual(newer)
    expect(peer.migration.report()).toMatchObject({
      decision: { decided: 'promoted', by: 'operator' },
      from: { share: 0 },
      to: { share: 1 },
      differences: [],
    })
    await until('the older session is ended', () => seen.includes('stable DELETE'))

    peer.migration.apply(decisionOf(peer, 'rolled_back'))
    expect(await revisionsOf(peer, 'read', ['a', 'b'])).toEqual([STABLE, STABLE])
  })

  test('a decision while the lists are being read breaks nothing off: the lists are those of what was decided', async () => {
    let answer: (() => void) | undefined
    const newer = { name: 'read', description: 'Newer words', inputSchema: { type: 'object' } }
    const { url } = await serveTwoFaced({
      tools: { stable: [READ_TOOL], newer: [newer] },
      handle(face, message, response) {
        if (face !== 'stable' || message.method !== 'tools/list' || answer !== undefined)
          return false
        answer = () => reply(response, message, { result: { tools: [READ_TOOL] } })
        return true
      },
    })
    const peer = openCanary(at(url), { share: 0 })
    const listed = peer.listing()
    await until('the older one is asked', () => answer !== undefined)
    peer.migration.apply(decisionOf(peer, 'promoted'))
    answer?.()
    expect((await listed).capabilities[0]?.definition.value()).toEqual(newer)
  })

  test('an earlier decision holds from the beginning: nothing of the other revision is even asked', async () => {
    const { url, seen } = await serveTwoFaced({})
    const held = (decided: 'promoted' | 'rolled_back') =>
      openCanary(at(url), {
        decided: (move) => ({ ...move, decided, at: '2026-12-01T00:00:00.000Z', by: 'operator' }),
      })
    expect(await revisionsOf(held('rolled_back'), 'read', ['a'])).toEqual([STABLE])
    expect(seen.splice(0).filter((one) => one.startsWith('newer'))).toEqual([])
    expect(await revisionsOf(held('promoted'), 'read', ['a'])).toEqual([NEWER])
    expect(seen.filter((one) => one.startsWith('stable'))).toEqual([])
  })

  test('a round trip goes on where it began, whatever was decided meanwhile', async () => {
    const peer = openCanary(at(await conforming()))
    const fingerprint = fingerprintOf(await peer.listing(), 'test_elicitation')
    const can = { form: true, url: true, sampling: true, roots: true }
    const args = { message: 'Who?' }
    const asked = await makeCall(peer, 'test_elicitation', args, { fingerprint, can })
    if (asked.outcome.state !== 'input_required') throw new Error(asked.outcome.state)
    peer.migration.apply(decisionOf(peer, 'rolled_back'))
    const { handle, questions } = asked.outcome
    const answers = questions.map(({ key }) => ({ key, action: 'decline' as const }))
    const ended = await makeCall(peer, 'test_elicitation', args, {
      fingerprint,
      can,
      continuation: { handle, answers },
    })
    expect(ended.sent[0]?.revision).toBe(NEWER)
    expect(JSON.stringify(valueOf(ended.outcome))).toContain('action=decline')
  })
})

describe('long work', () => {
  test('a task goes on by the revision that it began with, whatever was decided meanwhile', async () => {
    const peer = openCanary(at(await conforming()))
    const fingerprint = fingerprintOf(await peer.listing(), 'slow_compute')
    const extensions = { 'io.modelcontextprotocol/tasks': {} }
    const can = { tasks: 'own' as const, extensions }
    const { outcome } = await makeCall(peer, 'slow_compute', { seconds: 1 }, { fingerprint, can })
    if (outcome.state !== 'working') throw new Error(JSON.stringify(outcome))
    expect(revisionOf(outcome.handle)).toBe(NEWER)
    peer.migration.apply(decisionOf(peer, 'rolled_back'))
    const states: string[] = []
    const signal = AbortSignal.timeout(20_000)
    for await (const news of peer.upstream.work!.follow(outcome.handle, undefined, signal))
      if (news.kind === 'status') states.push(news.outcome.state)
    expect(states.at(-1)).toBe('completed')
  })
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

const SCHEMA = { type: 'object' }
const tool = (description: string, more: object = {}) => ({
  name: 'pay',
  description,
  inputSchema: SCHEMA,
  ...more,
})

/** A file that an inline server reads anew whenever it is asked. */
function stateFile(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'comity-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'state')
  const log = join(folder, 'log')
  writeFileSync(file, text)
  writeFileSync(log, '')
  return {
    env: { STATE: file, LOG: log },
    set: (value: string) => writeFileSync(file, value),
    log: () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
  }
}

/** Lists what its state file holds, notes what it is asked, and ends when told to. */
const FROM_FILE = `
  const log = (line) => appendFileSync(process.env.LOG, line + '\\n')
  const state = () => JSON.parse(readFileSync(process.env.STATE, 'utf8'))
  serve({
    initialize: (m) => answer(m, { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo: {} }),
    'tools/list': (m) => { log('list'); const { tools, error } = state(); error ? refuse(m, -32603, error) : answer(m, { tools }) },
    'tools/call': (m) => {
      log('call ' + state().tools[0].description)
      if (m.params.arguments.tell) send({ method: 'notifications/tools/list_changed' })
      if (m.params.arguments.end) { log('end'); process.exit(1) }
      answer(m, { content: [] })
    },
  })`

const fingerprintOf = async (peer: McpPeer): Promise<string> =>
  (await peer.listing()).capabilities[0]!.fingerprint

const CHANGED = {
  state: 'failed',
  origin: 'policy',
  ran: 'no',
  code: 'pin_changed',
  detail: expect.stringContaining('nothing was sent') as string,
}

describe('a server that comes back with another definition', () => {
  test('is listed before the first call: a call decided on the old one is not sent', async () => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const peer = openPeer(inlineServer(FROM_FILE, state.env))
    const fingerprint = await fingerprintOf(peer)
    await makeCall(peer, 'pay', { end: true }, { fingerprint })
    state.set(JSON.stringify({ tools: [tool('v2', { annotations: { destructiveHint: true } })] }))
    let told = 0
    peer.onChanged(() => (told += 1))
    const made = await Promise.all(
      [1, 2, 3].map(() => makeCall(peer, 'pay', {}, { fingerprint, hints: { readOnly: true } })),
    )
    expect(made.map(({ outcome, sent }) => [outcome, sent.length])).toEqual(
      Array.from({ length: 3 }, () => [expect.objectContaining(CHANGED), 0]),
    )
    expect(state.log()).toEqual(['list', 'call v1', 'end', 'list'])
    expect(told).toBe(1)
    // Whoever looks now sees what the call was compared with; the server is not asked twice.
    const now = await fingerprintOf(peer)
    expect(state.log().filter((line) => line === 'list')).toHaveLength(2)
    const { outcome } = await makeCall(peer, 'pay', {}, { fingerprint: now })
    expect(outcome.state).toBe('completed')
  })

  test('with the same definition serves the call', async () => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const peer = openPeer(inlineServer(FROM_FILE, state.env))
    const fingerprint = await fingerprintOf(peer)
    await makeCall(peer, 'pay', { end: true }, { fingerprint })
    const { outcome } = await makeCall(peer, 'pay', {}, { fingerprint })
    expect(outcome.state).toBe('completed')
    expect(state.log()).toEqual(['list', 'call v1', 'end', 'list', 'call v1'])
  })

  test.each([
    ['without the tool', { tools: [] }, { origin: 'validation', code: 'unknown_capability' }],
    ['and cannot be listed', { tools: [], error: 'no' }, { origin: 'transport', code: 'not_sent' }],
  ])('%s: nothing is sent', async (_title, next, expected) => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const peer = openPeer(inlineServer(FROM_FILE, state.env))
    const fingerprint = await fingerprintOf(peer)
    await makeCall(peer, 'pay', { end: true }, { fingerprint })
    state.set(JSON.stringify(next))
    const { outcome, sent } = await makeCall(peer, 'pay', {}, { fingerprint })
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', ...expected })
    expect(sent).toEqual([])
  })

  test('the deadline ends the wait for its list, unsent', async () => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const silent = FROM_FILE.replace("log('list');", "log('list'); if (state().silent) return;")
    const peer = openPeer(inlineServer(silent, state.env))
    const fingerprint = await fingerprintOf(peer)
    await makeCall(peer, 'pay', { end: true }, { fingerprint })
    state.set(JSON.stringify({ silent: true, tools: [tool('v1')] }))
    const { outcome } = await makeCall(peer, 'pay', {}, { fingerprint, deadlineMs: 1_500 })
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'deadline_before_send' })
  })
})

describe('a server that says its list changed', () => {
  test('is listed before the next call', async () => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const peer = openPeer(inlineServer(FROM_FILE, state.env))
    const fingerprint = await fingerprintOf(peer)
    await makeCall(peer, 'pay', { tell: true }, { fingerprint })
    state.set(JSON.stringify({ tools: [tool('v2')] }))
    expect((await makeCall(peer, 'pay', {}, { fingerprint })).outcome).toMatchObject(CHANGED)
  })

  test('and cannot be listed on the same connection is called by what it showed there', async () => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const peer = openPeer(inlineServer(FROM_FILE, state.env))
    const fingerprint = await fingerprintOf(peer)
    await makeCall(peer, 'pay', { tell: true }, { fingerprint })
    state.set(JSON.stringify({ tools: [tool('v1')], error: 'not now' }))
    expect((await makeCall(peer, 'pay', {}, { fingerprint })).outcome.state).toBe('completed')
  })
})

describe('a list ends with its time', () => {
  test('ttlMs of a modern server, kept within bounds, is followed by a list before the next call', async () => {
    const tools = [tool('v1')]
    let ran = 0
    const url = await listenModern((message, response) => {
      ran += 1
      reply(response, message, { result: { resultType: 'complete', content: [] } })
    }, tools)
    const peer = openPeer({ transport: 'http', url, headers: {} }, { shortestTtlMs: 100 })
    const { freshForMs, capabilities } = await peer.listing()
    expect(freshForMs).toBe(100)
    const { fingerprint } = capabilities[0]!
    await makeCall(peer, 'pay', {}, { fingerprint })
    tools[0] = tool('v2')
    const listed = performance.now()
    await until('its time is over', () => performance.now() - listed > 120)
    expect((await makeCall(peer, 'pay', {}, { fingerprint })).outcome).toMatchObject(CHANGED)
    expect(ran).toBe(1)
  })

  test('of a legacy HTTP server, assumed; a list that hangs is waited for once, then called by the old', async () => {
    let hang = false
    let lists = 0
    const url = await listenLegacy(({ method }) => {
      if (method === 'tools/list') lists += 1
      return method === 'tools/list' && hang
    })
    const peer = openPeer(
      { transport: 'http', url, headers: {} },
      { assumedTtlMs: 1, relistWaitMs: 200 },
    )
    const fingerprint = await fingerprintOf(peer)
    hang = true
    for (const most of [5_000, 150]) {
      const began = performance.now()
      const { outcome } = await makeCall(peer, 'pay', {}, { fingerprint })
      expect(valueOf(outcome)).toEqual({ content: [{ type: 'text', text: 'paid' }] })
      expect(performance.now() - began).toBeLessThan(most)
    }
    expect(lists).toBe(2)
  })

  test('has no end where a stdio server tells of changes', async () => {
    const state = stateFile(JSON.stringify({ tools: [tool('v1')] }))
    const peer = openPeer(inlineServer(FROM_FILE, state.env), { assumedTtlMs: 1 })
    const listing = await peer.listing()
    expect(listing).not.toHaveProperty('freshForMs')
    const { fingerprint } = listing.capabilities[0]!
    await makeCall(peer, 'pay', {}, { fingerprint })
    expect(state.log()).toEqual(['list', 'call v1'])
  })
})

test('a resource that was linked, and so never listed, is read without a list', async () => {
  const peer = openPeer(
    inlineServer(`serve({
      initialize: (m) => answer(m, { protocolVersion: '2025-06-18', capabilities: { tools: {}, resources: {} }, serverInfo: {} }),
      'resources/read': (m) => answer(m, { contents: [] }),
      'tools/list': () => {},
      'resources/list': () => {},
    })`),
  )
  const uri = 'file:///a'
  const how = { kind: 'resource', operation: 'read', fingerprint: `linked:${uri}` } as const
  expect((await makeCall(peer, uri, {}, how)).outcome.state).toBe('completed')
})

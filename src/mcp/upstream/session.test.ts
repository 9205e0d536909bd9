import { describe, expect, test } from 'vitest'
import {
  inlineServer,
  makeCall,
  openPeer,
  until,
  valueOf,
} from '../../../test/mcp/upstream-peer.ts'
import type { Outcome } from '../../core/words/outcome.ts'

describe('the log level of a session', () => {
  /** Says which levels it was set to, and when told to, waits with its answer. */
  const logging = (capabilities: string, onSet = 'answer(m, {})') =>
    inlineServer(`
      const levels = []
      const held = []
      serve({
        'server/discover': (m) => refuse(m, -32601),
        initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: ${capabilities}, serverInfo: {} }),
        'logging/setLevel': (m) => { levels.push(m.params.level); ${onSet} },
        'tools/call': (m) => {
          if (m.params.arguments.wait) return held.push(m)
          answer(m, { content: [], levels, meta: m.params._meta ?? null })
          for (const one of held.splice(0)) answer(one, { content: [] })
        },
      })`)

  const wanting = (level: string, args: object = {}): { readonly params: string } => {
    const meta = { 'io.modelcontextprotocol/logLevel': level }
    return { params: JSON.stringify({ name: 'pay', arguments: args, _meta: meta }) }
  }

  test('is what the callers want at the least, told once for each change, and not on the request', async () => {
    const peer = openPeer(logging('{ tools: {}, logging: {} }'))
    await makeCall(peer, 'pay')
    await makeCall(peer, 'pay', {}, wanting('warning'))
    await makeCall(peer, 'pay', {}, wanting('warning'))
    const { outcome } = await makeCall(peer, 'pay', {}, wanting('debug'))
    expect(valueOf(outcome)).toMatchObject({ levels: ['warning', 'debug'], meta: null })
  })

  test('the lowest of calls at once; it rises again when that one has ended', async () => {
    const peer = openPeer(logging('{ tools: {}, logging: {} }'))
    await peer.listing()
    const low = makeCall(peer, 'pay', {}, wanting('info', { wait: true }))
    const { outcome } = await makeCall(peer, 'pay', {}, wanting('error'))
    expect(valueOf(outcome)).toMatchObject({ levels: ['info'] })
    await low
    const later = await makeCall(peer, 'pay', {}, wanting('error'))
    expect(valueOf(later.outcome)).toMatchObject({ levels: ['info', 'error'] })
  })

  test.each<[string, string, string | undefined, string]>([
    ['without logging', '{ tools: {} }', undefined, 'debug'],
    ['a level that is none', '{ tools: {}, logging: {} }', undefined, 'loud'],
  ])('is told to no server %s', async (_, capabilities, onSet, level) => {
    const peer = openPeer(logging(capabilities, onSet))
    const { outcome } = await makeCall(peer, 'pay', {}, wanting(level))
    expect(valueOf(outcome)).toMatchObject({ levels: [] })
  })

  test('a server that refuses it still runs the call', async () => {
    const peer = openPeer(logging('{ tools: {}, logging: {} }', 'refuse(m, -32603)'))
    const { outcome } = await makeCall(peer, 'pay', {}, wanting('debug'))
    expect(outcome.state).toBe('completed')
  })
})

describe('an answer after its call has ended', () => {
  test.each<['canceled' | 'deadline']>([['canceled'], ['deadline']])(
    'is told once, and is no stray: %s',
    async (why) => {
      const late: Outcome[] = []
      const stop = new AbortController()
      let sent = 0
      const peer = openPeer(
        inlineServer(`
          let call
          serve({
            'server/discover': (m) => refuse(m, -32601),
            'tools/call': (m) => { call = m },
            'notifications/cancelled': (m) => {
              if (m.params.requestId !== call.id) process.exit(1)
              answer(call, { content: [{ type: 'text', text: 'done all the same' }] })
              answer(call, { content: [] })
            },
          })`),
      )
      await peer.listing()
      const made = makeCall(
        peer,
        'pay',
        {},
        {
          signal: stop.signal,
          onSend: () => void (sent += 1),
          onLate: (outcome) => void late.push(outcome),
          ...(why === 'deadline' ? { deadlineMs: 300 } : {}),
        },
      )
      await until('it is sent', () => sent === 1)
      if (why === 'canceled') stop.abort()
      const because = why === 'deadline' ? 'deadline' : 'cancel_unconfirmed'
      expect((await made).outcome).toMatchObject({ state: 'unknown', because })
      await until('the second answer has come', () => peer.counts()?.stray === 1)
      expect(late).toMatchObject([{ state: 'completed', toolError: false }])
    },
  )
})

describe('what only a modern hop has', () => {
  test('a continuation brings a session server the same call again, without answers and state', async () => {
    const peer = openPeer(
      inlineServer(`serve({
        'server/discover': (m) => refuse(m, -32601),
        'tools/call': (m) => answer(m, { content: [], params: m.params }),
      })`),
    )
    const handle = { peer: 'peer', kind: 'mcp_state', sealed: '"state"' } as const
    const answers = [{ key: 'a', action: 'accept', data: {} }] as const
    const params = { name: 'x', arguments: { a: 1 }, requestState: 'theirs', inputResponses: {} }
    const { outcome } = await makeCall(
      peer,
      'pay',
      {},
      {
        params: JSON.stringify(params),
        continuation: { callId: 'c-0', handle, answers },
      },
    )
    expect(valueOf(outcome)).toMatchObject({ params: { name: 'pay', arguments: { a: 1 } } })
    expect(Object.keys((valueOf(outcome) as { params: object }).params)).toEqual([
      'name',
      'arguments',
    ])
  })

  test('-32042 of a session server ran nothing and keeps its own error object', async () => {
    const elicitations = [
      { mode: 'url', elicitationId: 'e1', url: 'https://x.example/', message: 'Sign in' },
    ]
    const peer = openPeer(
      inlineServer(`serve({
        'server/discover': (m) => refuse(m, -32601),
        'tools/call': (m) => refuse(m, -32042, 'first sign in', ${JSON.stringify({ elicitations })}),
      })`),
    )
    const { outcome } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({
      state: 'failed',
      origin: 'peer',
      ran: 'no',
      code: 'peer_error',
    })
    expect(valueOf(outcome)).toEqual({
      code: -32042,
      message: 'first sign in',
      data: { elicitations },
    })
  })

  test('that an elicitation is complete has nobody to tell and is counted', async () => {
    const peer = openPeer(
      inlineServer(`serve({
        'server/discover': (m) => refuse(m, -32601),
        'tools/call': (m) => {
          send({ method: 'notifications/elicitation/complete', params: { elicitationId: 'e1' } })
          answer(m, { content: [] })
        },
      })`),
    )
    expect((await makeCall(peer, 'pay')).events).toEqual([])
    expect(peer.counts()).toMatchObject({ droppedEvents: 1 })
  })
})

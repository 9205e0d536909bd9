/** Callers that leave: by closing, by cancelling, by losing the connection; and a door that closes. */
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import type { Exchange } from '../../core/ports/upstream.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { initialize, openTestDoor, postModern, until } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(capabilities: readonly Scripted[]) {
  const house = createScriptedHouse(capabilities)
  const server = await openTestDoor(house)
  closers.push(server.close)
  return { house, ...server }
}

describe('leaving', () => {
  function waits(seen: string[]): Scripted {
    return {
      kind: 'tool',
      exposed: 'waits',
      run: async (_call, exchange) => {
        seen.push('runs')
        if (!exchange.signal.aborted) await once(exchange.signal, 'abort')
        seen.push(String(exchange.stopReason()))
        return completed({ content: [] })
      },
    }
  }

  test('a modern caller that closes the connection cancels', async () => {
    const seen: string[] = []
    const { url } = await open([waits(seen)])
    const leave = new AbortController()
    const asked = postModern(url, 'tools/call', { name: 'waits' }, { signal: leave.signal })
    await until(() => seen.length === 1)
    leave.abort()

    await expect(asked).rejects.toThrow()
    await until(() => seen.length === 2)
    expect(seen).toEqual(['runs', 'caller_canceled'])
  })

  test('a legacy caller that disconnects cancels nothing and is only noted as gone', async () => {
    let running: Exchange | undefined
    const told: string[] = []
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async (_call, exchange) => {
        running = exchange
        exchange.onGone?.(() => told.push('gone'))
        await gate.promise
        return completed({ content: [] })
      },
    }
    const { url } = await open([slow])
    const { session, headers } = await initialize(url)
    const leave = new AbortController()
    const asked = fetch(url, {
      method: 'POST',
      headers: { ...headers, 'mcp-session-id': session },
      body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}',
      signal: leave.signal,
    })
    await until(() => running !== undefined)
    expect(running?.stopReason()).toBeUndefined()
    leave.abort()
    await expect(asked).rejects.toThrow()

    await until(() => running?.stopReason() === 'caller_gone')
    expect(running?.signal.aborted).toBe(false)
    // Told while it still runs: from now on an equal call is its twin.
    expect(told).toEqual(['gone'])
    gate.resolve()
  })

  test('a legacy cancellation stops the call it names', async () => {
    const seen: string[] = []
    const { url } = await open([waits(seen)])
    const { session, headers } = await initialize(url)
    const all = { ...headers, 'mcp-session-id': session }
    const call = { jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'waits' } }
    const asked = fetch(url, { method: 'POST', headers: all, body: JSON.stringify(call) })
    await until(() => seen.length === 1)
    const params = { requestId: 'x', reason: 'enough' }
    const cancel = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    const accepted = await fetch(url, { method: 'POST', headers: all, body: cancel })

    expect(accepted.status).toBe(202)
    expect((await asked).status).toBe(200)
    expect(seen).toEqual(['runs', 'caller_canceled'])
  })

  test('closing the door lets a running call answer', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async () => {
        await gate.promise
        return completed({ content: [] })
      },
    }
    const house = createScriptedHouse([slow])
    const server = await openTestDoor(house)
    const asked = postModern(server.url, 'tools/call', { name: 'slow' })
    await until(() => house.calls.length === 1)
    const closed = server.close()
    gate.resolve()

    expect((await asked).status).toBe(200)
    await closed
  })
})

import { describe, expect, test } from 'vitest'
import { inlineServer, makeCall, openPeer, until } from '../../../test/mcp/upstream-peer.ts'
import { createChangePace } from './change-pace.ts'

describe('the pace of changes', () => {
  test('a server that tells of changes without end is read ever less often, at most every 5 seconds', () => {
    let now = 0
    const pace = createChangePace(() => now)
    const waits = Array.from({ length: 16 }, () => {
      const wait = pace()
      now += wait
      return wait
    })
    expect(waits).toEqual([
      ...Array.from({ length: 8 }, () => 100),
      200,
      400,
      800,
      1600,
      3200,
      5000,
      5000,
      5000,
    ])
  })

  test('a pause makes it prompt again; changes now and then always are', () => {
    let now = 0
    const pace = createChangePace(() => now)
    for (let i = 0; i < 20; i += 1) now += pace()
    now += 10_000
    expect(pace()).toBe(100)
    const waits = new Set<number>()
    for (let i = 0; i < 50; i += 1) {
      now += 1_500
      waits.add(pace())
    }
    expect([...waits]).toEqual([100])
  })
})

test('ten thousand notices a second: told of ever less often, and calls are served meanwhile', async () => {
  const peer = openPeer(
    inlineServer(`
      const notice = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }) + '\\n'
      serve({
        initialize: (m) => {
          answer(m, { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'x', version: '1' } })
          setInterval(() => raw(notice.repeat(100)), 10)
        },
      })`),
  )
  await peer.listing()
  const told: number[] = []
  peer.onChanged(() => void told.push(performance.now()))
  expect((await makeCall(peer, 'pay')).outcome).toMatchObject({ state: 'completed' })
  await until('it was told of eleven times', () => told.length >= 11, 20_000)
  // Seven pauses of 100 ms, and of 200, 400 and 800.
  expect(told[10]! - told[0]!).toBeGreaterThan(2_000)
})

/** Logs of a server that name no call: whose they are when several are open. */
import { describe, expect, test } from 'vitest'
import { inlineServer, makeCall, openPeer } from '../../../test/mcp/upstream-peer.ts'

/** Says `log` once three calls are open, then answers them. */
const CHATTY = `
  const open = []
  serve({ 'tools/call': (m) => {
    if (open.push(m) < 3) return
    send({ method: 'notifications/message', params: { level: 'error', data: 'whose?' } })
    for (const one of open.splice(0)) answer(one, { content: [] })
  } })`

const LOGS =
  '{"name":"x","arguments":{},"_meta":{"io.modelcontextprotocol/logLevel":"info","progressToken":1}}'

async function eventsOf(
  principals: readonly string[],
  stateless: boolean,
  wish: (index: number) => string | undefined = () => undefined,
): Promise<readonly number[]> {
  const peer = openPeer(inlineServer(CHATTY), { stateless })
  await peer.listing()
  const made = await Promise.all(
    principals.map(async (principal, index) => {
      const params = wish(index)
      return makeCall(peer, 'pay', {}, { principal, ...(params === undefined ? {} : { params }) })
    }),
  )
  return made.map(({ events }) => events.length)
}

describe('a log while several calls are open', () => {
  test('goes to the most recent one, where all are of one principal', async () => {
    expect(await eventsOf(['alice', 'alice', 'alice'], false)).toEqual([0, 0, 1])
  })

  test('goes to the most recent one that wants logs', async () => {
    const wish = (index: number): string | undefined => (index === 1 ? LOGS : undefined)
    expect(await eventsOf(['alice', 'alice', 'alice'], false, wish)).toEqual([0, 1, 0])
  })

  test('goes to nobody where two principals share the process', async () => {
    expect(await eventsOf(['alice', 'alice', 'bob'], true)).toEqual([0, 0, 0])
  })
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Outcome } from '../../core/words/outcome.ts'
import {
  inlineServer,
  listenModern,
  makeCall,
  openPeer,
  until,
} from '../../../test/mcp/upstream-peer.ts'

function logFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'comity-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'log')
  writeFileSync(file, '')
  return file
}

const PROGRESS = { params: '{"name":"x","_meta":{"progressToken":"theirs"}}' }

/** Says something every 100 ms, so many times; then it is silent until it is canceled, and answers all the same. */
const TALKER = `
  let open
  serve({
    'tools/call': (m) => {
      open = m
      const { progressToken } = m.params._meta ?? {}
      let said = 0
      const timer = setInterval(() => {
        if (said === Number(process.env.SAYS)) return clearInterval(timer)
        said += 1
        send({ method: 'notifications/progress', params: { progressToken, progress: said } })
      }, 100)
    },
    'notifications/cancelled': (m) => {
      appendFileSync(process.env.LOG, String(m.params.requestId))
      answer(open, { content: [{ type: 'text', text: 'late' }] })
    },
  })
`

describe('the idle limit of a call', () => {
  test('ends a call that gives no sign of life: unknown, canceled at the server, its late answer told', async () => {
    const log = logFile()
    const peer = openPeer(inlineServer(TALKER, { LOG: log, SAYS: '0' }), {
      limits: { idleMs: 300 },
    })
    await peer.listing()
    const late: Outcome[] = []
    const { outcome, sent } = await makeCall(
      peer,
      'pay',
      {},
      { onLate: (found) => void late.push(found) },
    )
    expect(outcome).toMatchObject({
      state: 'unknown',
      because: 'deadline',
      detail: expect.stringMatching(
        /no sign of life for 0\.3 s.*`timeouts: \{ idle \}`/u,
      ) as string,
    })
    await until('the server was told', () => readFileSync(log, 'utf8') === sent[0]!.wireId)
    await until('the late answer came', () => late.length === 1)
    expect(late[0]).toMatchObject({ state: 'completed' })
  })

  test('begins anew with each progress; the limit of the whole call does not', async () => {
    const patient = openPeer(inlineServer(TALKER, { LOG: logFile(), SAYS: '12' }), {
      limits: { idleMs: 1_000 },
    })
    await patient.listing()
    const begun = performance.now()
    const long = await makeCall(patient, 'pay', {}, PROGRESS)
    // Twelve times 100 ms, and then a second of silence.
    expect(performance.now() - begun).toBeGreaterThan(2_000)
    expect(long.events).toHaveLength(12)
    expect(long.outcome).toMatchObject({ state: 'unknown', because: 'deadline' })

    const bounded = openPeer(inlineServer(TALKER, { LOG: logFile(), SAYS: '1000' }), {
      limits: { idleMs: 10_000, callMs: 600 },
    })
    await bounded.listing()
    const { outcome, events } = await makeCall(bounded, 'pay', {}, PROGRESS)
    expect(events.length).toBeGreaterThan(0)
    expect(outcome).toMatchObject({
      state: 'unknown',
      because: 'deadline',
      detail: expect.stringMatching(/within 0\.6 s.*`timeouts: \{ call \}`/u) as string,
    })
  })

  test('does not run while the server starts, nor while its caller is asked', async () => {
    const slow = openPeer(
      inlineServer(`setTimeout(() => serve({ 'server/discover': (m) => refuse(m, -32601) }), 600)`),
      { limits: { idleMs: 300 } },
    )
    expect((await makeCall(slow, 'pay')).outcome).toMatchObject({ state: 'completed' })

    const asking = openPeer(
      inlineServer(`
        let open
        serve({
          'server/discover': (m) => refuse(m, -32601),
          initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }),
          'tools/call': (m) => {
            open = m
            send({ id: 'q', method: 'elicitation/create', params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } } })
          },
          undefined: () => answer(open, { content: [] }),
        })
      `),
      { limits: { idleMs: 300, callMs: 900 } },
    )
    await asking.listing()
    const { outcome } = await makeCall(
      asking,
      'pay',
      {},
      {
        can: { form: true },
        // A person takes longer than both limits.
        ask: async ({ key }) => {
          await new Promise((resolve) => setTimeout(resolve, 1_200))
          return { key, action: 'decline' }
        },
      },
    )
    expect(outcome).toMatchObject({ state: 'completed' })
  })

  test('over HTTP ends the request, which is how a server of 2026-07-28 is told', async () => {
    let closed = false
    const url = await listenModern((_message, response) => {
      response.on('close', () => (closed = true))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': alive\n\n')
    })
    const peer = openPeer({ transport: 'http', url, headers: {} }, { limits: { idleMs: 200 } })
    expect((await makeCall(peer, 'pay')).outcome).toMatchObject({
      state: 'unknown',
      because: 'deadline',
    })
    await until('the request was ended', () => closed)
  })
})

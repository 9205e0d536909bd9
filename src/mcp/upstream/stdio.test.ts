import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  inlineServer,
  makeCall,
  openPeer,
  until,
  valueOf,
} from '../../../test/mcp/upstream-peer.ts'

function counterFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'comity-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'counter')
  writeFileSync(file, '')
  return file
}

const PAID = { content: [{ type: 'text', text: 'paid' }] }

describe('C20: noise on stdout', () => {
  test('is dropped and counted, before, between and after answers', async () => {
    const peer = openPeer(
      inlineServer(`
        raw('Starting demo server v2 ...\\n[db] connected\\n\\n123\\n"text"\\n[]\\n')
        raw('{"level":30,"msg":"ready"}\\n\\u001b[32mok\\u001b[0m\\n')
        serve({ 'tools/call': (m) => { raw('calling...\\n'); raw('{"id":' + m.id + ',"result":{"fake":true}}\\n'); answer(m, { content: [{ type: 'text', text: 'paid' }] }) } })
      `),
    )
    const listing = await peer.listing()
    expect(listing.capabilities.map(({ name }) => name)).toEqual(['pay'])
    const { outcome } = await makeCall(peer, 'pay')
    expect([outcome.state, valueOf(outcome)]).toEqual(['completed', PAID])
    const counts = peer.counts()!
    expect([counts.noise, counts.stray]).toEqual([9, 0])
    expect(counts.noiseSample[0]).toBe('Starting demo server v2 ...')
  })

  test('without a line end meets the line limit, which ends that server only', async () => {
    const flood = openPeer(
      inlineServer(
        `serve({ 'tools/call': () => { const piece = 'x'.repeat(1e5); for (let i = 0; i < 30; i++) raw(piece) } })`,
      ),
      { maxBytes: 1_000_000 },
    )
    const other = openPeer(inlineServer('serve({})'))
    const { outcome } = await makeCall(flood, 'pay')
    expect(outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect(outcome).toHaveProperty(
      'detail',
      expect.stringContaining('longer than the limit of 1000000 bytes'),
    )
    expect((await makeCall(other, 'pay')).outcome.state).toBe('completed')
  })
})

describe('framing', () => {
  test('CRLF, a byte order mark and characters split between writes are understood', async () => {
    const peer = openPeer(
      inlineServer(`
        serve({ 'tools/call': (m) => {
          const line = Buffer.from('\\ufeff' + JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { content: [{ type: 'text', text: '你😀' }] } }) + '\\r\\n')
          const cut = line.indexOf(0xbd)
          process.stdout.write(line.subarray(0, cut), () => setImmediate(() => process.stdout.write(line.subarray(cut))))
        } })
      `),
    )
    const { outcome } = await makeCall(peer, 'pay')
    expect(valueOf(outcome)).toEqual({ content: [{ type: 'text', text: '你😀' }] })
  })

  test('unknown members and big numbers go out and come back byte for byte', async () => {
    const peer = openPeer(
      inlineServer(`
        createInterface({ input: process.stdin }).on('line', (line) => {
          const id = JSON.parse(line).id
          if (line.includes('tools/call')) raw('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[],"n": 9007199254740993,"echo":' + JSON.stringify(line) + '}}\\n')
          else if (line.includes('"initialize"')) answer({ id }, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} })
          else if (id !== undefined) refuse({ id }, -32601)
        })
      `),
    )
    const params =
      '{ "name":"exposed" , "arguments" : {"n": 12345678901234567890, "e":1.50e1}, "future": {"a" :1},"requestState":"forged","task":{"ttl":1}}'
    const { outcome } = await makeCall(peer, 'pay', {}, { params })
    if (outcome.state !== 'completed') throw new Error(JSON.stringify(outcome))
    expect(new TextDecoder().decode(outcome.native.bytes)).toContain('"n": 9007199254740993')
    const { echo } = outcome.native.value() as { echo: string }
    expect(echo).toContain(
      '"params":{ "name":"pay" , "arguments" : {"n": 12345678901234567890, "e":1.50e1}, "future": {"a" :1}}',
    )
  })
})

describe('C31: ids', () => {
  test('our number given back as text is taken and counted; strangers and second answers are dropped', async () => {
    const peer = openPeer(
      inlineServer(`
        const held = []
        serve({ 'tools/call': (m) => {
          held.push(m)
          if (held.length < 3) return
          send({ id: 999999, result: {} })
          send({ id: 'never', result: {} })
          for (const one of held.reverse()) {
            send({ id: String(one.id), result: { content: [], for: one.params.arguments.n } })
            send({ id: one.id, result: { content: [], second: true } })
          }
        } })
      `),
    )
    await peer.listing()
    const made = await Promise.all([1, 2, 3].map((n) => makeCall(peer, 'pay', { n })))
    expect(made.map(({ outcome }) => valueOf(outcome))).toEqual(
      [1, 2, 3].map((n) => ({ content: [], for: n })),
    )
    await until('all strays are counted', () => peer.counts()?.stray === 5)
    expect(peer.counts()?.nonConforming).toBe(3)
  })

  test('a broken answer to a call of ours ends that call at once: what it did is unknown', async () => {
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/call': (m) => raw('{"jsonrpc":"2.0","id":' + m.id + ',"result":{},"result":{}}\\n') })`,
      ),
    )
    expect((await makeCall(peer, 'pay')).outcome).toMatchObject({
      state: 'unknown',
      because: 'peer_unclear',
    })
  })
})

describe('a server that dies', () => {
  test('C50 c: after acting: the call is unknown, nothing is sent again, the next call is served', async () => {
    const file = counterFile()
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/call': (m) => { appendFileSync(${JSON.stringify(file)}, 'x'); if (readFileSync(${JSON.stringify(file)}, 'utf8').length === 1) process.exit(1); answer(m, { content: [] }) } })`,
      ),
    )
    await peer.listing()
    const { outcome, sent } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect(sent).toHaveLength(1)
    expect(readFileSync(file, 'utf8')).toBe('x')
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(readFileSync(file, 'utf8')).toBe('xx')
  })

  test('C50 d: a tool error is an answer: no reconnect, no repeat', async () => {
    const file = counterFile()
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/call': (m) => { appendFileSync(${JSON.stringify(file)}, 'x'); answer(m, { isError: true, content: [{ type: 'text', text: 'card refused' }] }) } })`,
      ),
    )
    expect((await makeCall(peer, 'pay')).outcome).toMatchObject({
      state: 'completed',
      toolError: true,
    })
    expect(readFileSync(file, 'utf8')).toBe('x')
  })

  test('killed in mid-call: all open calls are answered at once, the next one within 300 ms and the start', async () => {
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/call': (m) => { if (m.params.arguments.kill) process.kill(process.pid, 'SIGKILL'); if (m.params.arguments.fast) answer(m, { content: [] }) } })`,
      ),
    )
    const cold = performance.now()
    await makeCall(peer, 'pay', { fast: true })
    const startMs = performance.now() - cold

    const open = [makeCall(peer, 'pay'), makeCall(peer, 'pay')]
    const killed = performance.now()
    const made = await Promise.all([...open, makeCall(peer, 'pay', { kill: true })])
    expect(performance.now() - killed).toBeLessThan(500)
    expect(made.map(({ outcome }) => outcome.state)).toEqual(['unknown', 'unknown', 'unknown'])

    const again = performance.now()
    expect((await makeCall(peer, 'pay', { fast: true })).outcome.state).toBe('completed')
    expect(performance.now() - again).toBeLessThan(300 + 2 * startMs)
  })

  test('at every start: calls fail with what it printed and are known not to have run', async () => {
    const peer = openPeer(inlineServer(`console.error('no database'); process.exit(7)`))
    const { outcome, sent } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({
      state: 'failed',
      origin: 'transport',
      ran: 'no',
      code: 'peer_unreachable',
    })
    expect(outcome).toHaveProperty(
      'detail',
      expect.stringMatching(/exited with code 7.*no database/s),
    )
    expect(sent).toEqual([])
    expect(peer.report()).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('no database') as string,
    })
  })

  test('again and again is left alone for longer and longer', async () => {
    const peer = openPeer(inlineServer('process.exit(1)'))
    for (let attempt = 0; attempt < 5; attempt += 1) await peer.listing().catch(() => {})
    const from = performance.now()
    const { outcome } = await makeCall(peer, 'pay')
    expect(outcome).toHaveProperty(
      'detail',
      expect.stringMatching(/tried \d+ times; not tried again for \d+ s/),
    )
    expect(performance.now() - from).toBeLessThan(100)
  })
})

describe('a server that does not read', () => {
  test('collects no calls: beyond a bound they are refused as not sent, and served once it reads', async () => {
    const file = counterFile()
    const peer = openPeer(
      inlineServer(
        `
        serve({ 'tools/call': (m) => {
          appendFileSync(process.env.LOG, 'x')
          if (m.params.arguments.sleep) while (readFileSync(process.env.LOG, 'utf8') !== 'xgo') {}
          answer(m, { content: [] })
        } })
      `,
        { LOG: file },
      ),
    )
    await peer.listing()
    const first = makeCall(peer, 'pay', { sleep: true })
    await until('it sleeps', () => readFileSync(file, 'utf8') === 'x')
    const large = { text: 'x'.repeat(6 * 1024 * 1024) }
    let sending = 0
    const onSend = (): void => void (sending += 1)
    const filling = [1, 2, 3].map(() => makeCall(peer, 'pay', large, { onSend }))
    await until('they are on the way', () => sending === 3)
    const { outcome, sent } = await makeCall(peer, 'pay', large)
    expect(outcome).toMatchObject({
      state: 'failed',
      origin: 'transport',
      ran: 'no',
      code: 'not_sent',
      detail: expect.stringContaining('does not read') as string,
    })
    expect(sent).toEqual([])
    writeFileSync(file, 'xgo')
    expect((await first).outcome.state).toBe('completed')
    for (const made of filling) expect((await made).outcome.state).toBe('completed')
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  })
})

describe('a server that lives but is of no use', () => {
  const useless = (act: string, log: string) =>
    inlineServer(`
      setInterval(() => {}, 1e6)
      const file = ${JSON.stringify(log)}
      serve({ 'tools/call': (m) => {
        appendFileSync(file, 'x')
        if (readFileSync(file, 'utf8').length > 1) return answer(m, { content: [] })
        ${act}
      } })
    `)

  test('closes its output: its call ends, and a new one takes its place', async () => {
    const peer = openPeer(useless('closeSync(1)', counterFile()))
    const { outcome } = await makeCall(peer, 'pay', {}, { deadlineMs: 3000 })
    expect(outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect(outcome).toHaveProperty('detail', expect.stringContaining('closed its output'))
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  })

  test('closes its input: the next write finds out, for all open calls', async () => {
    const file = counterFile()
    const peer = openPeer(useless('closeSync(0)', file))
    const first = makeCall(peer, 'pay', {}, { deadlineMs: 3000 })
    await until('the act', () => readFileSync(file, 'utf8') === 'x')
    const second = await makeCall(peer, 'pay', {}, { deadlineMs: 3000 })
    expect((await first).outcome).toMatchObject({
      state: 'unknown',
      because: 'sent_no_answer',
      detail: expect.stringContaining('no longer reads its input') as string,
    })
    expect(second.outcome.state).toBe('unknown')
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  })
})

describe('progress and logs', () => {
  test('reach the caller in order, awaited, before the outcome and never after it', async () => {
    const peer = openPeer(
      inlineServer(`
        serve({ 'tools/call': (m) => {
          const progressToken = m.params._meta.progressToken
          for (let progress = 1; progress <= 200; progress++) send({ method: 'notifications/progress', params: { progressToken, progress, extra: 1 } })
          send({ method: 'notifications/message', params: { level: 'info', data: 'half' } })
          answer(m, { content: [] })
          send({ method: 'notifications/progress', params: { progressToken, progress: 201 } })
        } })
      `),
    )
    const params = '{"name":"x","_meta":{"progressToken":"theirs"}}'
    let busy = 0
    const { outcome, events } = await makeCall(
      peer,
      'pay',
      {},
      {
        params,
        onEvent: async () => {
          busy += 1
          expect(busy).toBe(1)
          await new Promise((resolve) => setImmediate(resolve))
          busy -= 1
        },
      },
    )
    expect(outcome.state).toBe('completed')
    const steps = events.filter(({ kind }) => kind === 'progress').map(({ params: step }) => step)
    expect(steps).toHaveLength(200)
    expect(steps.map((step) => (step as { progress: number }).progress)).toEqual(
      steps.map((_, index) => index + 1),
    )
    expect(events.at(-1)).toEqual({ kind: 'log', params: { level: 'info', data: 'half' } })
    await until('the late one is dropped', () => peer.counts()?.stray === 1)
    expect(events).toHaveLength(201)
  })

  test('a caller that takes no progress keeps no other waiting, and gets the newest', async () => {
    const peer = openPeer(
      inlineServer(`
        serve({ 'tools/call': (m) => {
          const progressToken = m.params._meta?.progressToken
          for (let progress = 1; progressToken !== undefined && progress <= 5000; progress++) {
            send({ method: 'notifications/progress', params: { progressToken, progress, message: 'x'.repeat(1000) } })
          }
          answer(m, { content: [] })
        } })
      `),
    )
    await peer.listing()
    let read: () => void = () => undefined
    const reading = new Promise<void>((resolve) => (read = resolve))
    const slow = makeCall(
      peer,
      'pay',
      {},
      { params: '{"name":"x","_meta":{"progressToken":"theirs"}}', onEvent: () => reading },
    )
    await until('events are dropped', () => (peer.counts()?.droppedEvents ?? 0) > 0, 20_000)
    const others = await Promise.all([1, 2, 3].map(() => makeCall(peer, 'pay')))
    expect(others.map(({ outcome }) => outcome.state)).toEqual(Array(3).fill('completed'))
    read()
    const { outcome, events } = await slow
    expect(outcome.state).toBe('completed')
    const steps = events.map(({ params }) => (params as { progress: number }).progress)
    expect(steps.at(-1)).toBe(5000)
    expect(steps).toEqual(steps.toSorted((one, other) => one - other))
    expect(steps.length + peer.counts()!.droppedEvents).toBe(5000)
    // About one mebibyte, beside the one that was on its way.
    expect(steps.length).toBeLessThan(1100)
  })

  test('a caller that wants no progress costs the peer none', async () => {
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/call': (m) => answer(m, { content: [], meta: m.params._meta ?? null }) })`,
      ),
    )
    expect(valueOf((await makeCall(peer, 'pay')).outcome)).toEqual({ content: [], meta: null })
  })
})

describe('stopping', () => {
  const patient = `
    serve({
      'tools/call': () => {},
      'notifications/cancelled': (m) => appendFileSync(process.env.LOG, m.params.requestId + ' '),
    })
  `
  test('a canceled call is told to the server and ends as unknown', async () => {
    const file = counterFile()
    const peer = openPeer(inlineServer(patient, { LOG: file }))
    const stop = new AbortController()
    const { outcome, sent } = await makeCall(
      peer,
      'pay',
      {},
      { signal: stop.signal, onSend: () => setImmediate(() => stop.abort()) },
    )
    expect(outcome).toMatchObject({ state: 'unknown', because: 'cancel_unconfirmed' })
    await until('the server was told', () => readFileSync(file, 'utf8') === `${sent[0]!.wireId} `)
  })

  test('a passed deadline does the same and says so', async () => {
    const peer = openPeer(inlineServer(patient, { LOG: counterFile() }))
    await peer.listing()
    expect((await makeCall(peer, 'pay', {}, { deadlineMs: 100 })).outcome).toMatchObject({
      state: 'unknown',
      because: 'deadline',
    })
  })

  test('a deadline that passes while the server starts: nothing was sent', async () => {
    const peer = openPeer(inlineServer('process.stdin.resume()'))
    const { outcome, sent } = await makeCall(peer, 'pay', {}, { deadlineMs: 50 })
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'deadline_before_send' })
    expect(sent).toEqual([])
  })
})

test('a legacy server may ping; what its caller cannot be asked is refused, what nobody declared unknown', async () => {
  const peer = openPeer(
    inlineServer(`
      let call, seen = []
      serve({
        'tools/call': (m) => { call = m; send({ id: 'p', method: 'ping' }); send({ id: 'r', method: 'roots/list' }); send({ id: 't', method: 'tasks/list' }) },
        '*': () => {},
        undefined: (m) => { seen.push(m); if (seen.length === 3) answer(call, { content: [], seen: seen.toSorted((a, b) => (a.id < b.id ? -1 : 1)) }) },
      })
    `),
    { probeMs: 100 },
  )
  expect(valueOf((await makeCall(peer, 'pay')).outcome)).toMatchObject({
    seen: [
      { id: 'p', result: {} },
      { id: 'r', error: { code: -1 } },
      { id: 't', error: { code: -32601 } },
    ],
  })
})

test('a broken request of the server is refused, under an id that is open on our side too', async () => {
  const peer = openPeer(
    inlineServer(`
      let call
      serve({
        'tools/call': (m) => { call = m; raw(JSON.stringify({ jsonrpc: '2.0', id: m.id, method: 'elicitation/create', params: [] }) + '\\n') },
        '*': () => {},
        undefined: (m) => answer(call, { content: [], said: m.error?.code }),
      })
    `),
    { probeMs: 100 },
  )
  const { outcome } = await makeCall(peer, 'pay')
  expect(valueOf(outcome)).toMatchObject({ said: -32600 })
})

test('changes of the list are told once for a burst', async () => {
  const peer = openPeer(
    inlineServer(
      `serve({ 'tools/call': (m) => { for (let i = 0; i < 5; i++) send({ method: 'notifications/tools/list_changed' }); answer(m, { content: [] }) } })`,
    ),
  )
  let changes = 0
  peer.onChanged(() => {
    changes += 1
  })
  await makeCall(peer, 'pay')
  await until('the change was told', () => changes > 0)
  await makeCall(peer, 'pay')
  await until('the second burst was told', () => changes > 1)
  expect(changes).toBe(2)
})

test.each([
  [-32601, 'no'],
  [-32602, 'no'],
  [-32600, 'no'],
  [-32700, 'no'],
  [-32603, 'yes'],
  [-32000, 'yes'],
])("a JSON-RPC error %i is the peer's failure; ran: %s", async (code, ran) => {
  const peer = openPeer(
    inlineServer(`serve({ 'tools/call': (m) => refuse(m, ${code}, 'theirs', { a: 1 }) })`),
  )
  const { outcome } = await makeCall(peer, 'pay')
  expect(outcome).toMatchObject({ state: 'failed', origin: 'peer', code: 'peer_error', ran })
  expect(valueOf(outcome)).toEqual({ code, message: 'theirs', data: { a: 1 } })
})

test('unsound arguments are refused before anything is sent', async () => {
  const peer = openPeer(inlineServer('serve({})'))
  const { outcome, sent } = await makeCall(peer, 'pay', {}, { params: '{"name":"x","name":"y"}' })
  expect(outcome).toMatchObject({
    state: 'failed',
    origin: 'validation',
    ran: 'no',
    code: 'bad_arguments',
  })
  expect(sent).toEqual([])
})

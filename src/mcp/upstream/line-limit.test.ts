/** Lines at the edge of what is read, from real processes: one server's flood is that server's end, and nobody else's. */
import { expect, test } from 'vitest'
import { inlineServer, makeCall, openPeer } from '../../../test/mcp/upstream-peer.ts'
import { DEFAULT_MAX_BYTES } from './link.ts'

/** Answers with a line of so many bytes, its line feed not counted. */
const LARGE = `
  serve({ 'tools/call': (m) => {
    const { bytes } = m.params.arguments
    if (bytes === undefined) return answer(m, { content: [] })
    const head = '{"jsonrpc":"2.0","id":' + m.id + ',"result":{"content":[],"fill":"'
    const tail = '"}}'
    process.stdout.write(head + 'x'.repeat(bytes - head.length - tail.length) + tail + '\\n')
  } })
`

/** Writes for as long as it is read, and never ends its line. */
const ENDLESS = `
  serve({ 'tools/call': (m) => {
    const piece = 'x'.repeat(1 << 20)
    let left = 400
    const more = () => { while (left-- > 0) if (!process.stdout.write(piece)) return process.stdout.once('drain', more) }
    more()
  } })
`

test('a line of 64 MiB is an answer; one byte more ends its server in clear words, and the next call starts it anew', async () => {
  const peer = openPeer(inlineServer(LARGE))
  const other = openPeer(inlineServer('serve({})'))
  await Promise.all([peer.listing(), other.listing()])
  expect(DEFAULT_MAX_BYTES).toBe(64 * 1024 * 1024)

  const [largest, beside] = await Promise.all([
    makeCall(peer, 'pay', { bytes: DEFAULT_MAX_BYTES }, { deadlineMs: 60_000 }),
    makeCall(other, 'pay'),
  ])
  expect([largest.outcome.state, beside.outcome.state]).toEqual(['completed', 'completed'])
  const native = 'native' in largest.outcome ? largest.outcome.native : undefined
  expect(native?.bytes.length).toBeGreaterThan(DEFAULT_MAX_BYTES - 100)

  const [over, meanwhile] = await Promise.all([
    makeCall(peer, 'pay', { bytes: DEFAULT_MAX_BYTES + 1 }, { deadlineMs: 60_000 }),
    makeCall(other, 'pay'),
  ])
  expect(over.outcome).toMatchObject({
    state: 'unknown',
    because: 'sent_no_answer',
    detail: expect.stringContaining('a line longer than the limit of 67108864 bytes') as string,
  })
  expect(meanwhile.outcome.state).toBe('completed')
  expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
}, 120_000)

test('a line without an end takes no more memory than the longest line', async () => {
  const peer = openPeer(inlineServer(ENDLESS))
  await peer.listing()
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }, 2)
  const { outcome } = await makeCall(peer, 'pay', {}, { deadlineMs: 60_000 })
  clearInterval(watching)
  expect(outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
  // What was read and is let go is not collected at once.
  expect(most).toBeLessThan(2.5 * DEFAULT_MAX_BYTES)
}, 120_000)

test('a longest line in the smallest pieces costs what its bytes cost', async () => {
  const { createLineSplitter } = await import('./lines.ts')
  let length = 0
  const splitter = createLineSplitter(1_000_000, (line) => (length = line.length))
  const begun = performance.now()
  for (let index = 0; index < 1_000_000; index += 1) splitter.feed(Uint8Array.of(0x78))
  splitter.feed(Uint8Array.of(0x0a))
  expect(length).toBe(1_000_000)
  expect(performance.now() - begun).toBeLessThan(5_000)
})

/** Messages that come byte by byte, on a bare socket. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Deadlines } from '../wire/deadlines.ts'
import { Arrivals } from './http-body.ts'
import { until } from './testing/test-door.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What is held, bytes. */
function held(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const PIECES = 100_000

test('a message in pieces of one byte takes the memory of its bytes, not that of its pieces', async () => {
  const limits = { maxMessageBytes: PIECES, bodyIdleMs: 60_000 }
  const arrivals = new Arrivals(limits, new Deadlines('apart'))
  let seen = 0
  const server = createServer((request, response) => {
    arrivals.read(request, { bodyRead: (body) => response.end(body) })
    request.on('data', () => (seen += 1))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n')
    const before = held()
    socket.write('1\r\nx\r\n'.repeat(PIECES))
    await until(() => seen === PIECES)
    expect(held() - before).toBeLessThan(PIECES * 50)
    socket.write('0\r\n\r\n')
    let answer = ''
    socket.on('data', (piece: Buffer) => (answer += piece.toString()))
    await until(() => answer.endsWith('0\r\n\r\n') || answer.endsWith('x'.repeat(PIECES)))
    expect(answer).toContain('x'.repeat(1000))
  } finally {
    socket.destroy()
    server.close()
  }
})

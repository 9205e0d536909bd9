/** An answer learns at once that nobody waits for it any more. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { openHttpAnswer } from './http-answer.ts'
import { createUnread } from './outgoing.ts'

const TIMES = { streamAfterMs: 60_000, keepAliveMs: 60_000, writeIdleMs: 60_000 }

test('a caller that hangs up is gone as soon as the end of what it sends is seen', async () => {
  const goneAtEnd = Promise.withResolvers<boolean>()
  const server = createServer((request, response) => {
    const { closed } = openHttpAnswer(response, TIMES, createUnread(1024))
    // Behind the answer's own listener.
    request.socket.once('end', () => goneAtEnd.resolve(closed.aborted))
    request.resume()
    caller.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const caller = connect((server.address() as AddressInfo).port, '127.0.0.1')
  caller.write('POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n')

  expect(await goneAtEnd.promise).toBe(true)
  caller.destroy()
  server.close()
})

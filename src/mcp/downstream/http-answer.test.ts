/** An answer learns at once that nobody waits for it any more. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { Deadlines } from '../wire/deadlines.ts'
import { HttpAnswer, Lines, type AnswerTerms } from './http-answer.ts'
import { createUnread } from './outgoing.ts'

function termsOf(): AnswerTerms {
  const times = { streamAfterMs: 60_000, keepAliveMs: 60_000, writeIdleMs: 60_000 }
  const deadlines = new Deadlines('apart')
  return { ...times, deadlines, lines: new Lines(), unread: createUnread(1024) }
}

const NOBODY = { answerLost: () => undefined, answerOver: () => undefined }

test('a caller that hangs up is gone as soon as the end of what it sends is seen', async () => {
  const goneAtEnd = Promise.withResolvers<boolean>()
  const server = createServer((request, response) => {
    const { closed } = new HttpAnswer(response, termsOf(), NOBODY)
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

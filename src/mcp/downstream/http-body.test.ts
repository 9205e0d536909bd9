import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Deadlines } from '../wire/deadlines.ts'
import { Arrivals } from './http-body.ts'

const LIMITS = { maxMessageBytes: 1_000_000, bodyIdleMs: 60_000 }

/** A server that answers each body with its length and digest. */
async function digesting(): Promise<number> {
  const arrivals = new Arrivals(LIMITS, new Deadlines('apart'))
  const server = createServer((request, response) => {
    arrivals.read(request, {
      bodyRead: (body) => {
        response.end(body instanceof Uint8Array ? told(body) : JSON.stringify(body ?? 'gone'))
      },
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

function told(body: Uint8Array): string {
  return `${body.length} ${createHash('sha256').update(body).digest('hex')}`
}

async function answerTo(
  port: number,
  pieces: readonly Uint8Array[],
  length?: number,
): Promise<string> {
  const headers = length === undefined ? {} : { 'content-length': length }
  const request = send({ port, method: 'POST', headers, agent: false })
  const answered = once(request, 'response')
  for (const piece of pieces) {
    request.write(piece)
    // Each on its own, so that it arrives on its own.
    await new Promise((resolve) => setImmediate(resolve))
  }
  request.end()
  const [response] = (await answered) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

const body = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => at % 251)
/** Cut at places that nothing else is cut at. */
const cut = (whole: Uint8Array): readonly Uint8Array[] => [
  whole.subarray(0, 7),
  whole.subarray(7, 40_001),
  whole.subarray(40_001),
]

test.each([0, 1, 100, 65_536, 262_144, 262_145, 900_000])(
  'a body of %i bytes arrives as it was sent, whether its length was told before or not',
  async (length) => {
    const port = await digesting()
    const whole = body(length)
    const expected = told(whole)
    expect(await answerTo(port, [whole], length)).toBe(expected)
    expect(await answerTo(port, cut(whole), length)).toBe(expected)
    expect(await answerTo(port, cut(whole))).toBe(expected)
  },
)

test('one that is too large is refused, by what is told of it or by what comes', async () => {
  const port = await digesting()
  expect(await answerTo(port, [], 1_000_001)).toContain('413')
  expect(await answerTo(port, cut(body(1_000_001)))).toContain('413')
})

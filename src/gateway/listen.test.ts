/** Where a server is bound, by true sockets. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { hostInUrl } from './served-hosts.ts'
import { expect, test } from 'vitest'
import { listen } from './listen.ts'

const answer = (_request: unknown, response: { end(text: string): void }): void =>
  response.end('here')

test('localhost is served at every address of that name, on one port', async () => {
  const listening = await listen(answer, { host: 'localhost', port: 0 })
  try {
    const { port } = new URL(listening.url)
    expect(listening.url).toBe(`http://localhost:${port}`)
    const bound: string[] = []
    for (const { address } of await lookup('localhost', { all: true })) {
      const at = `http://${hostInUrl(address)}:${port}`
      const said = await fetch(at).then(
        (response) => response.text(),
        () => 'nobody',
      )
      if (said === 'here') bound.push(address)
    }
    // One that this machine names and does not have is left out.
    expect(bound).toContain('127.0.0.1')
  } finally {
    await listening.close()
  }
})

test('closing breaks off the connections there are', async () => {
  const listening = await listen(answer, { host: '127.0.0.1', port: 0 })
  const socket = connect(Number(new URL(listening.url).port), '127.0.0.1')
  await once(socket, 'connect')
  const gone = once(socket, 'close')
  socket.resume()
  await listening.close()
  await gone
})

test.each([
  ['says nothing', ''],
  ['never ends its headers', 'POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: '],
])('a connection that %s is broken off: nobody keeps one open for nothing', async (_what, said) => {
  const served: unknown[] = []
  const listening = await listen((request) => void served.push(request.url), {
    host: '127.0.0.1',
    port: 0,
    headersMs: 100,
  })
  const socket = connect(Number(new URL(listening.url).port), '127.0.0.1')
  socket.on('error', () => undefined).resume()
  await once(socket, 'connect')
  socket.write(said)
  await once(socket, 'close')
  expect(served).toEqual([])
  await listening.close()
})

test('a body may take its time: how long is for its door to say', async () => {
  const listening = await listen(
    (request, response) => {
      let body = ''
      request.on('data', (piece: Buffer) => (body += piece.toString()))
      request.on('end', () => response.end(`took ${body}`))
    },
    { host: '127.0.0.1', port: 0, headersMs: 50 },
  )
  const socket = connect(Number(new URL(listening.url).port), '127.0.0.1')
  const over = once(socket, 'close')
  const chunks: string[] = []
  socket.on('data', (piece: Buffer) => chunks.push(piece.toString()))
  socket.write(
    'POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 10\r\n\r\n',
  )
  // In longer than headers may take.
  for (const byte of 'one by one') {
    socket.write(byte)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await over
  expect(chunks.join('')).toContain('took one by one')
  await listening.close()
})

test('a port that is taken is said with what to do', async () => {
  const first = await listen(answer, { host: '127.0.0.1', port: 0 })
  const port = Number(new URL(first.url).port)
  await expect(listen(answer, { host: '127.0.0.1', port })).rejects.toMatchObject({
    code: 'config_invalid',
    message: `port ${port} on 127.0.0.1 is taken: choose another with --port, or stop what listens there`,
  })
  await first.close()
})

test('an address that this machine does not have is said', async () => {
  await expect(listen(answer, { host: '192.0.2.1', port: 0 })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('cannot listen on 192.0.2.1:0'),
  })
})

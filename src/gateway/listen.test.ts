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

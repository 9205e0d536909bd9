/** The peer over lines: standard input and output of a process of its own. `node peer-lines.ts <revision>` */
import { createInterface } from 'node:readline'
import { createCompatPeer, type Incoming, type Json } from './peer.ts'
import { createSessionAsks } from './session-asks.ts'
import { isModern, type Revision } from './revisions.ts'

const revision = process.argv[2] as Revision
const peer = createCompatPeer(revision)
const send = (message: Json): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
const running = new Map<unknown, AbortController>()
const asks = createSessionAsks()
if (!isModern(revision)) peer.onNotice((method, params) => send({ method, params }))

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Incoming & { readonly result?: Json; readonly error?: Json }
  if (message.method === undefined) return asks.take(message)
  if (message.method === 'notifications/cancelled') {
    running.get(message.params?.['requestId'])?.abort()
    return
  }
  if (message.id === undefined) return
  const stop = new AbortController()
  running.set(message.id, stop)
  void peer
    .answer(message, {
      notify: (method, params) => send({ method, params }),
      ask: (method, params) => asks.ask((id) => send({ id, method, params })),
      signal: stop.signal,
    })
    .then((reply) => {
      running.delete(message.id)
      if (!stop.signal.aborted) send({ id: message.id, ...reply })
    })
})

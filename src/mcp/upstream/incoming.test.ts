import { expect, test } from 'vitest'
import {
  encodeNotification,
  parseMessage,
  type RpcNotification,
  type RpcRequest,
} from '../wire/json-rpc.ts'
import { encodeJson } from '../wire/spans.ts'
import { createIncoming } from './incoming.ts'
import type { ReplyToServer } from './link.ts'

const requestOf = (id: string | number, method = 'roots/list', params: object = {}): RpcRequest =>
  parseMessage(encodeJson({ jsonrpc: '2.0', id, method, params })) as RpcRequest

const withdrawal = (requestId: unknown): RpcNotification =>
  parseMessage(
    encodeNotification('notifications/cancelled', encodeJson({ requestId })),
  ) as RpcNotification

/** What was sent to the server, parsed. */
function outbox(): { readonly sent: unknown[]; readonly reply: (message: Uint8Array) => void } {
  const sent: unknown[] = []
  return { sent, reply: (message) => void sent.push(JSON.parse(Buffer.from(message).toString())) }
}

/** Answers when told to. */
function held(): {
  readonly answer: (request: RpcRequest, withdrawn: AbortSignal) => Promise<ReplyToServer>
  readonly withdrawn: AbortSignal[]
  release(): void
} {
  const withdrawn: AbortSignal[] = []
  const releases: (() => void)[] = []
  return {
    withdrawn,
    answer: (_, signal) =>
      new Promise((resolve) => {
        withdrawn.push(signal)
        releases.push(() => resolve({ result: encodeJson({ roots: [] }) }))
      }),
    release: () => void releases.splice(0).map((release) => release()),
  }
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

test('a request is answered once; one with the same id meanwhile is refused, later it is another', async () => {
  const { sent, reply } = outbox()
  const { answer, release } = held()
  const incoming = createIncoming()
  incoming.take(requestOf(1), answer, reply)
  incoming.take(requestOf(1), answer, reply)
  incoming.take(requestOf('1'), answer, reply)
  await settled()
  expect(sent).toMatchObject([{ id: 1, error: { code: -32600 } }])
  release()
  await settled()
  incoming.take(requestOf(1), answer, reply)
  await settled()
  release()
  await settled()
  expect(sent.slice(1)).toMatchObject([
    { id: 1, result: { roots: [] } },
    { id: '1', result: { roots: [] } },
    { id: 1, result: { roots: [] } },
  ])
})

test('one that is taken back is withdrawn and not answered; whatever else is taken back changes nothing', async () => {
  const { sent, reply } = outbox()
  const { answer, withdrawn, release } = held()
  const incoming = createIncoming()
  incoming.take(requestOf('a'), answer, reply)
  for (const id of ['b', 7, null, {}]) incoming.withdraw(withdrawal(id))
  expect(withdrawn[0]?.aborted).toBe(false)
  incoming.withdraw(withdrawal('a'))
  expect(withdrawn[0]?.aborted).toBe(true)
  release()
  await settled()
  expect(sent).toEqual([])
})

test('the end of the link withdraws all', () => {
  const { answer, withdrawn } = held()
  const incoming = createIncoming()
  for (const id of [1, 2]) incoming.take(requestOf(id), answer, outbox().reply)
  incoming.end()
  expect(withdrawn.map(({ aborted }) => aborted)).toEqual([true, true])
})

test('what asks too much at once, or something too large, is refused', async () => {
  const { sent, reply } = outbox()
  const { answer, withdrawn } = held()
  const incoming = createIncoming()
  for (let id = 0; id < 65; id += 1) incoming.take(requestOf(id), answer, reply)
  await settled()
  expect(withdrawn).toHaveLength(64)
  expect(sent).toMatchObject([{ id: 64, error: { code: -32600 } }])
  const large = createIncoming()
  large.take(requestOf('l', 'roots/list', { text: 'x'.repeat(4 * 1024 * 1024) }), answer, reply)
  await settled()
  expect(sent[1]).toMatchObject({ id: 'l', error: { code: -32600 } })
})

test('a server that takes no replies gets no more of them', async () => {
  let sent = 0
  const incoming = createIncoming()
  const never = (): Promise<void> => {
    sent += 1
    return new Promise(() => undefined)
  }
  for (let id = 0; id < 200; id += 1) incoming.take(requestOf(id, 'ping'), undefined, never)
  await settled()
  expect(sent).toBe(64)

  // On a pipe they have left at once.
  const box = outbox()
  const piped = createIncoming()
  for (let id = 0; id < 200; id += 1) piped.take(requestOf(id, 'ping'), undefined, box.reply)
  expect(box.sent).toHaveLength(200)
})

test('a fault of ours is an error of ours to the server', async () => {
  const { sent, reply } = outbox()
  createIncoming().take(requestOf(1), () => Promise.reject(new Error('a secret')), reply)
  await settled()
  expect(sent).toMatchObject([{ id: 1, error: { code: -32603 } }])
  expect(JSON.stringify(sent)).not.toContain('secret')
})

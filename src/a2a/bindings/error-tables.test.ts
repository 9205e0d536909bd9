import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { openRawPeer } from '../../../test/a2a/raw-peer.ts'
import { ERRORS, type ErrorReason } from '../wire/rev-1-0.ts'
import { openConnections } from './http.ts'
import { createJsonRpc, type StreamItem } from './jsonrpc.ts'

const connections = openConnections()
afterAll(() => connections.close())

const { errors, media } = (
  JSON.parse(
    readFileSync(
      new URL('../../../test/cases/C85-binding-error-codes-media-type.json', import.meta.url),
      'utf8',
    ),
  ) as { readonly given: { readonly errors: readonly string[]; readonly media: readonly string[] } }
).given

/** The case's `TaskNotFound` as the protocol writes it. */
function reasonOf(name: string): ErrorReason {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '_').toUpperCase() as ErrorReason
}

/** Statuses by which agents of 1.0.0 differ. @source A2A 1.0.0, 5.4 */
const STATUS_1_0_0: Partial<Record<ErrorReason, number>> = {
  TASK_NOT_CANCELABLE: 409,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
  INVALID_AGENT_RESPONSE: 502,
}

/** How agents tell one error: status, code, and whether its name is beside it. */
function tellings(reason: ErrorReason) {
  const { code, http } = ERRORS[reason]
  return [
    { told: '1.0.1', status: http, code, named: true },
    { told: '1.0.0', status: STATUS_1_0_0[reason] ?? http, code, named: true },
    { told: 'as success', status: 200, code, named: true },
    { told: 'by name alone', status: 500, code: -32603, named: true },
    { told: 'by code alone', status: http, code, named: false },
  ]
}

const table = errors
  .map(reasonOf)
  .flatMap((reason) => tellings(reason).map((telling) => ({ reason, ...telling })))

describe.each(media)('C85: errors as %s', (type) => {
  it.each(table)('$reason told $told is known, in place of a stream too', async (error) => {
    const data = error.named
      ? [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: error.reason,
            domain: 'a2a-protocol.org',
          },
        ]
      : undefined
    await using peer = await openRawPeer((request, response) => {
      const body = { code: error.code, message: 'no', ...(data === undefined ? {} : { data }) }
      response.writeHead(error.status, { 'content-type': type })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: request.json.id, error: body }))
    })
    const rpc = createJsonRpc(connections, { url: peer.origin, headersOrigin: peer.origin })
    const call = {
      method: 'SendMessage' as const,
      params: '{}',
      wireId: 'w-1',
      signal: new AbortController().signal,
      timeoutMs: 5000,
      act: true,
    }
    const replies = [await rpc.send(call), await rpc.stream(call)]
    expect(replies.map((reply) => reply.kind === 'error' && reply.error)).toEqual([
      expect.objectContaining({ kind: 'rpc', reason: error.reason }),
      expect.objectContaining({ kind: 'rpc', reason: error.reason }),
    ])
  })
})

it.each(media)(
  'C85: an answer as %s where a stream was asked for is its one event',
  async (type) => {
    await using peer = await openRawPeer((request, response) => {
      response.writeHead(200, { 'content-type': type })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: request.json.id, result: { task: {} } }))
    })
    const rpc = createJsonRpc(connections, { url: peer.origin, headersOrigin: peer.origin })
    const reply = await rpc.stream({
      method: 'SendStreamingMessage',
      params: '{}',
      wireId: 'w-1',
      signal: new AbortController().signal,
      timeoutMs: 5000,
      act: true,
    })
    if (reply.kind !== 'stream') throw new Error(`expected a stream, got ${reply.kind}`)
    const items: StreamItem[] = []
    for await (const item of reply.items) items.push(item)
    expect(items).toMatchObject([
      { kind: 'event', received: { value: { task: {} } } },
      { kind: 'end', how: 'closed' },
    ])
  },
)

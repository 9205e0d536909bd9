/**
 * Batches, which 2025-03-26 has and no later revision: an array of messages in, an array of answers out.
 *
 * @source MCP 2025-03-26, basic, messages and transports; JSON-RPC 2.0, 6; `initialize` must not be part of one
 */
import { JsonFault } from '../wire/json-fault.ts'
import { encodeError, parseMessage, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { concat, scanArray, sliceOf } from '../wire/spans.ts'

/** The only revision that has them. */
export const BATCH_REVISION = '2025-03-26'

/** How many messages one holds at most, unless a door is told otherwise. */
export const MAX_BATCH = 50

/** What a batch holds; why it is none. */
export type Batch =
  | { readonly ok: true; readonly messages: readonly RpcMessage[] }
  | { readonly ok: false; readonly body: Uint8Array }

/** Whether these bytes begin as an array does. */
export function looksLikeBatch(bytes: Uint8Array): boolean {
  const first = bytes.find(
    (byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d,
  )
  return first === 0x5b
}

export function parseBatch(bytes: Uint8Array, maxBatch: number): Batch {
  const refuse = (code: number, message: string): Batch => ({
    ok: false,
    body: encodeError(undefined, { code, message }),
  })
  try {
    const items = scanArray(bytes)
    if (items.length === 0) return refuse(RPC_ERRORS.invalidRequest, 'a batch must not be empty')
    if (items.length > maxBatch) {
      const text = `a batch may hold ${maxBatch} messages, this one holds ${items.length}`
      return refuse(RPC_ERRORS.invalidRequest, text)
    }
    return { ok: true, messages: items.map((item) => parseMessage(sliceOf(bytes, item))) }
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault
    return refuse(RPC_ERRORS.parse, `not JSON: ${fault.message}`)
  }
}

/** How an array is refused where there are no batches. */
export function refuseArray(bytes: Uint8Array): {
  readonly code: number
  readonly message: string
} {
  const read = parseMessage(bytes)
  return read.kind === 'fault'
    ? read
    : { code: RPC_ERRORS.invalidRequest, message: 'batches are not supported' }
}

/** What is done with the messages of a batch. */
export interface BatchDesk {
  /** @returns the answer; undefined when none is due. */
  answer(request: RpcRequest): Promise<Uint8Array | undefined>
  /** Takes what has no answer. */
  take(message: Exclude<RpcMessage, { kind: 'request' | 'fault' }>): void
}

/** Serves all messages at once. @returns the answers that are due, in the order of their requests. */
export async function answerBatch(
  messages: readonly RpcMessage[],
  desk: BatchDesk,
): Promise<readonly Uint8Array[]> {
  const answers = messages.map(async (message) => {
    if (message.kind === 'fault') return encodeError(message.id, message)
    if (message.kind !== 'request') {
      desk.take(message)
      return undefined
    }
    if (message.method === 'initialize') {
      const text = 'initialize must not be part of a batch'
      return encodeError(message.id, { code: RPC_ERRORS.invalidRequest, message: text })
    }
    return desk.answer(message)
  })
  return (await Promise.all(answers)).filter((answer) => answer !== undefined)
}

const encoder = new TextEncoder()
const [OPEN, COMMA, CLOSE] = [
  encoder.encode('['),
  encoder.encode(','),
  encoder.encode(']'),
] as const

/** The answers as one message. */
export function encodeBatch(answers: readonly Uint8Array[]): Uint8Array {
  const parts = answers.flatMap((answer, index) => (index === 0 ? [answer] : [COMMA, answer]))
  return concat([OPEN, ...parts, CLOSE])
}

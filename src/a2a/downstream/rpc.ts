/**
 * JSON-RPC around the operations: one request a body, its id echoed as it was written.
 *
 * A batch, an id of another type or a message two readers could understand differently is an invalid request. A notification
 * gets no answer, so nothing is done for it: work whose task nobody learns of is no service.
 *
 * @source JSON-RPC 2.0, 4 to 6; A2A 1.0.1, 9.1
 */
import { wholeSpan, spanAt } from '../wire/span.ts'
import { type RpcFault, rpcFault } from './errors.ts'
import { scanStrictly } from './strict-json.ts'

/** A request, understood as far as JSON-RPC goes. */
export interface RpcRequest {
  readonly kind: 'request'
  /** The id as JSON text. */
  readonly id: string
  readonly method: string
  readonly params: unknown
  /** The whole body, for what is taken by span. */
  readonly text: string
}

/** What a body is. */
export type RpcArrival =
  | RpcRequest
  | { readonly kind: 'notification' }
  | { readonly kind: 'refused'; readonly id: string; readonly fault: RpcFault }

/** An answer's content: the result as JSON text, or an error. */
export type RpcAnswer = { readonly kind: 'result'; readonly json: string } | RpcFault

const NO_ID = 'null'

/** Parses a body. Never throws. */
export function parseRequest(body: Uint8Array): RpcArrival {
  const parsed = parseJson(body)
  if (parsed === undefined) return refuse(NO_ID, 'parseError', 'the body is not JSON in UTF-8')
  const { text, value } = parsed
  if (Array.isArray(value)) {
    return refuse(NO_ID, 'invalidRequest', 'batches are not taken; send one request a body')
  }
  if (typeof value !== 'object' || value === null) {
    return refuse(NO_ID, 'invalidRequest', 'expected a JSON-RPC request object')
  }
  const { jsonrpc, id, method, params } = value as Readonly<Record<string, unknown>>
  const hasId = Object.hasOwn(value, 'id')
  if (hasId && typeof id !== 'string' && !Number.isInteger(id)) {
    return refuse(NO_ID, 'invalidRequest', 'expected an id that is a string or a whole number')
  }
  const span = spanAt(text, [['id']]) ?? wholeSpan(text)
  const idText = hasId ? text.slice(span.start, span.end) : NO_ID
  const strict = scanStrictly(text)
  if ('offence' in strict) return refuse(idText, 'invalidRequest', strict.offence)
  if (jsonrpc !== '2.0') return refuse(idText, 'invalidRequest', 'expected "jsonrpc": "2.0"')
  if (typeof method !== 'string') {
    return refuse(idText, 'invalidRequest', 'expected a method name in "method"')
  }
  if (!hasId) return { kind: 'notification' }
  return { kind: 'request', id: idText, method, params: params ?? {}, text }
}

/** Encodes an answer. */
export function encodeAnswer(id: string, answer: RpcAnswer): string {
  if (answer.kind === 'result') return `{"jsonrpc":"2.0","id":${id},"result":${answer.json}}`
  const { code, message, data } = answer
  const error = JSON.stringify({ code, message, ...(data === undefined ? {} : { data }) })
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`
}

function refuse(
  id: string,
  code: 'parseError' | 'invalidRequest',
  message: string,
): Extract<RpcArrival, { kind: 'refused' }> {
  return { kind: 'refused', id, fault: rpcFault(code, message) }
}

function parseJson(
  body: Uint8Array,
): { readonly text: string; readonly value: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return { text, value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

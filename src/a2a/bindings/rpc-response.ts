/**
 * Reads one JSON-RPC response: a result, or a typed error.
 *
 * What does not keep to the protocol is an error of kind `unreadable`, never a result. The text of a
 * result is kept as received.
 *
 * @source JSON-RPC 2.0, section 5; A2A 1.0.1, 9.5
 */
import { type ErrorReason, reasonOf } from '../wire/rev-1-0.ts'
import { membersOf, wholeSpan } from '../wire/span.ts'

/** A JSON value with the text it was received as. */
export interface Received {
  readonly value: unknown
  readonly text: string
}

/** An error the peer answered with, or an answer that is none. */
export interface RpcError {
  /**
   * - `rpc`: a JSON-RPC error object.
   * - `http`: a status that is no success, without such an object.
   * - `unreadable`: a success that does not keep to the protocol; something may have run.
   */
  readonly kind: 'rpc' | 'http' | 'unreadable'
  /** The protocol's own error, by its ErrorInfo reason first and its code second. */
  readonly reason?: ErrorReason
  readonly code?: number
  readonly status: number
  /** For people. Text of the peer's is quoted and shortened. */
  readonly message: string
  /** The error object as received. */
  readonly received?: Received
}

/** An error as a reply. */
export interface ErrorReply {
  readonly kind: 'error'
  readonly error: RpcError
}
/** A result as a reply. */
export interface ResultReply {
  readonly kind: 'result'
  readonly received: Received
}

/** Reads one JSON-RPC response object. */
export function parseResponse(
  text: string,
  wireId: string,
  status: number,
): ResultReply | ErrorReply {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return unreadable(status, 'not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return unreadable(status, 'not a JSON-RPC response object')
  }
  const { id, result, error } = value as Readonly<Record<string, unknown>>
  // A server that could not read the request answers with a null id.
  const isOurs = id === wireId || (error !== undefined && id === null)
  if (!isOurs) return unreadable(status, 'its id is not the one of the request')
  const part = (name: string): string => {
    const span = membersOf(text, wholeSpan(text)).get(name)
    return span === undefined ? 'null' : text.slice(span.start, span.end)
  }
  if (error !== undefined && error !== null) {
    return { kind: 'error', error: readError(error, part('error'), status) }
  }
  if (result === undefined) return unreadable(status, 'neither result nor error is in it')
  return { kind: 'result', received: { value: result, text: part('result') } }
}

function readError(value: unknown, text: string, status: number): RpcError {
  const received: Received = { value, text }
  if (typeof value !== 'object' || value === null) {
    return { kind: 'unreadable', status, message: 'its error is not an object', received }
  }
  const { code, message, data } = value as Readonly<Record<string, unknown>>
  const number = typeof code === 'number' && Number.isInteger(code) ? code : 0
  const reason = reasonOf(number, data)
  const said = typeof message === 'string' ? message.slice(0, 500) : ''
  return {
    kind: 'rpc',
    ...(reason === undefined ? {} : { reason }),
    code: number,
    status,
    message: `the agent answered with error ${reason ?? number}, saying ${JSON.stringify(said)}`,
    received,
  }
}

/** A success that is not what the protocol says. */
export function unreadable(status: number, what: string): ErrorReply {
  const message = `expected a JSON-RPC response of A2A 1.0; the answer was ${what}`
  return { kind: 'error', error: { kind: 'unreadable', status, message } }
}

/** A status that is no success. */
export function httpError(status: number, advice: string): ErrorReply {
  return { kind: 'error', error: { kind: 'http', status, message: `HTTP ${status}: ${advice}` } }
}

/** What a person can do about a status. */
export function httpAdvice(status: number): string {
  if (status === 401) return 'the agent wants credentials; set `headers` for it'
  if (status === 403) return 'the agent does not allow this with these credentials'
  if (status === 404 || status === 405) return 'no A2A interface answers at this address'
  if (status === 413) return 'the message is too large for the agent'
  if (status === 429) return 'the agent asks for fewer requests'
  return 'the agent answered without a JSON-RPC body'
}

/**
 * The JSON-RPC 2.0 envelope: reads one message into spans, writes messages around raw bytes.
 *
 * Judges the envelope only. What a method or a result means is its caller's to decide. Nothing
 * here throws for what arrived: a bad message is the value `fault`, with the id if it can be read.
 */
import { isAscii } from 'node:buffer'
import { writeChanged, type ChangedObject } from './changed-object.ts'
import { JsonFault } from './json-fault.ts'
import {
  concat,
  findMember,
  readString,
  repeatedMember,
  scanJson,
  scanObject,
  textOf,
  Within,
} from './spans.ts'
import type { JsonType, Member, Span } from './spans.ts'

/** A request id as it was sent. */
export interface RpcId {
  readonly type: 'string' | 'integer'
  /** The unescaped text, or the digits of a whole number (`1` for the lexeme `1.0`). */
  readonly value: string
  /** The exact JSON text, to be echoed. */
  readonly json: string
}

/** What all messages carry: the bytes and where their members lie. */
interface Envelope {
  readonly bytes: Uint8Array
  readonly members: readonly Member[]
}

/** What asks or tells something. */
interface RpcCall extends Envelope {
  readonly method: string
  /** An object. */
  readonly params?: Span
  /** Of params, counted from where they begin; undefined when keys in it repeat: whoever scans it is told so. */
  readonly paramsMembers?: readonly Member[] | undefined
  /** Of the object `_meta` among them, counted from there too; undefined when there is none or keys in it repeat. */
  readonly metaMembers?: readonly Member[] | undefined
}

export interface RpcRequest extends RpcCall {
  readonly kind: 'request'
  readonly id: RpcId
}

export interface RpcNotification extends RpcCall {
  readonly kind: 'notification'
}

export interface RpcResult extends Envelope {
  readonly kind: 'result'
  readonly id: RpcId
  /** Any JSON value; MCP asks for an object. */
  readonly result: Member
}

export interface RpcError extends Envelope {
  readonly kind: 'error'
  /** Absent when the other side could not read our id. */
  readonly id?: RpcId
  /** The whole error object. */
  readonly error: Span
  readonly code: number
  readonly message: string
  readonly data?: Span
}

/** A message that is none. */
export interface RpcFault {
  readonly kind: 'fault'
  readonly code: -32700 | -32600
  /** What was expected and where; quotes nothing of the message. */
  readonly message: string
  readonly id?: RpcId
  /** True when it says `"jsonrpc":"2.0"`: a broken message, not noise. */
  readonly claimed: boolean
  /** It has a method and an id: whoever sent it waits for an answer under that id. */
  readonly isRequest?: true
  readonly cause?: JsonFault
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResult | RpcError | RpcFault

/** Longest id that is echoed, in bytes. An id is a label, not a place to store things. */
const MAX_ID_BYTES = 4096
const MOST_DIGITS = 15
const encoder = new TextEncoder()
const BRACE_CLOSE = 0x7d
const CLOSE = encoder.encode('}')
const POOLED_BYTES = 2048
const LOOSE = { allowDuplicates: true }

/**
 * Reads one message.
 *
 * Unknown members are kept in the bytes. `"error": null` beside a result is taken as absent.
 *
 * @source JSON-RPC 2.0, 4 and 5; MCP 2026-07-28, basic, messages (no batches, id never null).
 */
export function parseMessage(bytes: Uint8Array): RpcMessage {
  const meta = new Within('_meta')
  const params = new Within('params', meta)
  let members: readonly Member[]
  try {
    members = scanObject(bytes, undefined, LOOSE, params)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return syntaxFault(bytes, error)
  }
  return readEnvelope(bytes, members, params)
}

/** Reads an id. @returns undefined for what cannot be one: null, 1.5, containers, too long. */
export function parseId(bytes: Uint8Array, member: Member): RpcId | undefined {
  const { start, end } = member.value
  if (end - start > MAX_ID_BYTES) return undefined
  const digits = member.type === 'number' ? wholeNumber(bytes, start, end) : -1
  if (digits >= 0) {
    const text = String(digits)
    return { type: 'integer', value: text, json: text }
  }
  const json = textOf(bytes, member.value)
  if (member.type === 'string') {
    return { type: 'string', value: readString(bytes, member.value), json }
  }
  if (member.type !== 'number') return undefined
  if (/^-?\d+$/.test(json)) return { type: 'integer', value: json === '-0' ? '0' : json, json }
  const number = Number(json)
  if (!Number.isSafeInteger(number)) return undefined
  return { type: 'integer', value: String(number === 0 ? 0 : number), json }
}

/** Of digits alone that a double holds to the last one; -1 for any other. They came checked: there is no leading 0. */
function wholeNumber(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > MOST_DIGITS) return -1
  let number = 0
  for (let at = start; at < end; at += 1) {
    const digit = bytes[at]! - 0x30
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}

/** An id of our own. @param value a string or a safe integer. */
export function createId(value: string | number): RpcId {
  const type = typeof value === 'string' ? 'string' : 'integer'
  return { type, value: String(value), json: JSON.stringify(value) }
}

/** A map key: different for the string `"1"` and the number `1`. */
export function idKey(id: RpcId): string {
  return `${id.type === 'string' ? 's' : 'i'}:${id.value}`
}

/** A request around raw params. @param params an object's JSON bytes. */
export function encodeRequest(id: RpcId, method: string, params?: Uint8Array): Uint8Array {
  return encodeMessage(`"id":${id.json},"method":${JSON.stringify(method)}`, 'params', params)
}

/** A notification around raw params. */
export function encodeNotification(method: string, params?: Uint8Array): Uint8Array {
  return encodeMessage(`"method":${JSON.stringify(method)}`, 'params', params)
}

/** An answer around a raw result. */
export function encodeResult(id: RpcId, result: Uint8Array): Uint8Array {
  return encodeMessage(`"id":${id.json}`, 'result', result)
}

/** An answer around a raw result that changes on the way. */
export function encodeChangedResult(
  id: RpcId,
  result: Uint8Array,
  object: ChangedObject,
): Uint8Array {
  const before = `{"jsonrpc":"2.0","id":${id.json},"result":`
  // An id that is not ASCII is written as bytes.
  return id.type === 'integer' || isAscii(Buffer.from(id.json))
    ? writeChanged(before, result, object, '}')
    : encodeResult(id, writeChanged('', result, object, ''))
}

/**
 * An error answer.
 *
 * @param id absent only when it could not be read; then the member is left out (MCP 2025-11-25 on).
 * @param error `data` is raw JSON bytes.
 */
export function encodeError(
  id: RpcId | undefined,
  error: { readonly code: number; readonly message: string; readonly data?: Uint8Array },
): Uint8Array {
  const parts = [
    encoder.encode(`{"code":${error.code},"message":${JSON.stringify(error.message)}`),
    ...(error.data === undefined ? [] : [encoder.encode(',"data":'), error.data]),
    CLOSE,
  ]
  return encodeMessage(id === undefined ? '' : `"id":${id.json}`, 'error', concat(parts))
}

function encodeMessage(head: string, key: string, value: Uint8Array | undefined): Uint8Array {
  const start = `{"jsonrpc":"2.0"${head === '' ? '' : ','}${head}`
  if (value === undefined) return encoder.encode(`${start}}`)
  const before = Buffer.from(`${start},"${key}":`)
  const length = before.length + value.length + 1
  // A message is written and gone: small ones come from Buffer's pool, which is cheaper than memory of their own.
  const message = length <= POOLED_BYTES ? Buffer.allocUnsafe(length) : new Uint8Array(length)
  message.set(before)
  message.set(value, before.length)
  message[length - 1] = BRACE_CLOSE
  return message
}

function readEnvelope(bytes: Uint8Array, members: readonly Member[], params: Within): RpcMessage {
  const version = findMember(members, 'jsonrpc')
  const claimed = version?.type === 'string' && readString(bytes, version.value) === '2.0'
  const idMember = findMember(members, 'id')
  const repeated = repeatedKey(members)
  const id = idMember && repeated !== 'id' ? parseId(bytes, idMember) : undefined
  const method = findMember(members, 'method')
  const asks = id !== undefined && method !== undefined
  const refuse = (message: string): RpcFault => ({
    ...fault(-32600, message, claimed, id),
    ...(asks ? { isRequest: true } : {}),
  })
  if (repeated !== undefined) return refuse(`the member ${repeated} is repeated in the message`)
  if (!claimed) return refuse('expected "jsonrpc":"2.0"')

  const result = findMember(members, 'result')
  const error = findMember(members, 'error')
  const failed = error !== undefined && !(error.type === 'null' && result !== undefined)
  const kinds = Number(method !== undefined) + Number(result !== undefined) + Number(failed)
  if (kinds !== 1) {
    return refuse('expected exactly one of method, result and error')
  }
  // An error may answer a message whose id could not be read: no id, or null.
  const nameless = idMember === undefined || (failed && idMember.type === 'null')
  if (!nameless && id === undefined) return refuse('id must be a string or a whole number')
  if (method !== undefined) return readCall(bytes, members, method, id, params, refuse)
  if (failed) return readError(bytes, members, error, id, refuse)
  if (id === undefined) return refuse('a result must carry the id of its request')
  return { kind: 'result', bytes, members, id, result: result! }
}

function readCall(
  bytes: Uint8Array,
  members: readonly Member[],
  methodMember: Member,
  id: RpcId | undefined,
  { members: paramsMembers, within }: Within,
  refuse: (message: string) => RpcFault,
): RpcMessage {
  if (methodMember.type !== 'string') return refuse('method must be a string')
  const method = readString(bytes, methodMember.value)
  const found = findMember(members, 'params')
  if (found === undefined) {
    return id === undefined
      ? { kind: 'notification', bytes, members, method }
      : { kind: 'request', bytes, members, id, method }
  }
  if (found.type !== 'object') return refuse('params must be an object')
  const params = found.value
  const metaMembers = within?.members
  return id === undefined
    ? { kind: 'notification', bytes, members, method, params, paramsMembers, metaMembers }
    : { kind: 'request', bytes, members, id, method, params, paramsMembers, metaMembers }
}

function readError(
  bytes: Uint8Array,
  members: readonly Member[],
  error: Member,
  id: RpcId | undefined,
  refuse: (message: string) => RpcFault,
): RpcMessage {
  if (error.type !== 'object') return refuse('error must be an object')
  const inner = scanObject(bytes, error.value, { validated: true, allowDuplicates: true })
  const repeated = repeatedKey(inner)
  if (repeated !== undefined) return refuse(`the member ${repeated} is repeated in the error`)
  const code = findMember(inner, 'code')
  const message = findMember(inner, 'message')
  const data = findMember(inner, 'data')
  const number = code?.type === 'number' ? Number(textOf(bytes, code.value)) : Number.NaN
  if (!Number.isSafeInteger(number)) return refuse('error.code must be a whole number')
  return {
    kind: 'error',
    bytes,
    members,
    ...(id === undefined ? {} : { id }),
    error: error.value,
    code: number,
    message: message?.type === 'string' ? readString(bytes, message.value) : '',
    ...(data === undefined ? {} : { data: data.value }),
  }
}

function repeatedKey(members: readonly Member[]): string | undefined {
  return repeatedMember(members)?.key.slice(0, 64)
}

function syntaxFault(bytes: Uint8Array, cause: JsonFault): RpcFault {
  // A sound array or scalar is JSON, but not a message; anything else is not even JSON.
  const type = cause.code === 'not_object' ? soundType(bytes) : undefined
  if (type === undefined)
    return fault(-32700, `not JSON: ${cause.message}`, false, undefined, cause)
  const message =
    type === 'array'
      ? 'batches are not supported: send one message at a time'
      : `expected one JSON object, got ${type}`
  return fault(-32600, message, false, undefined, cause)
}

function soundType(bytes: Uint8Array): JsonType | undefined {
  try {
    return scanJson(bytes)
  } catch {
    return undefined
  }
}

function fault(
  code: RpcFault['code'],
  message: string,
  claimed: boolean,
  id?: RpcId,
  cause?: JsonFault,
): RpcFault {
  return {
    kind: 'fault',
    code,
    message,
    claimed,
    ...(id === undefined ? {} : { id }),
    ...(cause === undefined ? {} : { cause }),
  }
}

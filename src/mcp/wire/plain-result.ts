/**
 * The answer that nearly all answers are: one complete result under the number that was asked, read in a single pass.
 *
 * Whatever is not exactly that is not judged here: it is left to `parseMessage` and `readResultHead`, which say what is wrong.
 */
import { JsonFault } from './json-fault.ts'
import { createId, type RpcId, type RpcResult } from './json-rpc.ts'
import { RESULT_TYPES } from './rev-2026-07-28.ts'
import { expectEnd, openText, scanValue, skipSpace, typeAt, walkObject, type Text } from './scan.ts'
import { readString, scanObject, type Member, type Span } from './spans.ts'

/** A complete result, an object of which all readers understand the same. */
export class PlainResult implements RpcResult {
  readonly kind = 'result'
  readonly bytes: Uint8Array
  readonly result: Member
  readonly isError: boolean
  readonly #id: number

  constructor(bytes: Uint8Array, id: number, result: Member, isError: boolean) {
    this.bytes = bytes
    this.result = result
    this.isError = isError
    this.#id = id
  }

  get id(): RpcId {
    return createId(this.#id)
  }

  get members(): readonly Member[] {
    return scanObject(this.bytes, undefined, { validated: true })
  }
}

/** Keys of one object that are compared with each other; an object with more is not plain. */
const MOST_KEYS = 16

/** @returns undefined when it is anything else. */
export function readPlainResult(bytes: Uint8Array, id: number): PlainResult | undefined {
  try {
    return read(openText(bytes), id)
  } catch (error) {
    if (error instanceof JsonFault) return undefined
    throw error
  }
}

function read(text: Text, id: number): PlainResult | undefined {
  const { bytes } = text
  const open = skipSpace(text, 0)
  if (typeAt(text, open) !== 'object') return undefined
  const keys: string[] = []
  const head = new Head(text)
  let isPlain = true
  let said = 0
  let result: Member | undefined
  const close = walkObject(text, open, 1, (keyStart, keyEnd, start) => {
    const keySpan = { start: keyStart, end: keyEnd }
    const key = readString(bytes, keySpan)
    isPlain &&= isNew(keys, key)
    if (key === 'result' && typeAt(text, start) === 'object') {
      const value = { start, end: head.read(start) }
      result = { key, keySpan, value, type: 'object' }
      return value.end
    }
    const end = scanValue(text, start, 1)
    if (key === 'jsonrpc') said += isText(bytes, start, end, '2.0') ? 1 : 0
    else if (key === 'id') said += isNumber(bytes, start, end, id) ? 1 : 0
    else isPlain &&= key !== 'method' && key !== 'error' && key !== 'result'
    return end
  })
  expectEnd(text, close)
  if (!isPlain || said !== 2 || result === undefined || !head.isPlain) return undefined
  return new PlainResult(bytes, id, result, head.isError)
}

/** What the result says of itself at its top level. */
class Head {
  readonly #text: Text
  readonly #keys: string[] = []
  isError = false
  isPlain = true

  constructor(text: Text) {
    this.#text = text
  }

  /** @returns where it ends. */
  read(open: number): number {
    return walkObject(this.#text, open, 2, (keyStart, keyEnd, start) =>
      this.#member({ start: keyStart, end: keyEnd }, start),
    )
  }

  #member(keySpan: Span, start: number): number {
    const { bytes } = this.#text
    const key = readString(bytes, keySpan)
    const end = scanValue(this.#text, start, 2)
    this.isPlain &&= isNew(this.#keys, key)
    // `true` is the only value of four bytes that begins so.
    if (key === 'isError') this.isError = bytes[start] === 0x74
    else if (key === 'resultType') this.isPlain &&= isText(bytes, start, end, RESULT_TYPES.complete)
    return end
  }
}

function isNew(keys: string[], key: string): boolean {
  if (keys.length >= MOST_KEYS || keys.includes(key)) return false
  keys.push(key)
  return true
}

function isText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  return bytes[start] === 0x22 && readString(bytes, { start, end }) === text
}

/** As we wrote it: digits alone. */
function isNumber(bytes: Uint8Array, start: number, end: number, number: number): boolean {
  let read = 0
  for (let at = start; at < end; at += 1) {
    const digit = bytes[at]! - 0x30
    if (digit < 0 || digit > 9) return false
    read = read * 10 + digit
  }
  return read === number
}

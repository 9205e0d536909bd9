/**
 * The answer that nearly all answers are: one complete result under the number that was asked, read in a single pass.
 *
 * Whatever is not exactly that is not judged here: it is left to `parseMessage` and `readResultHead`, which say what is wrong.
 */
import { JsonFault } from './json-fault.ts'
import { createId, type RpcId, type RpcResult } from './json-rpc.ts'
import { RESULT_TYPES } from './rev-2026-07-28.ts'
import {
  expectEnd,
  firstKey,
  nextKey,
  openText,
  scanString,
  scanValue,
  skipSpace,
  typeAt,
  valueAfter,
  type Text,
} from './scan.ts'
import { Found, readText, scanObject, type Member } from './spans.ts'

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
  const open = skipSpace(text, 0)
  if (typeAt(text, open) !== 'object') return undefined
  const reading = new Reading(text, id)
  expectEnd(text, reading.envelope(open))
  return reading.result()
}

/** One message while it is read: nothing is made for each of its members but their keys, which are mostly known. */
class Reading {
  readonly #text: Text
  readonly #id: number
  /** Of the envelope, and of the result behind them. */
  readonly #keys: string[] = []
  #isPlain = true
  #isVersioned = false
  #isOurs = false
  #isError = false
  #result: Member | undefined

  constructor(text: Text, id: number) {
    this.#text = text
    this.#id = id
  }

  /** @returns where it ends. */
  envelope(open: number): number {
    const text = this.#text
    let key = firstKey(text, open, 1)
    while (key >= 0) {
      const keyEnd = scanString(text, key)
      key = nextKey(text, this.#ofEnvelope(key, keyEnd, valueAfter(text, keyEnd)))
    }
    return -key
  }

  result(): PlainResult | undefined {
    const isPlain = this.#isPlain && this.#isVersioned && this.#isOurs
    if (!isPlain || this.#result === undefined) return undefined
    return new PlainResult(this.#text.bytes, this.#id, this.#result, this.#isError)
  }

  /** @returns where its value ends. */
  #ofEnvelope(keyStart: number, keyEnd: number, start: number): number {
    const text = this.#text
    const { bytes } = text
    const key = readText(bytes, keyStart, keyEnd)
    if (!this.#isNew(key, 0)) this.#isPlain = false
    if (key === 'result' && typeAt(text, start) === 'object') {
      const end = this.#ofResult(start)
      this.#result = new Found(key, 'object', keyStart, keyEnd, start, end)
      return end
    }
    const end = scanValue(text, start, 1)
    if (key === 'jsonrpc') this.#isVersioned = isText(bytes, start, end, '2.0')
    else if (key === 'id') this.#isOurs = isNumber(bytes, start, end, this.#id)
    else if (key === 'method' || key === 'error' || key === 'result') this.#isPlain = false
    return end
  }

  /** @returns where it ends. */
  #ofResult(open: number): number {
    const text = this.#text
    const { bytes } = text
    const before = this.#keys.length
    let keyStart = firstKey(text, open, 2)
    while (keyStart >= 0) {
      const keyEnd = scanString(text, keyStart)
      const start = valueAfter(text, keyEnd)
      const key = readText(bytes, keyStart, keyEnd)
      const close = scanValue(text, start, 2)
      if (!this.#isNew(key, before)) this.#isPlain = false
      // `true` is the only value that begins so.
      if (key === 'isError') this.#isError = bytes[start] === 0x74
      if (key === 'resultType' && !isText(bytes, start, close, RESULT_TYPES.complete)) {
        this.#isPlain = false
      }
      keyStart = nextKey(text, close)
    }
    this.#keys.length = before
    return -keyStart
  }

  /** Among the keys from there on. */
  #isNew(key: string, from: number): boolean {
    const keys = this.#keys
    if (keys.length - from >= MOST_KEYS || keys.includes(key, from)) return false
    keys.push(key)
    return true
  }
}

function isText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  return bytes[start] === 0x22 && readText(bytes, start, end) === text
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

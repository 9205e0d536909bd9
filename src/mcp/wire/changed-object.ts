/**
 * An object with other members, written in one pass: what is not named travels as it came, whitespace and all.
 *
 * The same rules as those of splices: a member that exists keeps its place and key, a new one goes to the end, commas stay right.
 * Here nothing is made for each of them: this runs for every call.
 */
import type { Member, Span } from './spans.ts'

/** A member as it is to be: set, an object that changes itself, or left out. */
export interface Change {
  readonly key: string
  /** JSON as bytes or as text. */
  readonly value: Uint8Array | string | ChangedObject | undefined
}

/** An object within bytes. */
export interface ChangedObject {
  /** From its brace to its brace, or with the white space around it. */
  readonly span: Span
  /** As scanned: all of them, each key once. */
  readonly members: readonly Member[]
  /** Each key once. */
  readonly changes: readonly Change[]
}

const BRACE_OPEN = 0x7b
/** So many bytes are copied by hand: a call costs more. */
const FEW_BYTES = 24
/** Bytes of one UTF-16 unit in UTF-8 at most. */
const UNIT_BYTES = 3

/** Whether nothing is in it any more. */
export function isEmptied({ members, changes }: ChangedObject): boolean {
  for (const { value } of changes) if (value !== undefined) return false
  for (const { key } of members) if (changeOf(changes, key) === undefined) return false
  return true
}

/** The object with its changes, between two texts of ASCII. */
export function writeChanged(
  before: string,
  bytes: Uint8Array,
  object: ChangedObject,
  after: string,
): Uint8Array {
  const most = before.length + mostOf(object) + after.length
  const writer = new Writer(bytes, Buffer.allocUnsafe(most))
  writer.text(before)
  writer.object(object)
  writer.text(after)
  return writer.written()
}

/** How long it is at most. */
function mostOf({ span, changes }: ChangedObject): number {
  let most = span.end - span.start
  for (const { key, value } of changes) {
    if (value === undefined) continue
    // A key of ours is plain: quotes, colon and comma come to it.
    most += key.length + 4
    if (typeof value === 'string') most += value.length * UNIT_BYTES
    else most += value instanceof Uint8Array ? value.length : mostOf(value)
  }
  return most
}

function changeOf(changes: readonly Change[], key: string): Change | undefined {
  for (const change of changes) if (change.key === key) return change
  return undefined
}

class Writer {
  readonly #from: Uint8Array
  readonly #to: Buffer
  /** What was read and written so far. */
  #read = 0
  #length = 0

  constructor(from: Uint8Array, to: Buffer) {
    this.#from = from
    this.#to = to
  }

  written(): Uint8Array {
    return this.#to.subarray(0, this.#length)
  }

  text(text: string): void {
    this.#length += this.#to.write(text, this.#length, 'latin1')
  }

  object(object: ChangedObject): void {
    const { span, members, changes } = object
    const before = this.#read
    this.#read = span.start
    const last = lastLeft(members, changes)
    if (last === -1) {
      this.#copyTo(this.#from.indexOf(BRACE_OPEN, span.start) + 1)
      this.#addNew(object, false)
    }
    for (let index = 0; index < members.length; index += 1) {
      const member = members[index]!
      const change = changeOf(changes, member.key)
      if (change?.value !== undefined) {
        this.#copyTo(member.value.start)
        this.#value(change.value)
        this.#read = member.value.end
      } else if (change !== undefined) this.#leaveOut(members, index, changes)
      if (index !== last) continue
      this.#copyTo(member.value.end)
      this.#addNew(object, true)
    }
    this.#copyTo(span.end)
    this.#read = before
  }

  /** Takes the comma before it when something that stays stands before, else the comma after it. */
  #leaveOut(members: readonly Member[], index: number, changes: readonly Change[]): void {
    const member = members[index]!
    let staysBefore = false
    for (let at = 0; at < index && !staysBefore; at += 1) {
      const change = changeOf(changes, members[at]!.key)
      staysBefore = change === undefined || change.value !== undefined
    }
    if (staysBefore) {
      this.#copyTo(members[index - 1]!.value.end)
      this.#read = member.value.end
      return
    }
    this.#copyTo(member.keySpan.start)
    this.#read = members[index + 1]?.keySpan.start ?? member.value.end
  }

  #addNew({ members, changes }: ChangedObject, behindOthers: boolean): void {
    let comma = behindOthers
    for (const { key, value } of changes) {
      if (value === undefined || hasKey(members, key)) continue
      this.text(comma ? `,"${key}":` : `"${key}":`)
      this.#value(value)
      comma = true
    }
  }

  #value(value: NonNullable<Change['value']>): void {
    if (typeof value === 'string') this.#length += this.#to.write(value, this.#length, 'utf8')
    else if (value instanceof Uint8Array) {
      this.#to.set(value, this.#length)
      this.#length += value.length
    } else this.object(value)
  }

  #copyTo(end: number): void {
    const from = this.#from
    const start = this.#read
    const count = end - start
    if (count <= 0) return
    if (count > FEW_BYTES) this.#to.set(from.subarray(start, end), this.#length)
    else {
      const to = this.#to
      const length = this.#length
      for (let at = 0; at < count; at += 1) to[length + at] = from[start + at]!
    }
    this.#length += count
    this.#read = end
  }
}

/** The place of the last member that stays, -1 when none does. */
function lastLeft(members: readonly Member[], changes: readonly Change[]): number {
  for (let index = members.length - 1; index >= 0; index -= 1) {
    const change = changeOf(changes, members[index]!.key)
    if (change === undefined || change.value !== undefined) return index
  }
  return -1
}

function hasKey(members: readonly Member[], key: string): boolean {
  for (const member of members) if (member.key === key) return true
  return false
}

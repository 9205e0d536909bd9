/**
 * The writer: one database connection, its prepared statements, and the head of the chain. Lives in the worker thread.
 *
 * It alone appends entries, so that `seq` and hash follow from the one before without a gap.
 */
import { randomFillSync } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

import type { EntryKind } from '../core/words/entry.ts'
import { ComityError } from '../core/words/errors.ts'
import { HeldCalls } from './apply/held-calls.ts'
import { boundedText, factsText, MAX_FACTS } from './canonical-text.ts'
import { linkHash, sha256 } from './chain.ts'
import type { ChainHead, Facts, FactsText, Payload, PayloadBytes } from './commands.ts'
import { type Folded, foldEntries, SEVERAL } from './entry-row.ts'
import { loadHead } from './load-head.ts'
import { MAX_PAYLOAD, SALT_BYTES } from './payload-limits.ts'
import { Rows } from './rows.ts'
import { expandText, MAX_SHARED_LENGTH, type SharedText, textsOf } from './shared-texts.ts'

/** Facts of one entry have at most four marks. */
const CERTAINLY_BOUNDED = MAX_FACTS - 4 * MAX_SHARED_LENGTH
const MAX_SALTED = MAX_PAYLOAD + SALT_BYTES

export type Row = Record<string, unknown>
export type Parameters = Record<string, SQLInputValue>

export interface NewEntry {
  readonly kind: EntryKind
  readonly callId?: string | null
  readonly taskId?: string | null
  /** An object, or the canonical text of one, with marks for shared texts. */
  readonly facts: Facts | string
}

export class Writer {
  readonly db: DatabaseSync
  /** The clock's word for the command being applied. */
  now = 0
  /** Calls as the batch has them. */
  readonly calls = new HeldCalls()
  /** Rows that wait for a statement; in the tables only after `rows.flush`. */
  readonly rows: Rows
  /** Tasks whose rows changed in this batch. */
  readonly touched = new Set<string>()
  #head: ChainHead
  readonly #run: string
  #at = { now: 0, text: new Date(0).toISOString() }
  /** Drawn many at a time: one draw costs as much as a hundred salts. */
  readonly #salts = Buffer.alloc(SALT_BYTES * 256)
  #saltsUsed = this.#salts.byteLength
  readonly #statements = new Map<string, StatementSync>()
  readonly #find: (id: number) => string | undefined
  #row: RowBegun | undefined
  /** Shared texts that are in no table yet. */
  readonly #defined = new Map<number, string>()

  constructor(db: DatabaseSync, run: string) {
    this.db = db
    this.#run = run
    this.rows = new Rows(db)
    this.#head = loadHead(db)
    const find = textsOf(db)
    this.#find = (id) => this.#defined.get(id) ?? find(id)
  }

  get head(): ChainHead {
    return this.#head
  }

  /** The number of the entry that is appended next. */
  get next(): number {
    return this.#head.seq + 1
  }

  /** Goes back to a head read before: what came after it was rolled back. */
  rewind(head: ChainHead): void {
    this.#head = head
  }

  /** @throws ComityError `store_locked` when another process took the store over while this one slept. */
  expectOwner(): void {
    if (this.get('SELECT run FROM store', {})?.['run'] !== this.#run) {
      throw new ComityError(
        'store_locked',
        'another process has taken this store over; this one may not write to it any more',
      )
    }
  }

  get(sql: string, parameters: Parameters): Row | undefined {
    return this.#prepare(sql).get(parameters)
  }

  all(sql: string, parameters: Parameters): Row[] {
    return this.#prepare(sql).all(parameters)
  }

  /** @returns how many rows changed. */
  run(sql: string, parameters: Parameters): number {
    return Number(this.#prepare(sql).run(parameters).changes)
  }

  /** As `run`, by position: a third of the cost, for what every call writes. */
  runAt(sql: string, ...values: SQLInputValue[]): void {
    this.#prepare(sql).run(...values)
  }

  /** Texts that facts name by their marks from here on. They are written with the batch, or the next that is. */
  define(texts: readonly SharedText[]): void {
    for (const [id, text] of texts) this.#defined.set(id, text)
  }

  /** Writes the texts that the table has not. */
  writeTexts(): void {
    for (const [id, text] of this.#defined)
      this.runAt('INSERT OR IGNORE INTO texts (id, text) VALUES (?, ?)', id, text)
  }

  /** What `writeTexts` wrote is on disk. */
  keptTexts(): void {
    this.#defined.clear()
  }

  /** Appends one entry to the chain. @returns its seq. */
  append(entry: NewEntry): number {
    const { kind, callId = null, taskId = null } = entry
    const kept = typeof entry.facts === 'string' ? entry.facts : factsText(entry.facts)
    const facts = this.#expand(kept)
    if (this.#row !== undefined && !fits(this.#row, callId, taskId)) this.endRow()
    const seq = this.#head.seq + 1
    const at = this.#timeOf(this.now)
    const hash = linkHash(this.#head.hash, { seq, at, kind, callId, taskId, facts })
    this.#head = { seq, hash }
    if (this.#row === undefined) this.rows.entries.add([seq, at, kind, callId, taskId, kept, hash])
    else {
      this.#row.taskId = taskId
      this.#row.entries.push({ kind, now: this.now, facts: kept })
    }
    return seq
  }

  /** The entries of this call that are appended next go into one row, until `endRow` or another's comes. */
  beginRow(callId: string): void {
    this.#row = { callId, taskId: null, entries: [] }
  }

  /** What goes into the row is undone. */
  dropRow(): void {
    this.#row = undefined
  }

  /** Writes the row. */
  endRow(): void {
    const row = this.#row
    const last = row?.entries.at(-1)
    this.#row = undefined
    if (row === undefined || last === undefined) return
    const { callId, taskId, entries } = row
    const { seq, hash } = this.#head
    const kind = entries.length > 1 ? SEVERAL : last.kind
    const facts = entries.length > 1 ? foldEntries(entries) : last.facts
    this.rows.entries.add([seq, this.#timeOf(last.now), kind, callId, taskId, facts, hash])
  }

  /**
   * Keeps a payload under its salted digest, as that of the entry `seq`, which is about to be appended.
   *
   * @returns the digest.
   */
  keep(seq: number, payload: Payload): string {
    if ('digest' in payload) {
      this.rows.contents.add([seq, Buffer.from(payload.salt, 'latin1')])
      return payload.digest
    }
    const room = 'room' in payload ? payload.room : roomOf(payload)
    this.#salt(room)
    const kept = room.byteLength <= MAX_SALTED ? room : room.subarray(0, SALT_BYTES)
    this.rows.contents.add([seq, kept])
    return sha256(room)
  }

  /** Text of facts of the entry `seq` as it is stored, with the digest of its payload under its kind. */
  withPayload(seq: number, { head, tail }: FactsText, payload: PayloadBytes | null): string {
    if (payload === null) return this.bounded(head + tail)
    const digest = this.keep(seq, payload)
    const bytes = sizeOf(payload)
    return this.bounded(`${head}"${payload.kind}":{"bytes":${bytes},"digest":"${digest}"},${tail}`)
  }

  /** Facts that may have marks in them, as they are stored: within the bound when they are in full. */
  bounded(facts: string): string {
    if (facts.length <= CERTAINLY_BOUNDED) return facts
    const whole = this.#expand(facts)
    const bounded = boundedText(whole)
    return bounded === whole ? facts : bounded
  }

  #salt(room: Buffer): void {
    if (this.#saltsUsed === this.#salts.byteLength) {
      randomFillSync(this.#salts)
      this.#saltsUsed = 0
    }
    for (let at = 0; at < SALT_BYTES; at += 1) room[at] = this.#salts[this.#saltsUsed++] ?? 0
  }

  #expand(facts: string): string {
    return expandText(facts, this.#find)
  }

  /** Entries of one batch mostly share their times. */
  #timeOf(now: number): string {
    if (this.#at.now !== now) this.#at = { now, text: new Date(now).toISOString() }
    return this.#at.text
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

interface RowBegun {
  readonly callId: string
  taskId: string | null
  readonly entries: Folded[]
}

function fits(row: RowBegun, callId: string | null, taskId: string | null): boolean {
  return row.callId === callId && (row.entries.length === 0 || row.taskId === taskId)
}

/** A copy of a payload behind room for its salt. */
function roomOf(payload: { readonly latin1: string } | { readonly bytes: Uint8Array }): Buffer {
  const size = sizeOf(payload)
  const room = Buffer.alloc(SALT_BYTES + size)
  if ('latin1' in payload) room.write(payload.latin1, SALT_BYTES, 'latin1')
  else room.set(payload.bytes, SALT_BYTES)
  return room
}

function sizeOf(payload: Payload): number {
  if ('latin1' in payload) return payload.latin1.length
  if ('room' in payload) return payload.room.byteLength - SALT_BYTES
  return 'digest' in payload ? payload.size : payload.bytes.byteLength
}

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
import { boundedText, factsText } from './canonical-text.ts'
import { linkHash, sha256 } from './chain.ts'
import type { ChainHead, Facts, FactsText, Payload, PayloadBytes } from './commands.ts'
import { loadHead } from './load-head.ts'
import { MAX_PAYLOAD, SALT_BYTES } from './payload-limits.ts'
import { Rows } from './rows.ts'

export type Row = Record<string, unknown>
export type Parameters = Record<string, SQLInputValue>

export interface NewEntry {
  readonly kind: EntryKind
  readonly callId?: string | null
  readonly taskId?: string | null
  /** An object, or the canonical text of one. */
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

  constructor(db: DatabaseSync, run: string) {
    this.db = db
    this.#run = run
    this.rows = new Rows(db)
    this.#head = loadHead(db)
  }

  get head(): ChainHead {
    return this.#head
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

  /** Appends one entry to the chain. @returns its seq. */
  append(entry: NewEntry): number {
    const { kind, callId = null, taskId = null } = entry
    const facts = typeof entry.facts === 'string' ? entry.facts : factsText(entry.facts)
    const seq = this.#head.seq + 1
    const at = this.#time()
    const hash = linkHash(this.#head.hash, { seq, at, kind, callId, taskId, facts })
    this.rows.entries.add([seq, at, kind, callId, taskId, facts, hash])
    this.#head = { seq, hash }
    return seq
  }

  /** Keeps a payload under its salted digest. @returns the digest. */
  keep(callId: string, kind: string, payload: Payload): string {
    if ('digest' in payload) {
      const { digest, salt, size } = payload
      this.rows.payloads.add([digest, callId, kind, size, Buffer.from(salt, 'latin1'), null])
      return digest
    }
    const room = 'room' in payload ? payload.room : roomOf(payload)
    this.#salt(room)
    const digest = sha256(room)
    const size = room.byteLength - SALT_BYTES
    const kept = size <= MAX_PAYLOAD ? room.subarray(SALT_BYTES) : null
    this.rows.payloads.add([digest, callId, kind, size, room.subarray(0, SALT_BYTES), kept])
    return digest
  }

  /** Text of facts as it is stored, with the digest of a payload under its kind. */
  withPayload(callId: string, { head, tail }: FactsText, payload: PayloadBytes | null): string {
    if (payload === null) return boundedText(head + tail)
    const digest = this.keep(callId, payload.kind, payload)
    const bytes = sizeOf(payload)
    return boundedText(`${head}"${payload.kind}":{"bytes":${bytes},"digest":"${digest}"},${tail}`)
  }

  #salt(room: Buffer): void {
    if (this.#saltsUsed === this.#salts.byteLength) {
      randomFillSync(this.#salts)
      this.#saltsUsed = 0
    }
    for (let at = 0; at < SALT_BYTES; at += 1) room[at] = this.#salts[this.#saltsUsed++] ?? 0
  }

  /** Of the command being applied; commands of one batch mostly share it. */
  #time(): string {
    if (this.#at.now !== this.now)
      this.#at = { now: this.now, text: new Date(this.now).toISOString() }
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

/**
 * The writer: one database connection, its prepared statements, and the head of the chain. Lives in the worker thread.
 *
 * It alone appends entries, so that `seq` and hash follow from the one before without a gap.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

import type { EntryKind } from '../core/words/entry.ts'
import { ComityError } from '../core/words/errors.ts'
import { HeldCalls } from './apply/held-calls.ts'
import { factsText } from './canonical-text.ts'
import { linkHash, saltedSha256 } from './chain.ts'
import type { ChainHead, Facts, Payload, PayloadBytes } from './commands.ts'
import { loadHead } from './load-head.ts'
import { MAX_PAYLOAD } from './payload-limits.ts'
import { createSalts } from './salts.ts'

export type Row = Record<string, unknown>
export type Parameters = Record<string, SQLInputValue>

const INSERT_ENTRY = `INSERT INTO entries (seq, at, kind, call_id, task_id, facts, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`
const INSERT_PAYLOAD = `INSERT INTO payloads (digest, call_id, kind, size, salt, bytes) VALUES (?, ?, ?, ?, ?, ?)`

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
  /** Tasks whose rows changed in this batch. */
  readonly touched = new Set<string>()
  #head: ChainHead
  readonly #run: string
  #at = { now: 0, text: new Date(0).toISOString() }
  readonly #drawSalt = createSalts()
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync, run: string) {
    this.db = db
    this.#run = run
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
    this.runAt(INSERT_ENTRY, seq, at, kind, callId, taskId, facts, hash)
    this.#head = { seq, hash }
    return seq
  }

  /** Keeps a payload under its salted digest. @returns what an entry says of it. */
  keep(
    callId: string,
    payload: { readonly kind: string } & Payload,
  ): { digest: string; bytes: number } {
    const { kind } = payload
    if ('digest' in payload) {
      const { digest, salt, size } = payload
      this.runAt(INSERT_PAYLOAD, digest, callId, kind, size, salt, null)
      return { digest, bytes: size }
    }
    const { bytes } = payload
    const salt = this.#drawSalt()
    const digest = saltedSha256(salt, bytes)
    const size = bytes.byteLength
    this.runAt(INSERT_PAYLOAD, digest, callId, kind, size, salt, size <= MAX_PAYLOAD ? bytes : null)
    return { digest, bytes: size }
  }

  /** Facts with the digests of a payload under its kind. */
  withPayload(callId: string, facts: Facts, payload: PayloadBytes | null): Facts {
    if (payload === null) return facts
    return { ...facts, [payload.kind]: this.keep(callId, payload) }
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

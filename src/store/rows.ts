/**
 * Rows on their way into the three tables that every call writes: several go with one statement, since what a statement
 * costs beside its rows is as much as they.
 *
 * Whoever reads one of these tables within a transaction writes what waits first, and so does whoever ends it.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

/** Rows of one statement; what is left over goes by fours, then one by one. */
const SIZES = [16, 4, 1] as const

class RowBuffer {
  readonly #db: DatabaseSync
  readonly #into: string
  readonly #width: number
  readonly #statements = new Map<number, StatementSync>()
  #values: SQLInputValue[] = []

  /** @param into table and columns, in the order of the values of a row. */
  constructor(db: DatabaseSync, into: string, width: number) {
    this.#db = db
    this.#into = into
    this.#width = width
  }

  /** Takes one row. @throws as the database does, for any row that waits. */
  add(row: readonly SQLInputValue[]): void {
    for (const value of row) this.#values.push(value)
    if (this.#values.length >= SIZES[0] * this.#width) this.flush()
  }

  /** Writes what waits. */
  flush(): void {
    const values = this.#values
    if (values.length === 0) return
    this.#values = []
    let at = 0
    for (const size of SIZES) {
      const step = size * this.#width
      for (; values.length - at >= step; at += step) {
        const some = step === values.length ? values : values.slice(at, at + step)
        this.#statementOf(size).run(...some)
      }
    }
  }

  clear(): void {
    this.#values = []
  }

  #statementOf(size: number): StatementSync {
    let statement = this.#statements.get(size)
    if (statement === undefined) {
      const row = `(${Array.from({ length: this.#width }, () => '?').join(', ')})`
      const rows = Array.from({ length: size }, () => row).join(', ')
      statement = this.#db.prepare(`INSERT INTO ${this.#into} VALUES ${rows}`)
      this.#statements.set(size, statement)
    }
    return statement
  }
}

/** What waits for the three tables. */
export class Rows {
  readonly entries: RowBuffer
  readonly contents: RowBuffer
  readonly calls: RowBuffer

  constructor(db: DatabaseSync) {
    this.entries = new RowBuffer(db, 'entries (seq, at, kind, call_id, task_id, facts, hash)', 7)
    this.contents = new RowBuffer(db, 'contents (seq, salted)', 2)
    this.calls = new RowBuffer(
      db,
      `calls (call_id, opened_seq, opened_at, state, side_effect, act_key, principal, task_id, outcome,
       settled_at, idempotency_key, idempotency_digest, sum)`,
      13,
    )
  }

  flush(): void {
    this.entries.flush()
    this.contents.flush()
    this.calls.flush()
  }

  /** Forgets what waits: it is rolled back with the rest. */
  clear(): void {
    this.entries.clear()
    this.contents.clear()
    this.calls.clear()
  }
}

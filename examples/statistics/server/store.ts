/** Tasks as this server keeps them, in a SQLite file of its own: what is here survives `kill -9`, what is not never happened. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

export type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export interface Task {
  readonly id: string
  readonly status: Status
  readonly message: string
  /** Steps that are done. */
  readonly step: number
  readonly answer: string | null
  readonly result: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** What one month came to. */
export interface Month {
  readonly month: string
  readonly count: number
  readonly mean: number
  readonly deviation: number
  readonly outliers: number
}

const SELECT = `SELECT id, status, message, step, answer, result, created_at AS createdAt,
  updated_at AS updatedAt FROM tasks`

export class TaskStore {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(file)
    this.#db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS tasks (
        id TEXT PRIMARY KEY, status TEXT NOT NULL, message TEXT NOT NULL, step INTEGER NOT NULL,
        answer TEXT, result TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
      ) STRICT;
      CREATE TABLE IF NOT EXISTS months (
        task TEXT NOT NULL, month TEXT NOT NULL, count INTEGER NOT NULL, mean REAL NOT NULL,
        deviation REAL NOT NULL, outliers INTEGER NOT NULL, PRIMARY KEY (task, month)
      ) STRICT;
      CREATE TABLE IF NOT EXISTS audit (task TEXT NOT NULL, at TEXT NOT NULL, what TEXT NOT NULL) STRICT`)
  }

  create(): Task {
    const now = new Date().toISOString()
    const id = randomUUID()
    this.#db
      .prepare(`INSERT INTO tasks VALUES (?, 'working', 'waiting to begin', 0, NULL, NULL, ?, ?)`)
      .run(id, now, now)
    return this.find(id)!
  }

  find(id: string): Task | undefined {
    return this.#db.prepare(`${SELECT} WHERE id = ?`).get(id) as unknown as Task | undefined
  }

  /** What was at work when an earlier process ended. */
  unfinished(): readonly Task[] {
    return this.#db.prepare(`${SELECT} WHERE status = 'working'`).all() as unknown as Task[]
  }

  /** A step and its row of the audit, or neither. */
  finishStep(id: string, month: Month, message: string): void {
    const now = new Date().toISOString()
    this.#db.exec('BEGIN IMMEDIATE')
    this.#db
      .prepare('INSERT INTO months VALUES (?, ?, ?, ?, ?, ?)')
      .run(id, month.month, month.count, month.mean, month.deviation, month.outliers)
    this.#db.prepare('INSERT INTO audit VALUES (?, ?, ?)').run(id, now, `read ${month.month}`)
    this.#db
      .prepare('UPDATE tasks SET step = step + 1, message = ?, updated_at = ? WHERE id = ?')
      .run(message, now, id)
    this.#db.exec('COMMIT')
  }

  /** Moves a task that has not ended. */
  move(id: string, status: Status, message: string, result?: string): void {
    this.#db
      .prepare(
        `UPDATE tasks SET status = ?, message = ?, result = ?, updated_at = ?
         WHERE id = ? AND status IN ('working', 'input_required')`,
      )
      .run(status, message, result ?? null, new Date().toISOString(), id)
  }

  /** @returns whether it had asked. */
  answer(id: string, answer: string): boolean {
    const { changes } = this.#db
      .prepare(
        `UPDATE tasks SET answer = ?, status = 'working', updated_at = ?
         WHERE id = ? AND status = 'input_required'`,
      )
      .run(answer, new Date().toISOString(), id)
    return changes === 1
  }

  months(id: string): readonly Month[] {
    const rows = this.#db.prepare('SELECT * FROM months WHERE task = ? ORDER BY month').all(id)
    return rows as unknown as Month[]
  }

  close(): void {
    this.#db.close()
  }
}

/**
 * Makes checkpoints, in the writer's thread: after so many entries, after so long with new ones, and at a clean end.
 *
 * Outside first, then in the database: the one outside is what finds a cut. A checkpoint that fails delays nothing and refuses
 * nothing; it is told, and the next one covers what it would have.
 */
import { ComityError } from '../core/words/errors.ts'
import { appendCheckpoint, checkpointFileOf, readNewest } from './checkpoint-file.ts'
import {
  type CheckpointKey,
  checkpointKeyOf,
  loadCheckpointKey,
  makeCheckpointKey,
} from './checkpoint-key.ts'
import { loadStoreId } from './load-head.ts'
import type { Writer } from './writer.ts'

/** When a checkpoint is due. */
export interface CheckpointPace {
  /** After so many entries. Default 1000. */
  readonly entries?: number
  /** After so long with new entries, milliseconds. Default 10 min. */
  readonly everyMs?: number
}

const ENTRIES = 1000
const EVERY_MS = 600_000

const INSERT = `INSERT OR REPLACE INTO checkpoints (seq, at, hash, key, signature) VALUES (?, ?, ?, ?, ?)`

export class CheckpointKeeper {
  readonly #writer: Writer
  readonly #file: string
  readonly #store: string
  readonly #entries: number
  readonly #onFault: (fault: ComityError) => void
  readonly #timer: ReturnType<typeof setInterval>
  #key: CheckpointKey | undefined
  #last: number
  #failing = false

  /** What is missing though there were checkpoints is made anew, and that is an entry of the chain. */
  constructor(
    writer: Writer,
    file: string,
    pace: CheckpointPace,
    onFault: (fault: ComityError) => void,
  ) {
    this.#writer = writer
    this.#file = file
    this.#onFault = onFault
    this.#entries = pace.entries ?? ENTRIES
    this.#store = loadStoreId(writer.db)
    this.#last = Number(writer.get('SELECT max(seq) AS seq FROM checkpoints', {})?.['seq'] ?? 0)
    this.#attempt(() => this.#prepare())
    this.#timer = setInterval(() => this.#whenNew(), pace.everyMs ?? EVERY_MS)
    this.#timer.unref()
  }

  /** A batch is on disk and answered. */
  committed(): void {
    if (this.#writer.head.seq - this.#last >= this.#entries) this.#whenNew()
  }

  /** The clean end. */
  close(): void {
    clearInterval(this.#timer)
    this.#whenNew()
  }

  #prepare(): void {
    const known = this.#last > 0
    const lost: string[] = []
    const outside = readNewest(this.#file)
    if (known && outside === undefined) lost.push('file')
    this.#key = loadCheckpointKey(this.#file)
    if (this.#key === undefined) {
      if (known || outside !== undefined) lost.push('key')
      this.#key = makeCheckpointKey(this.#file, this.#writer.head.seq)
    }
    if (lost.length === 0) return
    this.#inTransaction(() =>
      this.#writer.append({ kind: 'recovered', facts: { checkpointsLost: lost } }),
    )
    const paths = lost.map((what) =>
      what === 'key' ? checkpointKeyOf(this.#file) : checkpointFileOf(this.#file),
    )
    throw new ComityError(
      'store_corrupt',
      `${paths.join(' and ')} ${lost.length > 1 ? 'were' : 'was'} missing though there were checkpoints: made anew; what was signed before cannot be proven by it`,
    )
  }

  #whenNew(): void {
    const { head } = this.#writer
    const key = this.#key
    if (key === undefined || head.seq <= this.#last) return
    this.#attempt(() => {
      const at = new Date(this.#writer.now).toISOString()
      const checkpoint = key.sign(head, this.#store, at)
      // Asked first: a process that slept while another took over may not sign for it.
      this.#inTransaction(() => {
        appendCheckpoint(this.#file, checkpoint)
        const { seq, hash, signature } = checkpoint
        this.#writer.runAt(INSERT, seq, at, hash, checkpoint.key, signature)
      })
      this.#last = head.seq
      this.#failing = false
    })
  }

  #inTransaction(work: () => void): void {
    const { db, head } = this.#writer
    db.exec('BEGIN IMMEDIATE')
    try {
      this.#writer.expectOwner()
      work()
      this.#writer.rows.flush()
      db.exec('COMMIT')
    } catch (error) {
      this.#writer.rows.clear()
      if (db.isTransaction) db.exec('ROLLBACK')
      this.#writer.rewind(head)
      throw error
    }
  }

  /** Told once until one succeeds: the disk that refuses refuses them all. */
  #attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (this.#failing) return
      this.#failing = true
      const words = error instanceof Error ? error.message : String(error)
      this.#onFault(
        error instanceof ComityError
          ? error
          : new ComityError('store_unwritable', `no checkpoint could be written (${words})`, {
              cause: error,
            }),
      )
    }
  }
}

/**
 * The worker thread: the only writer of the store. Checks the file, brings its schema up to date, then commits batch by batch.
 *
 * A batch is answered after its COMMIT has returned, which is after the disk's barrier (WAL, synchronous FULL).
 */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

import { ComityError } from '../core/words/errors.ts'
import { BatchReader } from './batch-form.ts'
import { commitBatch } from './batch.ts'
import { judgeFile } from './check-store.ts'
import { CheckpointKeeper } from './checkpoint-keeper.ts'
import type { FromWorker, ToWorker, WorkerStart } from './commit.ts'
import { HeadFile } from './head-file.ts'
import { migrate, pragmaNumber } from './migrations/migrate.ts'
import { judgeFault } from './sqlite-fault.ts'
import { Writer } from './writer.ts'

function openDatabase(start: WorkerStart): DatabaseSync {
  judgeFile(start.file)
  const db = new DatabaseSync(start.file, { timeout: 5000, defensive: true })
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    // 16 MiB of log before it is folded into the file, not 4: pages that every batch changes are copied less often.
    db.exec('PRAGMA wal_autocheckpoint = 4000')
    migrate(db, start.file)
    if (start.maxBytes !== undefined) {
      const pages = Math.max(1, Math.floor(start.maxBytes / pragmaNumber(db, 'page_size')))
      db.exec(`PRAGMA max_page_count = ${pages}`)
    }
    takeOver(db, start.run)
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/** From here on, whoever still believes to own the store is refused by its first batch. */
function takeOver(db: DatabaseSync, run: string): void {
  db.prepare(
    `INSERT INTO store (one, id, run) VALUES (1, :id, :run)
     ON CONFLICT (one) DO UPDATE SET run = excluded.run`,
  ).run({ id: randomBytes(16).toString('hex'), run })
}

function serve(port: NonNullable<typeof parentPort>, start: WorkerStart): void {
  const answer = (message: FromWorker): void => port.postMessage(message)
  const db = openDatabase(start)
  const writer = new Writer(db, start.run)
  writer.now = start.now
  const faults: FromWorker[] = []
  let tell = (fault: FromWorker): void => void faults.push(fault)
  const keeper = new CheckpointKeeper(
    writer,
    start.file,
    start.checkpoints ?? {},
    ({ code, message }) => tell({ did: 'fault', code, message }),
  )
  const reader = new BatchReader()
  const headFile = new HeadFile(start.file)
  headFile.write(writer.head)
  port.on('message', (message: ToWorker) => {
    if (message.do === 'close') {
      keeper.close()
      db.close()
      headFile.close()
      answer({ did: 'closed' })
      port.close()
      return
    }
    writer.touched.clear()
    const before = writer.head
    if (message.batch.texts !== undefined) writer.define(message.batch.texts)
    const applied = commitBatch(writer, () => reader.read(message.batch))
    const written = applied.written && writer.head.seq !== before.seq
    if (written) headFile.write(writer.head)
    answer({
      did: 'commit',
      applied: applied.told,
      head: writer.head,
      touched: [...writer.touched],
    })
    if (written) keeper.committed()
  })
  answer({ did: 'open', head: writer.head })
  tell = answer
  // The first message is the one that says whether the store is open.
  setImmediate(() => faults.forEach(answer))
}

if (parentPort !== null) {
  try {
    serve(parentPort, workerData as WorkerStart)
  } catch (error) {
    const fault = judgeFault(error)
    const known = error instanceof ComityError || fault.code !== 'internal'
    parentPort.postMessage({
      did: 'refuse',
      code: known ? fault.code : 'store_corrupt',
      message: fault.message,
    } satisfies FromWorker)
    parentPort.close()
  }
}

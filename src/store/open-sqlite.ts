/**
 * Opens a store: lock, checks and schema (in the worker), recovery, then the parts on one committer and one reader.
 *
 * What an earlier owner left open is unknown before this resolves: nobody can see it as open.
 */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

import type { Clock } from '../core/ports/world.ts'
import { ComityError } from '../core/words/errors.ts'
import { createApprovals, listApprovals } from './approvals.ts'
import { expectPresent } from './check-store.ts'
import type { CheckpointPace } from './checkpoint-keeper.ts'
import { type Committer, startWriter } from './commit.ts'
import { createEraVerdicts } from './era-verdicts.ts'
import { createKeptListings } from './kept-listings.ts'
import { createLedger } from './ledger.ts'
import { loadPins } from './load-pins.ts'
import { lockStore, type StoreLock } from './lock.ts'
import { judgeSchema } from './migrations/migrate.ts'
import { createPins, listChanges } from './pins.ts'
import { createPrivately } from './private-file.ts'
import { createRecords } from './records.ts'
import { createRevisionDecisions } from './revision-decisions.ts'
import { createSessionStore } from './sessions.ts'
import type { Store, StoreReader } from './store.ts'
import { createTaskReader } from './task-reader.ts'
import { createTaskEvents, createTasks, type TaskEvents } from './tasks.ts'
import { isDamage } from './sqlite-fault.ts'

export interface StoreOptions {
  /** The database; its folder is made when it is not there. Beside it: `.lock`, `.owner.json`, `.head`, `.checkpoints`, `.checkpoint-key`, `-wal`, `-shm`. */
  readonly file: string
  readonly clock: Clock
  /** Names this owner in the store; default random. */
  readonly owner?: string
  /** Told of what no caller waits for: a disk that refuses, pins that do not fit the ledger, a writer that ended. */
  readonly onFault?: (fault: ComityError) => void
  /** The store never grows beyond this; then acts are refused as on a full disk. Default: none. */
  readonly maxBytes?: number
  /** When the chain is signed. Default: after 1000 entries, after 10 minutes with new ones, and at the end. */
  readonly checkpoints?: CheckpointPace
}

/**
 * Opens the store for this process, alone.
 *
 * @throws ComityError `store_locked`, `store_corrupt`, `store_unwritable`, `not_in_this_version`.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { file, clock } = options
  expectPresent(file)
  const lock = lockStore(file, clock.now())
  try {
    createPrivately(file)
    return await openLocked(options, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * Opens the store to read, for commands, whether or not a process owns it.
 *
 * @throws ComityError `not_found` when there is no store, `store_corrupt`.
 */
export function openReader(file: string, clock: Clock): StoreReader {
  expectPresent(file)
  const db = openReadOnly(file)
  return {
    ...createRecords(db, file),
    tasks: createTaskReader(db),
    approvals: { list: () => listApprovals(db, clock.now()) },
    changes: () => listChanges(loadPins(db)),
    close: () => db.close(),
  }
}

async function openLocked(options: StoreOptions, lock: StoreLock): Promise<Store> {
  const onFault = options.onFault ?? ((): void => undefined)
  const events = createTaskEvents((error) =>
    onFault(new ComityError('internal', 'a listener of tasks failed', { cause: error })),
  )
  const committer = await startWriter(
    {
      file: options.file,
      now: options.clock.now(),
      run: `${options.owner ?? 'comity'} ${process.pid} ${randomBytes(8).toString('hex')}`,
      ...(options.maxBytes === undefined ? {} : { maxBytes: options.maxBytes }),
      ...(options.checkpoints === undefined ? {} : { checkpoints: options.checkpoints }),
    },
    { clock: options.clock, onFault, onTouched: (taskIds) => events.publish(taskIds) },
  )
  let reader: DatabaseSync | undefined
  try {
    const recovered = Number(await committer.submit({ do: 'recover' }))
    reader = openReadOnly(options.file)
    committer.texts.load(reader)
    return assemble(options, { committer, reader, events, lock, recovered, onFault })
  } catch (error) {
    reader?.close()
    await committer.close()
    throw error
  }
}

function assemble(
  { file, clock }: StoreOptions,
  parts: {
    readonly committer: Committer
    readonly reader: DatabaseSync
    readonly events: TaskEvents
    readonly lock: StoreLock
    readonly recovered: number
    readonly onFault: (fault: ComityError) => void
  },
): Store {
  const { committer, reader, events, lock } = parts
  const pins = createPins(parts, clock)
  if (pins.mistrusted.length > 0) parts.onFault(sayMistrusted(pins.mistrusted))
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await committer.flush()
    // Before the writer: the last to close folds the log into the file, and a reader cannot.
    reader.close()
    await committer.close()
    lock.release()
  }
  return {
    ...createRecords(reader, file),
    ledger: createLedger(committer, reader),
    tasks: createTasks(parts, clock),
    approvals: createApprovals(parts, clock),
    pins,
    sessions: createSessionStore(parts),
    verdicts: createEraVerdicts(parts),
    revisions: createRevisionDecisions(parts),
    listings: createKeptListings(parts),
    onTasksChanged: (listener) => events.subscribe(listener),
    settleByHand: async (callId, word) => {
      // What was said of a read under way may lie still.
      await committer.flush()
      await committer.submit({ do: 'settle_by_hand', callId, ...word })
    },
    announce: (ways) => lock.announce(ways),
    recovered: parts.recovered,
    flush: () => committer.flush(),
    close: () => (closed ??= close()),
  }
}

function sayMistrusted(pins: readonly { readonly peer: string }[]): ComityError {
  const peers = [...new Set(pins.map((pin) => pin.peer))].slice(0, 20).join(', ')
  return new ComityError(
    'store_corrupt',
    `the pins of ${pins.length} capabilities (peers: ${peers}) do not fit the ledger: they were removed, rolled back or changed ` +
      'while nobody owned the store. They are refused until accepted with: comity pins accept <peer>',
  )
}

function openReadOnly(file: string): DatabaseSync {
  let db: DatabaseSync
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  } catch (error) {
    throw new ComityError('not_found', `there is no store at ${file}`, { cause: error })
  }
  try {
    if (judgeSchema(db, file) > 0) return db
  } catch (error) {
    db.close()
    if (!isDamage(error)) throw error
    throw new ComityError('store_corrupt', `the store ${file} is damaged: restore a copy`, {
      cause: error,
    })
  }
  db.close()
  throw new ComityError('not_found', `there is no store at ${file}`)
}

/** A store as it lies on disk, read whether or not a process owns it: what `status` and `doctor` say of it. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ComityError } from '../../core/words/errors.ts'
import { OPERATOR } from '../../core/words/principal.ts'
import { isTerminal } from '../../core/words/task.ts'
import { openReader } from '../../store/open-sqlite.ts'
import type { StoreReader } from '../../store/store.ts'
import { systemClock } from '../compose/world.ts'
import type { RecordReport } from './operator.ts'

/** The files of a store. */
export interface StoreFiles {
  /** Nothing was ever recorded. */
  readonly empty: boolean
  /** Of the database and its log, bytes. */
  readonly bytes: number
  /** Free on its disk, bytes; undefined where the system does not tell. */
  readonly freeBytes?: number
  /** Why it cannot be written, in words. */
  readonly unwritable?: string
}

type RecordCounts = Pick<RecordReport, 'entries' | 'pendingApprovals' | 'openTasks'>

/** What stands in the store, read only. @throws ComityError `store_corrupt` */
export async function readRecordOf(file: string): Promise<RecordReport> {
  const none = { entries: 0, pendingApprovals: 0, openTasks: 0 }
  const found = existsSync(file) ? await countIn(file, none) : none
  return { ...found, mistrustedPins: 0, recovered: 0 }
}

/** Its file is there a moment before there is anything in it: a process is just making it. */
async function countIn(file: string, none: RecordCounts): Promise<RecordCounts> {
  try {
    return await withReader(file, countRecord)
  } catch (error) {
    if (error instanceof ComityError && error.code === 'not_found') return none
    throw error
  }
}

/** How much stands there, of what somebody or something has to do with. */
export async function countRecord(
  store: Pick<StoreReader, 'entries' | 'approvals' | 'tasks'>,
): Promise<RecordCounts> {
  const tasks = await store.tasks.list(OPERATOR)
  return {
    entries: store.entries({ limit: 1 })[0]?.seq ?? 0,
    pendingApprovals: store.approvals.list().filter(({ state }) => state === 'pending').length,
    openTasks: tasks.filter(({ state }) => state !== 'answered' && !isTerminal(state)).length,
  }
}

/** Recomputes the chain. @returns what is wrong, in words, and what no longer proves its end; neither when it is sound. */
export async function verifyRecordOf(file: string): Promise<{
  readonly entries: number
  readonly fault?: string
  readonly unproven?: readonly string[]
}> {
  if (!existsSync(file)) return { entries: 0 }
  return withReader(file, async (reader) => {
    const found = await reader.verify()
    if (!found.sound) return { entries: 0, fault: `entry ${found.seq}: ${found.reason}` }
    const { entries, checkpoints } = found
    return checkpoints.state === 'unproven' ? { entries, unproven: checkpoints.notes } : { entries }
  })
}

/** The files, without opening them. */
export function lookAtFiles(file: string): StoreFiles {
  const free = freeBytes(dirname(file))
  const unwritable = whyUnwritable(file)
  return {
    empty: !existsSync(file),
    bytes: sizeOf(file) + sizeOf(`${file}-wal`),
    ...(free === undefined ? {} : { freeBytes: free }),
    ...(unwritable === undefined ? {} : { unwritable }),
  }
}

/** @throws ComityError `not_found` when there is no store, `store_corrupt`. */
export async function withReader<T>(
  file: string,
  read: (reader: StoreReader) => Promise<T>,
): Promise<T> {
  const reader = openReader(file, systemClock)
  try {
    return await read(reader)
  } finally {
    reader.close()
  }
}

/** The nearest folder that is there decides whether the missing ones can be made. */
function whyUnwritable(file: string): string | undefined {
  let path = existsSync(file) ? file : dirname(file)
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path)
  try {
    accessSync(path, constants.W_OK)
    if (path === file) accessSync(dirname(file), constants.W_OK)
    return undefined
  } catch (error) {
    return `${path} cannot be written (${error instanceof Error && 'code' in error ? String(error.code) : 'refused'})`
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function freeBytes(folder: string): number | undefined {
  try {
    let path = folder
    while (!existsSync(path) && dirname(path) !== path) path = dirname(path)
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return undefined
  }
}

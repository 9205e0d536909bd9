/**
 * The task store: one JSON file for each task, in a folder that one agent process owns.
 *
 * A file is written beside its place, flushed to the disk and renamed over the old one, so a crash
 * at any moment leaves the old record or the new one, whole. The folder is flushed as well, since
 * a rename that is not on the disk has not happened.
 */
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeRecord, parseRecord, type TaskRecord } from './task-record.ts'

/** Records on the disk. */
export interface TaskFiles {
  /** Resolves when the record would survive a power cut. One task is saved by one caller at a time. */
  save(record: TaskRecord): Promise<void>
  /** The record, or undefined when there is none. @throws Error when its file cannot be read as one. */
  load(taskId: string): Promise<TaskRecord | undefined>
  /** The ids of all tasks. */
  list(): Promise<readonly string[]>
}

/** Ids become file names, so nothing but the form we make ourselves is looked up. */
const TASK_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SUFFIX = '.json'
const UNFINISHED = '.json.new'

/** Opens the folder, made if need be, and clears away what a crash left half written. */
export async function openTaskFiles(folder: string): Promise<TaskFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of await readdir(folder)) {
    if (name.endsWith(UNFINISHED)) await unlink(join(folder, name))
  }
  return {
    save: async (record) => {
      const path = join(folder, record.task.id + SUFFIX)
      const unfinished = join(folder, record.task.id + UNFINISHED)
      const file = await open(unfinished, 'w', 0o600)
      try {
        await file.writeFile(encodeRecord(record))
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(unfinished, path)
      await syncFolder(folder)
    },
    load: async (taskId) => {
      if (!TASK_ID.test(taskId)) return undefined
      try {
        return parseRecord(await readFile(join(folder, taskId + SUFFIX), 'utf8'))
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw new Error(`the file of task ${taskId} cannot be read`, { cause: error })
      }
    },
    list: async () =>
      (await readdir(folder))
        .filter((name) => name.endsWith(SUFFIX))
        .map((name) => name.slice(0, -SUFFIX.length))
        .filter((id) => TASK_ID.test(id)),
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

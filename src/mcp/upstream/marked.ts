/**
 * Processes by an entry of the environment that they began with: what a server started carries it, also when it left the server's group.
 *
 * Linux only; elsewhere none is found. The process's own later changes do not show there.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'

/** Entries that begin with this text, or are it. */
export type Mark = string

/** For a process that does nothing else. */
export function findMarkedNow(mark: Mark): readonly number[] {
  try {
    return readdirSync('/proc')
      .flatMap(pidOf)
      .filter((pid) => {
        try {
          return holds(readFileSync(`/proc/${pid}/environ`, 'latin1'), mark)
        } catch {
          return false
        }
      })
  } catch {
    return []
  }
}

/** As `findMarkedNow`, while others are served. */
export async function findMarked(mark: Mark): Promise<readonly number[]> {
  const names = await readdir('/proc').catch(() => [])
  const found = await Promise.all(
    names.flatMap(pidOf).map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
      return holds(environment, mark) ? [pid] : []
    }),
  )
  return found.flat()
}

function pidOf(name: string): readonly number[] {
  return /^\d+$/u.test(name) && Number(name) !== process.pid ? [Number(name)] : []
}

function holds(environment: string, mark: Mark): boolean {
  return environment.startsWith(mark) || environment.includes(`\0${mark}`)
}

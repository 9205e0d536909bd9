/**
 * Keeps one guard process for all stdio servers of this process, and tells it which process groups
 * to end should we die without a word (crash, kill -9).
 *
 * The guard is started with the first server, restarted should it die, and ends with us.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Name of the environment entry by which our children are found. Its value is no secret. */
export const GUARD_MARK = 'COMITY_CHILD_OF'
const GUARD_NICENESS = 10

export interface Watch {
  /** The environment entry that one child is to carry, and no other: the guard knows how all of them begin. */
  mark(): { readonly name: string; readonly value: string }
  /** To be called in the same turn as the spawn, so that nothing can come in between. */
  watch(group: number): void
  forget(group: number): void
}

let shared: Watch | undefined

/** The one watch of this process, made on first use. */
export function sharedWatch(): Watch {
  shared ??= createWatch()
  return shared
}

function createWatch(): Watch {
  const value = randomBytes(12).toString('hex')
  const groups = new Set<number>()
  let marks = 0
  let guard: ChildProcess | undefined
  const tell = (line: string): void => void guard?.stdin?.write(`${line}\n`)
  const start = (): void => {
    // Told with its start, not after it: we may be ended between the two.
    const child = spawnGuard([
      `mark ${GUARD_MARK}=${value}.`,
      ...[...groups].map((group) => `+${group}`),
    ])
    guard = child
    child.once('exit', () => {
      if (guard === child) guard = undefined
      // Someone ended it: those it watched must not go unwatched.
      if (groups.size > 0) start()
    })
  }
  return {
    mark() {
      marks += 1
      // With an end: 1 is not how 10 begins.
      return { name: GUARD_MARK, value: `${value}.${marks}.` }
    },
    watch(group) {
      groups.add(group)
      if (guard === undefined) start()
      else tell(`+${group}`)
    },
    forget(group) {
      groups.delete(group)
      tell(`-${group}`)
    },
  }
}

function spawnGuard(lines: readonly string[]): ChildProcess {
  // The compiler does not rewrite URLs: beside the source lies .ts, in the package .js.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const file = `${fileURLToPath(new URL('./guard.', import.meta.url))}${ending}`
  const child = spawn(
    process.execPath,
    [file, 'comity-guard', ...lines],
    // Detached: out of the terminal's foreground group, and of any group that is ended with us.
    { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env: {} },
  )
  child.on('error', () => {})
  child.stdin?.on('error', () => {})
  standBack(child.pid)
  // The guard must not keep us alive: it waits for our end.
  child.unref()
  const { stdin } = child
  if (stdin !== null && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return child
}

/** It has all it must know from its start, and nothing to do before our end: the servers begin first. */
function standBack(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    setPriority(pid, GUARD_NICENESS)
  } catch {
    // Where that may not be set it begins beside them.
  }
}

/**
 * The guard: a small process of ours that outlives us by a moment. Its standard input is a pipe
 * that only we hold; when it closes, however we died, it ends every process group we told it of.
 *
 * Input lines: `+<pgid>` watch, `-<pgid>` forget, `mark <name>=<value>`, how an environment entry
 * begins that our children carry, by which Linux also finds those that left their group. Arguments are lines that it
 * has before it reads any.
 */
import { createInterface } from 'node:readline'
import { findMarkedNow } from './marked.ts'

const GRACE_MS = 400

/** Runs until standard input closes and all groups are gone. @param known lines that were given with the start. */
export function runGuard(input: NodeJS.ReadableStream, known: readonly string[]): void {
  const groups = new Set<number>()
  let mark: string | undefined
  // A terminal's Ctrl-C, a service manager's TERM are for the one we guard, not for us.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const read = (line: string): void => {
    if (line.startsWith('mark ')) mark = line.slice(5)
    else if (line.startsWith('+')) groups.add(Number(line.slice(1)))
    else groups.delete(Number(line.slice(1)))
  }
  known.forEach(read)
  createInterface({ input })
    .on('line', read)
    .on('close', () => {
      endAll(groups, mark, 'SIGTERM')
      setTimeout(() => {
        endAll(groups, mark, 'SIGKILL')
        process.exit(0)
      }, GRACE_MS)
    })
}

function endAll(groups: ReadonlySet<number>, mark: string | undefined, signal: NodeJS.Signals) {
  for (const group of groups) send(-group, signal)
  if (mark !== undefined) for (const pid of findMarkedNow(mark)) send(pid, signal)
}

function send(pid: number, signal: NodeJS.Signals): void {
  // 0 and -1 would mean our own group and everybody.
  if (!Number.isSafeInteger(pid) || Math.abs(pid) < 2) return
  try {
    process.kill(pid, signal)
  } catch {
    // Gone already.
  }
}

// This file is started as a program of its own; importing it does nothing.
if (process.argv[2] === 'comity-guard') runGuard(process.stdin, process.argv.slice(3))

/** A store in a process of its own, to be killed: starts testing/child.ts and reads what it acknowledges, line by line. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Child {
  readonly pid: number
  /** Lines so far: what the store in that process has acknowledged. */
  readonly lines: readonly string[]
  /** Resolves when a line satisfies `wanted`. @throws Error when the process ends before. */
  line(wanted: (line: string) => boolean): Promise<string>
  /** Ends it as a power switch would, and waits for its end. */
  kill(): Promise<void>
}

/** @param mode what the child does, see child.ts, or another program of this folder's, with what it is given. */
export function runChild(
  file: string,
  mode: string,
  {
    name = 'child',
    given = [],
  }: { readonly name?: string; readonly given?: readonly string[] } = {},
): Child {
  const program = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [program, file, mode, ...given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const waiting = new Set<{ look(): void; end(): void }>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    for (const waiter of waiting) waiter.look()
  })
  const ended = once(child, 'close').then(() => {
    for (const waiter of waiting) waiter.end()
  })
  return {
    pid: child.pid ?? 0,
    lines,
    line: (wanted) =>
      new Promise((resolve, reject) => {
        const waiter = {
          look: (): void => {
            const found = lines.find(wanted)
            if (found === undefined) return
            waiting.delete(waiter)
            resolve(found)
          },
          end: (): void => {
            waiting.delete(waiter)
            reject(new Error(`the child ended first, having said:\n${lines.join('\n')}`))
          },
        }
        waiting.add(waiter)
        waiter.look()
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Runs one program of the repository to its end, within a limit, and keeps what it printed. */
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'

/** How a program ended. */
export interface ToolRun {
  /** Exit code; 1 when it was ended for running too long. */
  readonly code: number
  /** Both its streams as they came; the last million characters. */
  readonly output: string
  readonly milliseconds: number
}

const KEPT = 1_000_000

/**
 * Runs a script under this Node, with the repository's programs found before the machine's.
 *
 * @param command the script, from the root, and its arguments.
 * @param options.timeoutMs after which it is asked to end, and 5 seconds later made to.
 * @param options.quiet true when its output is only kept; else it is also shown as it comes.
 */
export function runTool(
  root: string,
  [script = '', ...rest]: readonly string[],
  options: { readonly timeoutMs: number; readonly quiet: boolean },
): Promise<ToolRun> {
  const started = performance.now()
  const path = [join(root, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter)
  const child = spawn(process.execPath, [join(root, script), ...rest], {
    cwd: root,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that ending it ends its workers and whatever they started.
    detached: true,
  })
  const end = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // Gone already.
    }
  }
  const interrupted = () => end('SIGTERM')
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  let output = ''
  const keep = (chunk: string) => {
    output = (output + chunk).slice(-KEPT)
    if (!options.quiet) process.stdout.write(chunk)
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  const soft = setTimeout(() => {
    keep(`\nended after ${options.timeoutMs / 1000} s: ${script} takes too long\n`)
    end('SIGTERM')
  }, options.timeoutMs)
  const hard = setTimeout(() => end('SIGKILL'), options.timeoutMs + 5000)
  const milliseconds = () => performance.now() - started
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(soft)
      clearTimeout(hard)
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
      resolve({ code: code ?? 1, output, milliseconds: milliseconds() })
    })
  })
}

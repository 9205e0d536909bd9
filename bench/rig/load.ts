/**
 * Load in a process of its own, so that neither its CPU nor its garbage is the gateway's; the runner reads the gateway's CPU
 * at the marks that it sends.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { Era } from './mcp-client.ts'
import { cpuSeconds } from './processes.ts'

/** What the load process is asked to do. */
export interface LoadJob {
  readonly era: Era
  readonly url: string
  readonly inFlight: number
  readonly durationMs: number
  readonly warmUpMs: number
  /** Ends the load before its time. */
  readonly maxCalls?: number
  /** A call with a text of so many bytes, which must come back; or lists with so many tools. */
  readonly work:
    | { readonly do: 'call'; readonly tool: string; readonly bytes: number }
    | { readonly do: 'list'; readonly tools: number }
}

/** What one load saw. */
export interface LoadReport {
  readonly calls: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Answers that were errors or not what was sent. */
  readonly faults: number
  readonly firstFault?: string
  /** Of the process that was watched, milliseconds a call. */
  readonly cpuMs: number
}

/** What the load process sends. */
export type LoadWord =
  | { readonly mark: 'start' | 'end' }
  | { readonly report: Omit<LoadReport, 'cpuMs'> }
  | { readonly fault: string }

/** @param watchedPid whose CPU is read. @throws Error when the load cannot run. */
export function runLoad(job: LoadJob, watchedPid: number): Promise<LoadReport> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, 'load-process.ts'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // The other form turns what is no number into null.
      serialization: 'advanced',
    })
    const limit = setTimeout(
      () => {
        child.kill('SIGKILL')
        reject(new Error('the load process did not end in time'))
      },
      job.durationMs + job.warmUpMs + 30_000,
    )
    let begun = 0
    let ended = 0
    child.on('message', (word: LoadWord) => {
      if ('mark' in word) {
        if (word.mark === 'start') begun = cpuSeconds(watchedPid)
        else ended = cpuSeconds(watchedPid)
        return
      }
      child.disconnect()
      if ('fault' in word) reject(new Error(word.fault))
      else if (word.report.calls === 0)
        reject(new Error(word.report.firstFault ?? 'no call ended in time'))
      else resolve({ ...word.report, cpuMs: ((ended - begun) * 1000) / word.report.calls })
    })
    child.on('exit', (code) => {
      clearTimeout(limit)
      reject(new Error(`the load process ended with ${code}`))
    })
    child.send(job)
  })
}

/**
 * Workers: do what the store owes to tasks. Follow, find, judge; each effect is claimed, run at least once, and fenced.
 *
 * The pump of journey 2: it feeds what a peer's follower yields into resume. Peers never call core.
 */
import type { Claimed, Tasks } from '../core/ports/tasks.ts'
import type { UpstreamOf } from '../core/ports/upstream.ts'
import type { Resume } from '../core/resume.ts'
import { isTerminal } from '../core/words/task.ts'

export interface WorkerPorts {
  readonly tasks: Tasks
  readonly resume: Resume
  readonly upstreamOf: UpstreamOf
  /** Faults that no caller waits for. */
  onFault(what: string, error: unknown): void
}

export interface Workers {
  /** Something may be due now. */
  poke(): void
  /** Stops claiming, ends followers without cancelling anything remote, waits for what runs. */
  close(): Promise<void>
}

export interface WorkerOptions {
  readonly owner: string
  /** How often due work is looked for without a poke, milliseconds. */
  readonly everyMs: number
}

const LEASE_MS = 60_000
const AT_ONCE = 64
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000]

export function startWorkers(ports: WorkerPorts, options: WorkerOptions): Workers {
  const stop = new AbortController()
  const running = new Map<string, Promise<void>>()
  const tries = new Map<string, number>()
  let claiming: Promise<void> | undefined
  let again = false

  const run = async (claimed: Claimed): Promise<void> => {
    const key = `${claimed.effect.do} ${claimed.task.id}`
    try {
      const done = await runEffect(ports, claimed, stop.signal)
      if (done) {
        tries.delete(key)
        await ports.tasks.done(claimed)
        return
      }
    } catch (error) {
      if (stop.signal.aborted) return
      ports.onFault(key, error)
    }
    if (stop.signal.aborted) return
    const count = tries.get(key) ?? 0
    tries.set(key, count + 1)
    await ports.tasks.postpone(claimed, RETRY_MS[Math.min(count, RETRY_MS.length - 1)] ?? 30_000)
  }

  const claim = async (): Promise<void> => {
    do {
      again = false
      const claimed = await ports.tasks.claim(options.owner, AT_ONCE - running.size, LEASE_MS)
      for (const one of claimed) {
        const key = `${one.effect.do} ${one.task.id}`
        // A lease that ran out under a follower of ours is taken again by us: the one that runs goes on.
        if (running.has(key)) continue
        const promise = run(one)
          .catch((error: unknown) => ports.onFault(key, error))
          .finally(() => running.delete(key))
        running.set(key, promise)
      }
    } while (again && !stop.signal.aborted)
  }
  const poke = (): void => {
    if (stop.signal.aborted) return
    if (claiming !== undefined) {
      again = true
      return
    }
    claiming = claim()
      .catch((error: unknown) => ports.onFault('claim', error))
      .finally(() => {
        claiming = undefined
      })
  }
  const timer = setInterval(poke, options.everyMs)
  timer.unref()
  poke()

  return {
    poke,
    async close() {
      clearInterval(timer)
      stop.abort()
      await claiming
      await Promise.all(running.values())
    },
  }
}

/** @returns true when the effect is done, false when it should be tried again later. */
async function runEffect(
  ports: WorkerPorts,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<boolean> {
  const work = ports.upstreamOf(claimed.task.peer)?.work
  switch (claimed.effect.do) {
    case 'judge':
      await ports.resume.judge(claimed)
      return true
    case 'find':
      return work === undefined ? false : find(ports, claimed, signal)
    case 'follow':
      return work === undefined ? false : follow(ports, claimed, signal)
  }
}

async function follow(ports: WorkerPorts, claimed: Claimed, signal: AbortSignal): Promise<boolean> {
  const { task, fence } = claimed
  const work = ports.upstreamOf(task.peer)?.work
  if (work === undefined || task.handle === undefined || isTerminal(task.state)) return true
  for await (const news of work.follow(task.handle, task.cursor, signal)) {
    if ((await ports.resume.news(task.id, news, fence)) === 'stop') return true
  }
  // Ended without a resting state: the agent could not be reached, or the stream broke. Follow on later.
  return false
}

/** A first send whose answer was lost: found, it is followed; proven absent, it never ran; else it stays unknown. */
async function find(ports: WorkerPorts, claimed: Claimed, signal: AbortSignal): Promise<boolean> {
  const { task, fence } = claimed
  const work = ports.upstreamOf(task.peer)?.work
  if (work === undefined || task.state !== 'unknown') return true
  const found = await work.find(task.callId, Date.parse(task.createdAt), signal)
  if (found === 'cannot_tell') return true
  if (found === 'absent') {
    const detail = "the agent's own list proves that the message never arrived; nothing ran"
    await ports.resume.news(
      task.id,
      {
        kind: 'status',
        outcome: { state: 'failed', origin: 'transport', ran: 'no', code: 'not_sent', detail },
      },
      fence,
    )
    return true
  }
  await ports.resume.news(task.id, found.found, fence)
  return true
}

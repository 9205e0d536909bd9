/**
 * Workers: do what the store owes to tasks. Follow, find, judge; each effect is claimed, run at least once, and fenced.
 *
 * The pump of journey 2: it feeds what a peer's follower yields into resume. Peers never call core.
 */
import type { Claimed, Effect, Tasks } from '../core/ports/tasks.ts'
import type { UpstreamOf, Work } from '../core/ports/upstream.ts'
import type { Resume } from '../core/resume.ts'
import { isTerminal, SEARCHED, type TaskNews, type TaskRecord } from '../core/words/task.ts'

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
  /** How long a claim holds without a sign of life, milliseconds. Default 60 s. */
  readonly leaseMs?: number
  /** How often a task that waits for an answer is looked at, milliseconds. Default 60 s. */
  readonly waitingMs?: number
  /** Followers at work together. Mostly asleep, so this bounds memory and sockets, not work. Default 512. */
  readonly followers?: number
}

/** Judgments and searches at work together: a bound of their own, so that a house full of followers starves neither. */
const OTHERS_AT_ONCE = 32
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000]

interface Running {
  readonly effect: Effect['do']
  readonly stop: AbortController
  readonly ended: Promise<void>
}

export function startWorkers(ports: WorkerPorts, options: WorkerOptions): Workers {
  const stop = new AbortController()
  /** By task: one effect of a task at a time, whatever the leases say. */
  const running = new Map<string, Running>()
  const tries = new Map<string, number>()
  let claiming: Promise<void> | undefined
  let again = false

  const run = async (claimed: Claimed, signal: AbortSignal): Promise<void> => {
    const key = keyOf(claimed)
    try {
      const end = await runEffect(ports, claimed, signal)
      if (end !== 'again') tries.delete(key)
      if (end === 'lost') return
      if (end === 'done') return await ports.tasks.done(claimed)
      if (end === 'waits') return await ports.tasks.postpone(claimed, options.waitingMs ?? 60_000)
    } catch (error) {
      if (!signal.aborted) ports.onFault(key, error)
    }
    if (stop.signal.aborted) return
    // Something else is owed to its task: it makes room at once.
    if (signal.aborted) return ports.tasks.postpone(claimed, 0)
    const count = tries.get(key) ?? 0
    tries.set(key, count + 1)
    const delayMs = RETRY_MS[Math.min(count, RETRY_MS.length - 1)] ?? 30_000
    await ports.tasks.postpone(claimed, delayMs)
  }

  const start = (claimed: Claimed): void => {
    const { task, effect } = claimed
    const known = running.get(task.id)
    if (known !== undefined) {
      // The lease of a quiet follower of ours ran out and is ours again, under the same fence: it goes on, unless the task
      // is owed something else by now.
      if (known.effect !== effect.do) known.stop.abort()
      return
    }
    const own = new AbortController()
    const ended = run(claimed, AbortSignal.any([stop.signal, own.signal]))
      .catch((error: unknown) => ports.onFault(keyOf(claimed), error))
      .finally(() => {
        running.delete(task.id)
        if (own.signal.aborted) poke()
      })
    running.set(task.id, { effect: effect.do, stop: own, ended })
  }
  const claimSome = async (only: readonly Effect['do'][], bound: number): Promise<void> => {
    const busy = [...running.values()].filter(({ effect }) => only.includes(effect)).length
    const leaseMs = options.leaseMs ?? 60_000
    const claimed = await ports.tasks.claim(options.owner, bound - busy, leaseMs, only)
    for (const one of claimed) start(one)
  }
  const claim = async (): Promise<void> => {
    do {
      again = false
      await claimSome(['judge', 'find'], OTHERS_AT_ONCE)
      await claimSome(['follow'], options.followers ?? 512)
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
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

/**
 * - `waits`: done until somebody answers or the agent knows; looked at now and then. - `again`: not done, to be tried later.
 * - `lost`: the task is another owner's now, and so is what it is owed.
 */
type End = 'done' | 'waits' | 'again' | 'lost'

function keyOf({ effect, task }: Claimed): string {
  return `${effect.do} ${task.id}`
}

async function runEffect(ports: WorkerPorts, claimed: Claimed, signal: AbortSignal): Promise<End> {
  const { task, effect } = claimed
  if (effect.do === 'judge') {
    return (await ports.resume.judge(claimed)) === 'fenced' ? 'lost' : 'done'
  }
  // A call that goes on in a process, not at its peer: there is nothing to follow.
  if (task.handle?.kind === 'mcp_state') return 'done'
  const upstream = ports.upstreamOf(task.peer)
  if (upstream === undefined) return 'again'
  const { work } = upstream
  if (work === undefined) return searched(ports, claimed)
  return effect.do === 'find'
    ? find(ports, work, claimed, signal)
    : follow(ports, work, claimed, signal)
}

async function follow(
  ports: WorkerPorts,
  work: Work,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<End> {
  const { task } = claimed
  if (task.handle === undefined || isTerminal(task.state)) return 'done'
  let waits = task.state === 'input_required' || task.state === 'unknown'
  for await (const news of work.follow(task.handle, task.cursor, signal)) {
    // What was read of a waiting task may be older than an answer that is being given: no news is left out.
    if (task.state === 'input_required' && asksTheSame(task, news)) return 'waits'
    const unclear = isUnclear(news)
    if (task.state === 'unknown' && unclear) return 'waits'
    waits = unclear || (news.kind !== 'artifact' && news.outcome.state === 'input_required')
    if ((await ports.resume.news(task.id, news, claimed.fence)) === 'stop')
      return waits ? 'waits' : 'done'
  }
  // Ended without a resting state: the agent could not be reached, or the stream broke. Follow on later.
  return waits ? 'waits' : 'again'
}

/** The agent still names the task and does not know its state. Without a handle it does not know the task. */
function isUnclear(news: TaskNews): boolean {
  return (
    news.kind !== 'artifact' &&
    news.outcome.state === 'unknown' &&
    news.outcome.handle !== undefined
  )
}

function asksTheSame(task: TaskRecord, news: TaskNews): boolean {
  if (news.kind === 'artifact' || news.outcome.state !== 'input_required') return false
  const { questions } = news.outcome
  const known = new Set(task.questions.map((question) => question.key))
  return questions.length === known.size && questions.every((question) => known.has(question.key))
}

/** A first send whose answer was lost: found, it is followed; else it stays unknown. */
async function find(
  ports: WorkerPorts,
  work: Work,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<End> {
  const { task } = claimed
  if (task.state !== 'unknown') return 'done'
  const found = await work.find(task.callId, Date.parse(task.createdAt), signal)
  if (signal.aborted) return 'again'
  if (found === 'cannot_tell') return searched(ports, claimed)
  await ports.resume.news(task.id, found.found, claimed.fence)
  return 'done'
}

/** Whoever waits is told that nothing more is found by itself. */
async function searched(ports: WorkerPorts, { task, effect, fence }: Claimed): Promise<End> {
  if (effect.do !== 'find' || task.state !== 'unknown') return 'done'
  const detail = 'it was looked for at the peer, and cannot be found by what the peer tells'
  const news: TaskNews = {
    kind: 'status',
    cursor: SEARCHED,
    outcome: { state: 'unknown', because: 'peer_unclear', detail },
    ...(task.theirWords === undefined ? {} : { text: task.theirWords }),
  }
  await ports.resume.news(task.id, news, fence)
  return 'done'
}

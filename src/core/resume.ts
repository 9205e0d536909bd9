/**
 * Resume: OLD work. Load, step, commit: news of tasks, answers, cancels, judgments.
 *
 * Every change is a compare-and-set; a stale one is loaded and stepped again. Answers and cancels are on record before they
 * leave. The gate holds for answers as for new calls.
 */
import type { DispatchPorts, Running } from './dispatch.ts'
import { judgeTask } from './judge-task.ts'
import type { AnsweredBy, TaskDesk } from './ports/doors.ts'
import type { Judge } from './ports/judge.ts'
import type { Claimed, Fence } from './ports/tasks.ts'
import type { CancelReport, Exchange, Work } from './ports/upstream.ts'
import {
  adapterFault,
  isNotKept,
  notKept,
  notSendable,
  openCall,
  type Passed,
  settleCall,
} from './record-call.ts'
import { step } from './step.ts'
import type { OutboundCall } from './words/call.ts'
import { ComityError } from './words/errors.ts'
import type { JsonText } from './words/native.ts'
import { type Outcome, refused } from './words/outcome.ts'
import { OPERATOR, type Principal } from './words/principal.ts'
import type { Answer } from './words/question.ts'
import type { Route } from './words/route.ts'
import { isExpired, isTerminal, type TaskNews, type TaskRecord } from './words/task.ts'

export interface ResumePorts extends DispatchPorts {
  readonly judge: Judge
  /** The route by which this task was begun, undefined when it is no longer configured. */
  routeOf(task: TaskRecord): Promise<Route | undefined>
  /** A signal that fires after that many milliseconds. */
  deadline(afterMs: number): AbortSignal
  /** Plain JSON as a strict JSON text. */
  jsonText(value: unknown): JsonText
}

/** What the workers need of resume, beside what doors get. */
export interface Resume extends TaskDesk {
  /** One piece of news. `stop`: the follower has nothing more to do here. */
  news(taskId: string, news: TaskNews, fence: Fence): Promise<'go_on' | 'stop'>
  /** Judges a completed task whose verdict is pending. `fenced`: another owner holds it now, and judges it. */
  judge(claimed: Claimed): Promise<'judged' | 'fenced'>
}

/** Compare-and-set is retried against other writers of the same row; more than this many in a row is a fault of ours. */
const MAX_TRIES = 50
const CANCEL_TIMEOUT_MS = 15_000

export function createResume(ports: ResumePorts): Resume {
  // One process owns a store and one of these its tasks, so who is answering is known here.
  const answering = new Set<string>()
  return {
    load: (taskId, principal) => loadLive(ports, taskId, principal),
    list: async (principal) => {
      const all = await ports.tasks.list(principal)
      return all.filter((task) => isLive(ports, task, principal))
    },
    news: (taskId, news, fence) => takeNews(ports, taskId, news, fence),
    judge: (claimed) => judgeTask(ports, claimed),
    answer: (taskId, answers, by, exchange) =>
      answerAlone(
        answering,
        taskId,
        () => loadLive(ports, taskId, by.principal),
        (task) => answerTask(ports, task, answers, by, exchange),
      ),
    cancel: (taskId, principal) => cancelTask(ports, taskId, principal),
    watch: (taskId, principal, signal, seen) =>
      watchTask(ports, { taskId, principal, signal }, seen),
    wait: (taskId, principal, signal, seen) => waitForTask(ports, taskId, principal, signal, seen),
  }
}

async function takeNews(
  ports: ResumePorts,
  taskId: string,
  news: TaskNews,
  fence?: Fence,
): Promise<'go_on' | 'stop'> {
  let tooLarge: TaskNews | undefined
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const task = await ports.tasks.load(taskId, OPERATOR)
    if (task === undefined) return 'stop'
    const told = toldTo(ports, task, tooLarge ?? news)
    const stepped = step(task, told, nowOf(ports), ports.isJudged(task))
    const done = await ports.tasks.commit(stepped.commit, fence).catch((error: unknown) => {
      // Trying the same again cannot help; what the agent holds stays there.
      if (tooLarge !== undefined || !isNotKept(error)) throw error
      tooLarge = { kind: 'status', outcome: notKept(error, task.handle) }
      return 'stale' as const
    })
    if (done === 'committed') return stepped.follow ? 'go_on' : 'stop'
    if (done === 'fenced') return 'stop'
  }
  throw new Error(`task ${taskId} changed under every one of ${MAX_TRIES} tries to commit news`)
}

/** A published agent's task holds what its caller can be given. */
function toldTo(ports: ResumePorts, { servedAs, callId }: TaskRecord, news: TaskNews): TaskNews {
  if (servedAs === undefined || news.kind !== 'status') return news
  if (!('native' in news.outcome) || news.outcome.native?.protocol !== 'mcp') return news
  const { value, dropped } = ports.translator.outcome(news.outcome, 'a2a')
  if (dropped.length > 0) ports.ledger.note(callId, { kind: 'dropped', facts: { fields: dropped } })
  return { ...news, outcome: value }
}

type Answered = Exclude<Awaited<ReturnType<TaskDesk['answer']>>, undefined>

/** Of two answers at once only one leaves: the other would answer a question that is answered already. */
async function answerAlone(
  answering: Set<string>,
  taskId: string,
  load: () => Promise<TaskRecord | undefined>,
  answer: (task: TaskRecord) => Promise<Answered>,
): ReturnType<TaskDesk['answer']> {
  const seen = await load()
  if (seen === undefined) return undefined
  if (answering.has(taskId)) {
    const detail = `another answer to task ${taskId} is being given; nothing was sent, see what comes of it`
    return {
      callId: seen.callId,
      task: seen,
      outcome: refused('validation', 'unsupported', detail),
    }
  }
  answering.add(taskId)
  try {
    // Read again: the answer before this one may have ended in between.
    return await answer((await load()) ?? seen)
  } finally {
    answering.delete(taskId)
  }
}

async function answerTask(
  ports: ResumePorts,
  task: TaskRecord,
  answers: readonly Answer[],
  by: AnsweredBy,
  exchange: Exchange,
): Promise<Answered> {
  const running = ports.running.get(task.id)
  if (running?.answer !== undefined) return answerRunning(ports, running, task, answers, by)
  const refusal = notAnswerable(task, by)
  const route = await ports.routeOf(task)
  const upstream = ports.upstreamOf(task.peer)
  if (
    refusal !== undefined ||
    task.handle === undefined ||
    route === undefined ||
    upstream?.work === undefined
  ) {
    return {
      callId: task.callId,
      task,
      outcome:
        refusal ??
        refused('transport', 'peer_unreachable', `${task.peer} is no longer configured as it was`),
    }
  }
  const call = answerCall(ports, task, route, answers, by)
  const { callId } = call
  const opened = await openCall(ports, call)
  if ('refused' in opened) return { callId, task, outcome: sayOfAnswer(opened.refused) }
  const outcome = await sendAnswer(ports, upstream.work, call, opened, exchange)
  await settleCall(ports, callId, outcome, () => ({ barrier: true }))
  // What the agent said stands, whether or not the task's row takes it now: its follower reads it again.
  await takeReply(ports, task, outcome).catch((error: unknown) =>
    ports.onFault(`task ${task.id} after answer ${callId}`, error),
  )
  return { callId, outcome, task: (await ports.tasks.load(task.id, by.principal)) ?? task }
}

/** Of a call that runs here: it takes what it asked for, and goes on by itself. */
async function answerRunning(
  ports: ResumePorts,
  running: Running,
  task: TaskRecord,
  answers: readonly Answer[],
  by: AnsweredBy,
): Promise<Answered> {
  const { callId } = task
  const refusal = notAnswerable(task, by)
  if (refusal !== undefined) return { callId, task, outcome: refusal }
  await running.answer?.(answers)
  const handle = { peer: task.peer, kind: 'mcp_state', sealed: '' } as const
  const now = (await ports.tasks.load(task.id, by.principal)) ?? task
  return { callId, task: now, outcome: { state: 'working', handle } }
}

async function sendAnswer(
  ports: ResumePorts,
  work: Work,
  call: OutboundCall,
  passed: Passed,
  exchange: Exchange,
): Promise<Outcome> {
  const unrecorded = await recordAnswer(ports, call)
  if (unrecorded !== undefined) return unrecorded
  const stopped = notSendable(ports, call, passed, exchange)
  if (stopped !== undefined) return stopped
  let left = false
  return work
    .answer(call, exchange, (facts) => {
      left = true
      ports.ledger.note(call.callId, { kind: 'dispatched', facts })
    })
    .catch((error: unknown): Outcome => adapterFault(error, left))
}

/** On the record of the task's own call, so that whoever looks at the task finds its answers. */
async function recordAnswer(ports: ResumePorts, call: OutboundCall): Promise<Outcome | undefined> {
  const { continuation } = call
  const answers = continuation?.answers.map(({ key, action }) => ({ key, action })) ?? []
  try {
    await ports.ledger.record(continuation?.callId ?? call.callId, {
      kind: 'answered',
      facts: { through: call.callId, answers },
    })
    return undefined
  } catch (error) {
    if (!(error instanceof ComityError)) throw error
    return refused(
      'policy',
      'record_unwritable',
      `the record cannot be written (${error.message}), so the answer was not sent`,
    )
  }
}

async function takeReply(ports: ResumePorts, task: TaskRecord, outcome: Outcome): Promise<void> {
  const ofTask = outcome.state !== 'failed' || outcome.handle !== undefined
  if (ofTask && outcome.state !== 'unknown') {
    // The reply to the answer is consumed as it came; the follower then reads the authoritative task again.
    await takeNews(ports, task.id, {
      kind: 'status',
      outcome: outcome.state === 'answered' ? stillWorking(task, outcome.text) : outcome,
    })
  } else if (outcome.state === 'unknown' || outcome.origin === 'peer') {
    // An agent may also refuse an answer because its task has moved on.
    await refollow(ports, task.id)
  }
}

/** A twin of an answer is no call to insist on: the task itself tells what became of it. */
function sayOfAnswer(outcome: Outcome): Outcome {
  if (outcome.state !== 'unknown' || outcome.twinOf === undefined) return outcome
  return {
    ...outcome,
    detail: `the same answer (${outcome.twinOf}) was sent before and its fate is not known; the task is followed, nothing is sent again`,
  }
}

function notAnswerable(task: TaskRecord, by: AnsweredBy): Outcome | undefined {
  if (isTerminal(task.state)) {
    return refused(
      'validation',
      'task_terminal',
      `task ${task.id} is ${task.state} and takes no answer; a change is a new delegation in the same context`,
    )
  }
  if (task.servedAs !== by.servedAs) {
    return refused(
      'validation',
      'unsupported',
      `task ${task.id} is a call that came by /a2a/${task.servedAs ?? ''}: whoever sent it answers there, nobody else`,
    )
  }
  if (task.state === 'input_required' || task.state === 'auth_required') return undefined
  return refused(
    'validation',
    'unsupported',
    `task ${task.id} is ${task.state}: it asks nothing now`,
  )
}

/** An answered question with a bare Message leaves the task open until its own state says otherwise. */
function stillWorking(task: TaskRecord, text: string): Outcome {
  return task.handle === undefined
    ? { state: 'unknown', because: 'peer_unclear', detail: text }
    : { state: 'working', handle: task.handle, text }
}

/** The answer may have arrived: only the task itself can tell, so it is followed again; nothing is sent twice. */
async function refollow(ports: ResumePorts, taskId: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const task = await ports.tasks.load(taskId, OPERATOR)
    if (task === undefined || isTerminal(task.state)) return
    const done = await ports.tasks.commit({ next: task, writes: [], effects: [{ do: 'follow' }] })
    if (done === 'committed') return
  }
}

function answerCall(
  ports: ResumePorts,
  task: TaskRecord,
  route: Route,
  answers: readonly Answer[],
  by: AnsweredBy,
): OutboundCall {
  const handle = task.handle
  if (handle === undefined) throw new Error(`task ${task.id} has no handle`)
  const args = ports.jsonText({
    taskId: task.id,
    answers: answers.map(({ key, action, text, data }) => ({
      key,
      action,
      ...(text === undefined ? {} : { text }),
      ...(data === undefined ? {} : { data }),
    })),
  })
  return {
    callId: ports.ids.call(),
    openedAt: ports.clock.now(),
    route,
    principal: by.principal,
    operation: 'answer',
    native: {
      protocol: route.protocol,
      revision: '',
      bytes: args.bytes,
      value: () => args.value(),
    },
    arguments: args,
    door: by.door,
    deadlineAt: by.deadlineAt,
    trace: {},
    continuation: { callId: task.callId, handle, answers },
  }
}

async function cancelTask(
  ports: ResumePorts,
  taskId: string,
  principal: Principal,
): ReturnType<TaskDesk['cancel']> {
  const task = await loadLive(ports, taskId, principal)
  if (task === undefined) return undefined
  if (isTerminal(task.state)) {
    return {
      task,
      report: {
        confirmed: 'already_ended',
        detail: `the task was ${task.state} before; what it did stays done`,
      },
    }
  }
  const facts = { taskId, by: principal.id }
  try {
    await ports.ledger.record(task.callId, { kind: 'cancel_asked', facts })
  } catch (error) {
    if (!(error instanceof ComityError)) throw error
    const detail = `the record cannot be written (${error.message}), so the agent was not told`
    return { task, report: { confirmed: 'unconfirmed', detail } }
  }
  const report = (await stopHere(ports, task)) ?? (await askToStop(ports, task))
  ports.ledger.note(task.callId, {
    kind: 'cancel_reported',
    facts: { taskId, confirmed: report.confirmed, detail: report.detail },
  })
  if (report.news !== undefined)
    await takeNews(ports, taskId, report.news).catch((error: unknown) =>
      ports.onFault(`task ${taskId} after its cancel`, error),
    )
  return { report, task: (await ports.tasks.load(taskId, principal)) ?? task }
}

/** A call of this process that is served as a task: stopped where it runs; how it ended is what its row then says. */
async function stopHere(ports: ResumePorts, task: TaskRecord): Promise<CancelReport | undefined> {
  const running = ports.running.get(task.id)
  if (running === undefined) return undefined
  running.stop('caller_canceled')
  const deadline = ports.deadline(CANCEL_TIMEOUT_MS)
  const ended = await ports.tasks.changed(task.id, task.version, deadline)
  const detail = ended?.theirWords ?? `the call is ${ended?.state ?? 'still running'}`
  if (ended?.state === 'canceled') return { confirmed: 'stopped', detail }
  const over = ended !== undefined && isTerminal(ended.state)
  return { confirmed: over ? 'already_ended' : 'unconfirmed', detail }
}

async function askToStop(ports: ResumePorts, task: TaskRecord): Promise<CancelReport> {
  const work = ports.upstreamOf(task.peer)?.work
  if (work === undefined)
    return {
      confirmed: 'unconfirmed',
      detail:
        task.servedAs === undefined && task.handle !== undefined
          ? `no agent is configured as ${task.peer}; it was not told`
          : `it is a call at ${task.peer} that does not run here any more; nothing is left to be told`,
    }
  if (task.handle === undefined)
    return {
      confirmed: 'unconfirmed',
      detail: 'the agent has not named a task yet, so it cannot be told to stop',
    }
  const deadline = ports.deadline(CANCEL_TIMEOUT_MS)
  return work.cancel(task.handle, deadline).catch((error: unknown): CancelReport => ({
    confirmed: 'unconfirmed',
    detail: error instanceof Error ? error.message : String(error),
  }))
}

async function watchTask(
  ports: ResumePorts,
  { taskId, principal, signal }: Watched,
  seen: (task: TaskRecord) => void | Promise<void>,
): Promise<boolean> {
  let task = await loadLive(ports, taskId, principal)
  const found = task !== undefined
  while (task !== undefined && !signal.aborted) {
    await seen(task)
    if (isTerminal(task.state) && task.verdict.state !== 'pending') break
    task = await ports.tasks.changed(taskId, task.version, signal)
  }
  return found
}

interface Watched {
  readonly taskId: string
  readonly principal: Principal
  readonly signal: AbortSignal
}

async function waitForTask(
  ports: ResumePorts,
  taskId: string,
  principal: Principal,
  signal: AbortSignal,
  seen?: (task: TaskRecord) => void,
): Promise<TaskRecord | undefined> {
  let task = await loadLive(ports, taskId, principal)
  while (task !== undefined) {
    seen?.(task)
    const resting = isTerminal(task.state)
      ? task.verdict.state !== 'pending'
      : task.questions.length > 0 || task.state === 'unknown'
    if (resting || signal.aborted) return task
    const next: TaskRecord | undefined = await ports.tasks.changed(taskId, task.version, signal)
    if (next === undefined) return (await ports.tasks.load(taskId, principal)) ?? task
    task = next
  }
  return undefined
}

/** Whose time has passed is not found any more, but by the operator. */
async function loadLive(
  ports: ResumePorts,
  taskId: string,
  principal: Principal,
): Promise<TaskRecord | undefined> {
  const task = await ports.tasks.load(taskId, principal)
  return task !== undefined && isLive(ports, task, principal) ? task : undefined
}

function isLive({ clock }: ResumePorts, task: TaskRecord, principal: Principal): boolean {
  return principal.id === OPERATOR.id || !isExpired(task, clock.now())
}

function nowOf(ports: ResumePorts): string {
  return new Date(ports.clock.now()).toISOString()
}

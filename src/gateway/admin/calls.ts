/** The verbs that make new work: call, read, delegate. */
import type { CallEvent, Exchange, StopReason } from '../../core/ports/upstream.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'
import type { Answer } from '../../core/words/question.ts'
import type { Route } from '../../core/words/route.ts'
import { nextMover, SEARCHED, type TaskRecord } from '../../core/words/task.ts'
import { messageOf } from '../../bridge/skill-as-tool.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { checkStrict } from '../../mcp/wire/strict.ts'
import { encodeJson, scanObject, setMembers } from '../../mcp/wire/spans.ts'
import { jsonTextOfBytes } from '../compose/route-table.ts'
import type {
  AnswerInput,
  CallInput,
  CallReport,
  DelegateReport,
  Live,
  Operator,
} from './operator.ts'
import { LOCAL, OPERATOR } from '../../core/words/principal.ts'
import type { HostParts } from './parts.ts'
import { reportOutcome, reportQuestion, reportTask } from './reports.ts'

const DEFAULT_CALL_MS = 600_000
const DEFAULT_READ_MS = 120_000
const EMPTY = encodeJson({})

/** The handle and the approval that a first round left, sealed by nothing: the socket is its user's alone. */
interface Sealed {
  readonly callId: string
  readonly handle: Handle
  readonly approvalId?: string
}

export function createCallVerbs(
  parts: HostParts,
): Pick<Operator, 'call' | 'read' | 'prompt' | 'delegate'> {
  return {
    call: (input, live) => callTool(parts, input, live),
    prompt: ({ arguments: args, ...input }, live) =>
      callTool(parts, { ...input, argumentsText: JSON.stringify(args) }, live, 'prompt'),
    read: (input, live) => readResource(parts, input, live),
    delegate: (input, live) => delegateTask(parts, input, live),
  }
}

async function callTool(
  parts: HostParts,
  input: CallInput,
  live: Live,
  kind: 'tool' | 'prompt' = 'tool',
): Promise<CallReport> {
  const route = await routeTo(parts, input.target, kind)
  if (route.kind === 'agent') {
    // An agent's work outlives a call: only a delegation has a task to follow it by.
    throw new ComityError('usage', `${route.peer} is an agent: comity delegate ${route.peer} "…"`)
  }
  const args = parseArguments(input.argumentsText)
  const params = setMembers(EMPTY, undefined, {
    name: encodeJson(route.exposed),
    arguments: args.bytes,
    _meta: encodeJson({ progressToken: 'cli' }),
  })
  const timeoutMs = input.timeoutMs ?? DEFAULT_CALL_MS
  const sealed = input.continuation?.sealed as Sealed | undefined
  const dispatched = await parts.dispatch(
    {
      route,
      principal: LOCAL,
      operation: route.kind === 'prompt' ? 'prompt' : 'call',
      native: { protocol: 'mcp', revision: '2026-07-28', ...jsonTextOfBytes(params) },
      arguments: args,
      door: 'operator',
      deadlineAt: parts.clock.now() + timeoutMs,
      trace: {},
      ...(input.insist === undefined ? {} : { insist: input.insist }),
      ...(sealed === undefined
        ? {}
        : {
            continuation: { ...sealed, answers: (input.continuation?.answers ?? []).map(answerOf) },
          }),
    },
    exchangeOf(live, timeoutMs, input.canAnswer === true),
  )
  return tellOperator(parts, route, args, reportCall(dispatched))
}

async function readResource(
  parts: HostParts,
  input: { readonly target: string; readonly timeoutMs?: number },
  live: Live,
): Promise<CallReport> {
  const route = await parts.catalogue.resolve('resource', input.target, LOCAL)
  if (route === undefined)
    throw new ComityError(
      'not_found',
      `no peer offers the resource ${input.target}, links it, or has a template for it`,
    )
  const args = jsonTextOf({ uri: input.target })
  const timeoutMs = input.timeoutMs ?? DEFAULT_READ_MS
  const dispatched = await parts.dispatch(
    {
      route,
      principal: LOCAL,
      operation: 'read',
      native: { protocol: 'mcp', revision: '2026-07-28', ...args },
      arguments: args,
      door: 'operator',
      deadlineAt: parts.clock.now() + timeoutMs,
      trace: {},
    },
    exchangeOf(live, timeoutMs, false),
  )
  return reportCall(dispatched)
}

async function delegateTask(
  parts: HostParts,
  input: Parameters<Operator['delegate']>[0],
  live: Live,
): Promise<DelegateReport> {
  const begunAt = parts.clock.now()
  const { waitMs } = input
  const leftMs = (ofMs: number): number => Math.max(1, begunAt + ofMs - parts.clock.now())
  const route = await agentWithin(parts, input.agent, waitMs, live)
  const args = {
    message: input.message,
    ...(input.data === undefined ? {} : { data: input.data }),
    ...(input.contextId === undefined ? {} : { contextId: input.contextId }),
    ...(input.referenceTaskIds === undefined ? {} : { referenceTaskIds: input.referenceTaskIds }),
  }
  const delegated = await parts.delegate(
    {
      route,
      principal: LOCAL,
      operation: 'delegate',
      native: messageOf(args),
      arguments: jsonTextOf(args),
      door: 'operator',
      // The end of a wait is no outcome: the send goes on after it, and its answer is taken when it comes.
      deadlineAt: begunAt + Math.max(waitMs ?? 0, DEFAULT_CALL_MS),
      trace: {},
      ...(input.insist === undefined ? {} : { insist: input.insist }),
      ...(input.contextId === undefined ? {} : { contextId: input.contextId }),
    },
    UNWATCHED,
  )
  const { callId, task } = delegated
  delegated.reply.catch((error: unknown) => parts.onFault(`delegation ${callId}`, error))
  if (task === undefined) {
    const { outcome } = await delegated.reply
    return { callId, outcome: reportOutcome(outcome) }
  }
  const patienceMs = waitMs ?? input.acceptMs
  const reply =
    patienceMs === undefined
      ? undefined
      : await raced(delegated.reply, leftMs(patienceMs), live.signal)
  if (reply?.outcome.state === 'answered') {
    const { outcome } = reply
    return { callId, outcome: reportOutcome(outcome), answerText: outcome.text }
  }
  return {
    callId,
    outcome:
      reply === undefined ? { state: 'submitted', ran: 'unknown' } : reportOutcome(reply.outcome),
    task: await waitForTask(parts, task.id, waitMs === undefined ? 0 : leftMs(waitMs), live),
  }
}

/** The send goes on when the one who asked for it leaves: a delegation is not canceled by hanging up. */
const UNWATCHED: Exchange = {
  signal: new AbortController().signal,
  stopReason: () => undefined,
  emit: () => undefined,
  can: { form: true, url: true, sampling: false, roots: false },
}

/** An agent's route as soon as its card is known; the card is part of what the caller's deadline bounds. */
async function agentWithin(
  parts: HostParts,
  agent: string,
  waitMs: number | undefined,
  live: Live,
): Promise<Route> {
  const looking = parts.agentRoute(agent)
  const known = await (waitMs === undefined
    ? looking
    : raced(
        looking.then((route) => route ?? 'none'),
        waitMs,
        live.signal,
      ))
  if (known === undefined && waitMs !== undefined)
    throw new ComityError(
      'not_found',
      `the card of ${agent} was not there within the wait; nothing was sent. comity ls says how it is reached`,
    )
  if (known === undefined || known === 'none')
    throw new ComityError(
      'not_found',
      `no agent called ${agent} can be reached; comity ls says why`,
    )
  return known
}

/** Waits for a task to end or ask, at most `waitMs`, telling every change; the work goes on either way. */
export async function waitForTask(
  parts: HostParts,
  taskId: string,
  waitMs: number,
  live: Live,
): Promise<ReturnType<typeof reportTask>> {
  const stop = waitMs <= 0 ? AbortSignal.abort() : AbortSignal.any([live.signal, timeoutOf(waitMs)])
  let state: string | undefined
  const tell = (seen: TaskRecord): void => {
    if (seen.state !== state && waitMs > 0)
      live.event({
        event: 'task',
        taskId,
        state: seen.state,
        ...(seen.theirWords === undefined ? {} : { text: seen.theirWords }),
      })
    state = seen.state
  }
  let task = await parts.resume.wait(taskId, OPERATOR, stop, tell)
  // A first send whose reply was lost is being looked for: its fate is worth the rest of the wait.
  while (task !== undefined && isLookedFor(task) && !stop.aborted) {
    await parts.store.tasks.changed(taskId, task.version, stop)
    task = await parts.resume.wait(taskId, OPERATOR, stop, tell)
  }
  if (task === undefined) throw new ComityError('not_found', `no task ${taskId}`)
  const goesOn = nextMover(task.state) === 'agent' || task.verdict.state === 'pending'
  return reportTask(task, waitMs > 0 && goesOn ? 'still_working' : 'over')
}

function isLookedFor({ state, handle, cursor }: TaskRecord): boolean {
  return state === 'unknown' && handle === undefined && cursor !== SEARCHED
}

async function routeTo(parts: HostParts, target: string, kind: 'tool' | 'prompt'): Promise<Route> {
  const slash = target.indexOf('/')
  const exposed = slash < 0 ? await parts.catalogue.resolve(kind, target, LOCAL) : undefined
  if (exposed !== undefined) return exposed
  const peer = slash < 0 ? undefined : target.slice(0, slash)
  const row =
    peer === undefined
      ? undefined
      : await parts.catalogue.find(
          peer,
          target.slice(slash + 1),
          kind === 'prompt' ? ['prompt'] : ['tool', 'prompt'],
        )
  if (row !== undefined) return row.route
  const view =
    peer === undefined
      ? undefined
      : (await parts.catalogue.view(0)).find((one) => one.peer.name === peer)
  if (view?.error !== undefined)
    throw new ComityError('not_found', `${peer} is not there now: ${view.error}`)
  throw new ComityError(
    'not_found',
    `no ${kind} ${target}: expected peer/${kind} or an exposed name; comity ls lists them`,
  )
}

function parseArguments(text: string): JsonText {
  const bytes = Buffer.from(text, 'utf8')
  try {
    scanObject(bytes)
    checkStrict(bytes)
  } catch (error) {
    throw new ComityError(
      'usage',
      `the arguments must be one JSON object: ${(error as Error).message}`,
    )
  }
  return jsonTextOfBytes(bytes)
}

const CAN_ANSWER = { form: true, url: true, sampling: false, roots: false } as const

function exchangeOf(live: Live, timeoutMs: number, canAnswer: boolean): Exchange {
  const timer = AbortSignal.timeout(timeoutMs)
  return {
    signal: AbortSignal.any([live.signal, timer]),
    stopReason: (): StopReason | undefined =>
      live.signal.aborted ? 'caller_canceled' : timer.aborted ? 'deadline' : undefined,
    emit: (event) => tellEvent(live, event),
    can: canAnswer ? CAN_ANSWER : { form: false, url: false, sampling: false, roots: false },
  }
}

function tellEvent(live: Live, event: CallEvent): void {
  const value = event.native.value()
  const params = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >
  if (event.kind === 'progress') {
    live.event({
      event: 'progress',
      ...(typeof params['progress'] === 'number' ? { progress: params['progress'] } : {}),
      ...(typeof params['total'] === 'number' ? { total: params['total'] } : {}),
      ...(typeof params['message'] === 'string' ? { message: params['message'] } : {}),
    })
    return
  }
  live.event({ event: 'log', level: String(params['level']), text: JSON.stringify(params['data']) })
}

function answerOf(input: AnswerInput): Answer {
  const content = input.data ?? (input.text === undefined ? undefined : { answer: input.text })
  const result = {
    action: input.action,
    ...(input.action === 'accept' && content !== undefined ? { content } : {}),
  }
  return { ...input, native: { protocol: 'mcp', revision: '2026-07-28', ...jsonTextOf(result) } }
}

/** Callers are told that a hidden capability does not exist; the operator is told which rule hides it. */
function tellOperator(
  parts: HostParts,
  route: Route,
  args: JsonText,
  report: CallReport,
): CallReport {
  if (report.outcome.code !== 'unknown_capability') return report
  const { effect, rule } = parts.policy.decide(LOCAL, route, args)
  if (effect !== 'deny') return report
  const detail = `denied by ${rule}; nothing was sent. Callers are told that there is no such ${route.kind}`
  return { ...report, outcome: { ...report.outcome, code: 'denied', detail } }
}

function reportCall({
  callId,
  outcome,
  approvalId,
}: {
  readonly callId: string
  readonly outcome: Outcome
  readonly approvalId?: string
}): CallReport {
  const native = 'native' in outcome ? outcome.native : undefined
  const sealed: Sealed | undefined =
    outcome.state === 'input_required'
      ? { callId, handle: outcome.handle, ...(approvalId === undefined ? {} : { approvalId }) }
      : undefined
  return {
    callId,
    outcome: reportOutcome(outcome),
    ...(native === undefined || sealed !== undefined
      ? {}
      : { resultText: Buffer.from(native.bytes).toString('utf8') }),
    ...(outcome.state === 'input_required'
      ? { questions: outcome.questions.map(reportQuestion), continuation: sealed }
      : {}),
  }
}

/** Timers hold less than 25 days; a longer wait is as good as that. */
const LONGEST_TIMER_MS = 0x7fffffff

function timeoutOf(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(Math.max(1, ms), LONGEST_TIMER_MS))
}

/** `promise`, or undefined when the time or the signal is first. */
async function raced<T>(
  promise: Promise<T>,
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>()
  const end = (): void => resolve(undefined)
  const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS))
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

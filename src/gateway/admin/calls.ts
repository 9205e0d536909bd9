/** The verbs that make new work: call, read, delegate. */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Continuation, NewCall } from '../../core/words/call.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Handle } from '../../core/words/outcome.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import type { Route } from '../../core/words/route.ts'
import { nextMover, SEARCHED, type TaskRecord } from '../../core/words/task.ts'
import { messageOf } from '../../bridge/skill-as-tool.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { urlsToOpen } from '../../mcp/downstream/url-required.ts'
import { checkStrict } from '../../mcp/wire/strict.ts'
import { encodeJson, scanObject, setMembers } from '../../mcp/wire/spans.ts'
import { jsonTextOfBytes } from '../compose/route-table.ts'
import { type AskingCalls, createAskingCalls, openLive, QUESTION_MS } from './asking.ts'
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

/** Where a call goes on after questions, sealed by nothing: the socket is its user's alone. */
type Sealed =
  /** At the peer, with the handle and the approval that the round before left. */
  | {
      readonly kind: 'state'
      readonly callId: string
      readonly handle: Handle
      readonly approvalId?: string
    }
  /** Here: the peer holds the call open. */
  | { readonly kind: 'parked'; readonly callId: string; readonly parked: string }
  /** From the start: the peer wanted addresses opened first. */
  | {
      readonly kind: 'again'
      readonly callId: string
      readonly peer: string
      readonly approvalId?: string
    }

/** Rounds of questions in one call of an operator. */
const MAX_ROUNDS = 16

export function createCallVerbs(
  parts: HostParts,
): Pick<Operator, 'call' | 'read' | 'prompt' | 'delegate'> {
  const asking = createAskingCalls((what, error) => parts.onFault(what, error))
  return {
    call: (input, live) => callTool(parts, asking, input, live),
    prompt: ({ arguments: args, ...input }, live) =>
      callTool(parts, asking, { ...input, argumentsText: JSON.stringify(args) }, live, 'prompt'),
    read: (input, live) => readResource(parts, input, live),
    delegate: (input, live) => delegateTask(parts, input, live),
  }
}

async function callTool(
  parts: HostParts,
  asking: AskingCalls,
  input: CallInput,
  live: Live,
  kind: 'tool' | 'prompt' = 'tool',
): Promise<CallReport> {
  const sealed = input.continuation?.sealed as Sealed | undefined
  const answers = (input.continuation?.answers ?? []).map(answerOf)
  if (sealed?.kind === 'parked') return takeOver(asking, sealed, answers, live)
  if (sealed?.kind === 'again' && answers.some(({ action }) => action !== 'accept'))
    return notOpened(sealed)
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
  const canAnswer = input.canAnswer === true
  const call: NewCall = {
    route,
    principal: LOCAL,
    operation: route.kind === 'prompt' ? 'prompt' : 'call',
    native: { protocol: 'mcp', revision: '2026-07-28', ...jsonTextOfBytes(params) },
    arguments: args,
    door: 'operator',
    // The exchange keeps the time: what a person takes to answer is not the call's.
    deadlineAt: parts.clock.now() + timeoutMs + (canAnswer ? MAX_ROUNDS * QUESTION_MS : 0),
    trace: {},
    ...(input.insist === undefined ? {} : { insist: input.insist }),
    ...(sealed === undefined ? {} : { continuation: continuationOf(sealed, answers) }),
  }
  const opened = openLive(live, timeoutMs, canAnswer)
  if (canAnswer) {
    const by = { principal: LOCAL.id, asker: live, bytes: args.bytes.length }
    const running = asking.begin(by, opened, (exchange) => parts.dispatch(call, exchange))
    return reportNext(parts, running, route, args)
  }
  try {
    const dispatched = await parts.dispatch(call, opened.exchange)
    return tellOperator(parts, route, args, reportCall(dispatched))
  } finally {
    opened.close()
  }
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
  const opened = openLive(live, timeoutMs, false)
  try {
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
      opened.exchange,
    )
    return reportCall(dispatched)
  } finally {
    opened.close()
  }
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

function continuationOf(
  sealed: Exclude<Sealed, { kind: 'parked' }>,
  answers: readonly Answer[],
): Continuation {
  const { kind, callId, approvalId } = sealed
  const approval = approvalId === undefined ? {} : { approvalId }
  return kind === 'state'
    ? { callId, handle: sealed.handle, answers, ...approval }
    : // The peer is given back nothing; the approval goes on.
      {
        callId,
        handle: { peer: sealed.peer, kind: 'mcp_state', sealed: '' },
        answers: [],
        ...approval,
      }
}

/** The answers for a call that waits here. */
async function takeOver(
  asking: AskingCalls,
  { parked, callId }: Extract<Sealed, { kind: 'parked' }>,
  answers: readonly Answer[],
  live: Live,
): Promise<CallReport> {
  const call = asking.find(parked)
  if (call === undefined || call === 'over') {
    const detail = `the call that asked is not waiting here any more; comity explain ${callId} says what is on record`
    return { callId, outcome: { state: 'unknown', ran: 'unknown', code: 'process_died', detail } }
  }
  call.resume(live, answers)
  const next = await call.next()
  return next.kind === 'ended' ? reportCall(next.dispatched) : reportAsked(call, next.questions)
}

async function reportNext(
  parts: HostParts,
  call: ReturnType<AskingCalls['begin']>,
  route: Route,
  args: JsonText,
): Promise<CallReport> {
  const next = await call.next()
  if (next.kind === 'asked') return reportAsked(call, next.questions)
  const { dispatched } = next
  return (
    reportUrls(dispatched, route.peer) ?? tellOperator(parts, route, args, reportCall(dispatched))
  )
}

function reportAsked(
  call: ReturnType<AskingCalls['begin']>,
  questions: ReadonlyMap<string, Question>,
): CallReport {
  const callId = call.callId()
  const sealed: Sealed = { kind: 'parked', callId, parked: call.id }
  return {
    callId,
    outcome: { state: 'input_required', ran: 'yes' },
    questions: [...questions].map(([key, question]) => ({ ...reportQuestion(question), key })),
    continuation: sealed,
  }
}

/** A call that was refused until addresses are opened, as questions. */
function reportUrls(
  { callId, outcome, approvalId }: Dispatched,
  peer: string,
): CallReport | undefined {
  const urls = urlsToOpen(outcome)
  if (urls === undefined) return undefined
  const approval = approvalId === undefined ? {} : { approvalId }
  const sealed: Sealed = { kind: 'again', callId, peer, ...approval }
  return {
    callId,
    outcome: { state: 'input_required', ran: 'no' },
    questions: urls.map(({ key, url, message }) => ({
      key,
      kind: 'url',
      text: message,
      form: url,
    })),
    continuation: sealed,
  }
}

function notOpened({ callId, peer }: Extract<Sealed, { kind: 'again' }>): CallReport {
  const detail = `${peer} wants an address opened before it goes on, and that was declined; nothing ran`
  return { callId, outcome: { state: 'failed', ran: 'no', code: 'peer_error', detail } }
}

function reportCall({ callId, outcome, approvalId }: Dispatched): CallReport {
  const native = 'native' in outcome ? outcome.native : undefined
  const sealed: Sealed | undefined =
    outcome.state === 'input_required'
      ? {
          kind: 'state',
          callId,
          handle: outcome.handle,
          ...(approvalId === undefined ? {} : { approvalId }),
        }
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

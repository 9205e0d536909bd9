/** The verbs that make new work: call, read, prompt, delegate. */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { NewCall } from '../../core/words/call.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { JsonText } from '../../core/words/native.ts'
import { LOCAL } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { jsonText, mcpNative } from '../../mcp/wire/native.ts'
import { MODERN_REVISION } from '../../mcp/wire/rev-2026-07-28.ts'
import { checkStrict } from '../../mcp/wire/strict.ts'
import { encodeJson, scanObject, setMembers } from '../../mcp/wire/spans.ts'
import { type AskingCalls, openLive, QUESTION_MS } from './asking.ts'
import {
  answerOf,
  continuationOf,
  notOpened,
  reportAsked,
  reportCall,
  reportUrls,
  type Sealed,
  takeOver,
} from './call-rounds.ts'
import { answerCall, followCall, taskOf } from './call-task.ts'
import { delegateTask } from './delegate.ts'
import type { CallInput, CallReport, Live, Operator } from './operator.ts'
import type { HostParts } from './parts.ts'

const DEFAULT_CALL_MS = 600_000
const DEFAULT_READ_MS = 120_000
const EMPTY = encodeJson({})

/** Rounds of questions in one call of an operator. */
const MAX_ROUNDS = 16

export function createCallVerbs(
  parts: HostParts,
): Pick<Operator, 'call' | 'read' | 'prompt' | 'delegate'> {
  const { asking } = parts
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
  if (sealed?.kind === 'again' && answers.some(({ action }) => action !== 'accept'))
    return notOpened(sealed)
  const route = await routeTo(parts, input.target, kind)
  if (route.kind === 'agent') {
    // An agent's work outlives a call: only a delegation has a task to follow it by.
    throw new ComityError('usage', `${route.peer} is an agent: comity delegate ${route.peer} "…"`)
  }
  const args = parseArguments(input.argumentsText)
  if (sealed?.kind === 'parked') {
    const waitMs = input.timeoutMs ?? DEFAULT_CALL_MS
    const report = (ended: Dispatched) => reportEnd(parts, ended, { route, args, waitMs, live })
    return takeOver(asking, sealed, answers, live, report)
  }
  const timeoutMs = input.timeoutMs ?? DEFAULT_CALL_MS
  if (sealed?.kind === 'task') return answerCall(parts, sealed, answers, timeoutMs, live)
  const params = setMembers(EMPTY, undefined, {
    name: encodeJson(route.exposed),
    arguments: args.bytes,
    _meta: encodeJson({ progressToken: 'cli' }),
  })
  const canAnswer = input.canAnswer === true
  const call: NewCall = {
    route,
    principal: LOCAL,
    operation: route.kind === 'prompt' ? 'prompt' : 'call',
    native: mcpNative(params, MODERN_REVISION),
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
    return reportNext(parts, running, { route, args, waitMs: timeoutMs, live })
  }
  try {
    const dispatched = await parts.dispatch(call, opened.exchange)
    const task = taskOf(dispatched)
    if (task !== undefined) return await followCall(parts, task, timeoutMs, live)
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
        native: { protocol: 'mcp', revision: MODERN_REVISION, ...args },
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

async function reportNext(
  parts: HostParts,
  call: ReturnType<AskingCalls['begin']>,
  of: Reported,
): Promise<CallReport> {
  const next = await call.next()
  return next.kind === 'asked'
    ? reportAsked(call, next.questions)
    : reportEnd(parts, next.dispatched, of)
}

/** How a call ended that its operator can be asked in: there may be addresses to open first. */
async function reportEnd(
  parts: HostParts,
  dispatched: Dispatched,
  { route, args, waitMs, live }: Reported,
): Promise<CallReport> {
  const task = taskOf(dispatched)
  if (task !== undefined) return followCall(parts, task, waitMs, live)
  return (
    reportUrls(dispatched, route.peer) ?? tellOperator(parts, route, args, reportCall(dispatched))
  )
}

/** What was called, and how long its end is waited for. */
interface Reported {
  readonly route: Route
  readonly args: JsonText
  readonly waitMs: number
  readonly live: Live
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
  return jsonText(bytes)
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

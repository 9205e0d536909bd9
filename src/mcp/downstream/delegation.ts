/**
 * Delegation as a tool: begins the work, waits a while with signs of life, then hands out the task.
 *
 * A modern caller that leaves before it was shown the task cancels the work; once shown, leaving ends the waiting only.
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { NewCall } from '../../core/words/call.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Answer as QuestionAnswer } from '../../core/words/question.ts'
import type { Route } from '../../core/words/route.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { encodeJson, setMembers } from '../wire/spans.ts'
import type { Answer } from './answer.ts'
import { answerTask } from './answer-task.ts'
import { openEnvelope } from './envelope.ts'
import { encodeProgress, openExchange, type OpenExchange } from './exchange.ts'
import type { Delegation, Door } from './options.ts'
import { answerOutcome, OUTCOME_META, outcomeMeta, quote, readableAnswer } from './outcome.ts'
import { createCall } from './new-call.ts'
import { answersFor, askable, askByRound, askLive, showTask, type Shown } from './show-task.ts'
import { renderTask } from './task-view.ts'
import { handOut, unknownTask } from './tasks.ts'
import { stopReasonOf, type Visit } from './visit.ts'

/** `tools/call` of `delegate_<agent>`. */
export async function delegateTool(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  route: Route,
  args: JsonText,
): Promise<Answer> {
  const earlier = openEnvelope(door, visit, route.exposed)
  if (earlier !== undefined) {
    if (earlier.kind !== 'round') return earlier
    const { sealed, answers, round } = earlier
    const shown = { door, delegation, visit, exposed: route.exposed, round }
    if (sealed.kind === 'task') return resumeTask(shown, sealed.taskId, answers)
  }
  const call = delegationCall(door, visit, route, args)
  const opened = openExchange(visit, call.deadlineAt - door.clock.now(), door.deadlines)
  const begun = await delegation.delegate(call, opened.exchange).catch((fault: unknown) => {
    opened.close()
    throw fault
  })
  // The reply outlives the waiting: its faults are reported, and the exchange ends with it, not with the caller.
  void begun.reply.catch(door.report).finally(() => opened.close())
  if (begun.task === undefined) return answerOutcome(visit, await begun.reply)
  if (visit.era === 'modern' && visit.can.tasks === 'own') {
    opened.detach()
    return handOut(door, begun.task)
  }
  const shown = { door, delegation, visit, exposed: route.exposed, round: 0 }
  return awaitEnd(shown, begun.task, { reply: begun.reply, opened })
}

/** A delegation as dispatch takes it. */
export function delegationCall(door: Door, visit: Visit, route: Route, args: JsonText): NewCall {
  const value = args.value()
  const contextId = isObject(value) ? value['contextId'] : undefined
  return {
    ...createCall(door, visit, route, 'delegate', args),
    ...(typeof contextId === 'string' && contextId !== '' ? { contextId } : {}),
  }
}

/** What is still on its way from the agent when a wait begins. */
interface Underway {
  readonly reply: Promise<Dispatched>
  readonly opened: OpenExchange
}

/** Waits for a task with the one in whose call it is; what it asks is asked of that caller where it can be. */
export async function awaitEnd(
  shown: Shown,
  task: TaskRecord,
  underway?: Underway,
): Promise<Answer> {
  const { door, delegation, visit } = shown
  const record = await waitFor(door, delegation, visit, task, underway)
  if ('kind' in record) return record
  const questions = askable(shown, record)
  if (questions === undefined) return showTask(shown, record)
  if (visit.era === 'modern') return askByRound(shown, record, questions)
  return answerAndAwait(shown, record, await askLive(shown, record, questions))
}

/** Goes on with a task by answers to what it asked. */
export async function answerAndAwait(
  shown: Shown,
  task: TaskRecord,
  answers: readonly QuestionAnswer[],
): Promise<Answer> {
  const { door, delegation, visit, round } = shown
  if (answers.length === 0) return showTask(shown, task)
  const answered = await answerTask(door, delegation, visit, task.id, answers)
  if (answered === undefined || 'kind' in answered) return answered ?? unknownTask(task.id)
  return awaitEnd({ ...shown, round: round + 1 }, answered)
}

/** The retry of a caller that was asked what a task asks. */
export async function resumeTask(
  shown: Shown,
  taskId: string,
  answers: readonly QuestionAnswer[],
): Promise<Answer> {
  const task = await shown.delegation.desk.load(taskId, shown.visit.principal)
  if (task === undefined) return unknownTask(taskId)
  const given = answersFor(task, answers)
  return given.length === 0 ? awaitEnd(shown, task) : answerAndAwait(shown, task, given)
}

/** Waits for a task to end or to ask, at most as long as the door allows, and shows it with its handle. */
export async function awaitTask(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
): Promise<Answer> {
  const record = await waitFor(door, delegation, visit, task)
  return 'kind' in record ? record : renderTask(delegation, visit, record)
}

async function waitFor(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
  underway?: Underway,
): Promise<TaskRecord | Answer> {
  const wait = openWait(door, visit, task, underway?.opened)
  try {
    const first =
      underway === undefined ? undefined : await Promise.race([underway.reply, wait.ended])
    if (first !== undefined && first !== 'ended') {
      const told = answerReply(visit, first, task)
      if (told !== undefined) return told
    }
    const record = await delegation.desk.wait(task.id, visit.principal, wait.signal, wait.seen)
    if (underway !== undefined && !wait.shown() && withdrew(visit)) {
      await cancelUnseen(delegation, visit, task, underway.reply)
    }
    return record ?? task
  } finally {
    wait.close()
  }
}

function withdrew({ caller }: Visit): boolean {
  return caller.signal.aborted && stopReasonOf(caller.signal) === 'caller_canceled'
}

/** Work that nobody was shown ends with its caller. A send still in flight was told by the exchange; what it began is asked to stop. */
async function cancelUnseen(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
  reply: Promise<Dispatched>,
): Promise<void> {
  const { state } = (await reply).outcome
  if (state === 'working' || state === 'input_required' || state === 'auth_required') {
    await delegation.desk.cancel(task.id, visit.principal)
  }
}

/** A reply that ends it without a remote task: a direct answer, or nothing begun. Undefined when the task goes on. */
function answerReply(visit: Visit, reply: Dispatched, task: TaskRecord): Answer | undefined {
  const { outcome } = reply
  const meta = { ...outcomeMeta(reply), taskId: task.id }
  if (outcome.state === 'answered') {
    const contextId = outcome.contextId ?? reply.task?.contextId
    const facts = {
      taskId: task.id,
      agent: task.peer,
      state: 'answered',
      next: 'nobody',
      text: outcome.text,
      ...(contextId === undefined ? {} : { contextId }),
    }
    const content = [{ type: 'text', text: `Agent ${task.peer} answers: ${quote(outcome.text)}` }]
    const own = { content, structuredContent: facts, _meta: { [OUTCOME_META]: meta } }
    if (outcome.native.protocol !== 'mcp') return { kind: 'result', bytes: encodeJson(own) }
    // Translated already: its content is the agent's message, the facts and our `_meta` are added.
    const translated = outcome.native.value()
    const theirs = isObject(translated) ? translated['structuredContent'] : undefined
    const bytes = setMembers(outcome.native.bytes, undefined, {
      structuredContent: encodeJson({ ...(isObject(theirs) ? theirs : {}), ...facts }),
      _meta: encodeJson(own._meta),
    })
    return { kind: 'result', bytes, revision: outcome.native.revision }
  }
  const nothingBegun =
    (outcome.state === 'failed' && outcome.ran === 'no') || outcome.state === 'unknown'
  if (!nothingBegun) return undefined
  const said = answerOutcome(visit, { ...reply, task: reply.task ?? task })
  return said.kind === 'result' ? said : readableAnswer(visit, said.message, meta)
}

interface Wait {
  /** Aborted when the waiting is over: time is up, or the caller left. */
  readonly signal: AbortSignal
  readonly ended: Promise<'ended'>
  readonly seen: (task: TaskRecord) => void
  /** The caller was told of the task. */
  readonly shown: () => boolean
  readonly close: () => void
}

function openWait(door: Door, visit: Visit, task: TaskRecord, opened?: OpenExchange): Wait {
  const { caller, meta } = visit
  const over = new AbortController()
  const end = (): void => over.abort()
  const timer = setTimeout(end, door.limits.delegationWaitMs)
  if (caller.signal.aborted) end()
  else caller.signal.addEventListener('abort', end, { once: true })

  let count = 0
  let latest = task
  let said = ''
  const tell = (): void => {
    if (meta.progressToken === undefined || over.signal.aborted || caller.gone.aborted) return
    count += 1
    const words =
      latest.theirWords === undefined ? '' : `: ${quote(latest.theirWords.slice(0, 200))}`
    const message = `task ${latest.id} at ${latest.peer}, ${latest.state}${words}`
    said = `${latest.state} ${latest.theirWords ?? ''}`
    // Signs of life are not worth waiting for: a slow reader gets fewer, not later ones.
    void Promise.resolve(caller.notify(encodeProgress(meta.progressToken, count, message))).catch(
      door.report,
    )
    opened?.detach()
  }
  const heartbeat = setInterval(tell, door.limits.heartbeatMs)
  tell()
  return {
    signal: over.signal,
    ended: new Promise((resolve) => {
      if (over.signal.aborted) resolve('ended')
      else over.signal.addEventListener('abort', () => resolve('ended'), { once: true })
    }),
    seen: (next) => {
      latest = next
      if (`${next.state} ${next.theirWords ?? ''}` !== said) tell()
    },
    shown: () => count > 0,
    close: () => {
      clearTimeout(timer)
      clearInterval(heartbeat)
      caller.signal.removeEventListener('abort', end)
      // The handle is on its way to the caller: from here on nothing the caller does on this request cancels.
      if (!caller.signal.aborted) opened?.detach()
    },
  }
}

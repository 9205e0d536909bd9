/** The verb that gives an agent a task. The send goes on when the one who asked for it leaves; so does the work. */
import { jsonTextOf } from '../../bridge/native-text.ts'
import { messageOf } from '../../bridge/skill-as-tool.ts'
import type { Exchange } from '../../core/ports/upstream.ts'
import { ComityError } from '../../core/words/errors.ts'
import { LOCAL } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import type { DelegateReport, Live, Operator } from './operator.ts'
import type { HostParts } from './parts.ts'
import { reportOutcome } from './reports.ts'
import { raced, waitForTask } from './waits.ts'

/** The least that the answer to the send may take, milliseconds. */
const SEND_MS = 600_000

/** Returns as soon as the task is on record, or after the wait that was asked for. */
export async function delegateTask(
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
      deadlineAt: begunAt + Math.max(waitMs ?? 0, SEND_MS),
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

/** A delegation is not canceled by hanging up. */
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

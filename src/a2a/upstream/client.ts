/**
 * An A2A agent as core's Upstream port: one send a call, and the work that outlives it.
 *
 * Refused before anything leaves where the card, the gate's fingerprint or the message do not hold.
 * From the first byte on, silence is `unknown`. The caller's leaving never cancels the agent's work.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Exchange, Upstream, WireFacts, Work } from '../../core/ports/upstream.ts'
import type { Clock } from '../../core/ports/world.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { type Outcome, refused } from '../../core/words/outcome.ts'
import { isTerminal } from '../wire/rev-1-0.ts'
import { cancelTask } from './cancel.ts'
import { outcomeOfNoCard } from './failure.ts'
import { FIND_OPTIONS, type FindOptions, findTask } from './find.ts'
import { type FirstSend, outcomeOfSnapshot, sendMessage, sendStreaming } from './first-send.ts'
import { followTask } from './follow.ts'
import { openHandle, type TaskRef } from './handle.ts'
import type { AgentLink, Connect } from './link.ts'
import { answerParams, delegationParams, messageIdOf } from './message.ts'
import type { OpenStreams } from './open-streams.ts'
import { newsOfSnapshot, readTask, type Snapshot } from './read-task.ts'
import { FOLLOW_OPTIONS, type FollowOptions } from './watch.ts'

/** What the adapter of one agent needs. */
export interface UpstreamDeps {
  readonly connect: Connect
  readonly streams: OpenStreams
  readonly clock: Clock
  /** Steps that failed without failing anything, for whoever watches. */
  note(taskId: string, what: string): void
}

/** How patient the adapter is. */
export interface UpstreamOptions {
  readonly follow?: Partial<FollowOptions>
  readonly find?: Partial<FindOptions>
  /** Milliseconds for one request of a cancellation. Default 10 s. */
  readonly cancelTimeoutMs?: number
  /** How long an answered task may still show its question, milliseconds. Default 10 s. */
  readonly settleMs?: number
}

type Dispatched = (facts: WireFacts) => void

/** Makes the Upstream of one agent. */
export function createA2aUpstream(deps: UpstreamDeps, options: UpstreamOptions = {}): Upstream {
  const follow: FollowOptions = { ...FOLLOW_OPTIONS, ...options.follow }
  const limits = follow.limits === undefined ? {} : { limits: follow.limits }
  const reach = async (signal: AbortSignal): Promise<AgentLink> => {
    const link = await deps.connect(signal)
    if (link.kind !== 'link') throw new Error(link.detail)
    return link
  }

  const work: Work = {
    follow: (handle, after, signal) => followTask(deps, openHandle(handle), after, follow, signal),

    async inspect(handle, signal) {
      const read = await readTask(await reach(signal), openHandle(handle), {
        signal,
        timeoutMs: follow.readTimeoutMs,
        ...limits,
      })
      if (read.kind !== 'task') throw new Error(read.detail)
      return newsOfSnapshot(read.snapshot)
    },

    answer: (call, exchange, dispatched) =>
      sendAnswer(deps, call, exchange, dispatched, {
        follow,
        settleMs: options.settleMs ?? 10_000,
      }),

    async cancel(handle, signal) {
      const link = await deps.connect(signal)
      if (link.kind !== 'link') {
        return { confirmed: 'unconfirmed', detail: `the agent was not told: ${link.detail}` }
      }
      const timeoutMs = options.cancelTimeoutMs ?? 10_000
      return cancelTask(link, openHandle(handle), { timeoutMs }, signal)
    },

    async find(callId, sentAt, signal) {
      const link = await reach(signal)
      return findTask(link, callId, sentAt, { ...FIND_OPTIONS, ...limits, ...options.find }, signal)
    },
  }

  return {
    call: (call, exchange, dispatched) => sendFirst(deps, call, exchange, dispatched, limits),
    work,
  }
}

async function sendFirst(
  deps: UpstreamDeps,
  call: OutboundCall,
  exchange: Exchange,
  dispatched: Dispatched,
  limits: Pick<FollowOptions, 'limits'>,
): Promise<Outcome> {
  const link = await connectFor(deps, call, exchange)
  if ('state' in link) return link
  const message = delegationParams(call, link.tenant)
  if ('refused' in message) return message.refused
  const streaming = link.capabilities.streaming === true
  const send = prepare(deps, link, call, exchange, dispatched, {
    params: message.params,
    method: streaming ? 'SendStreamingMessage' : 'SendMessage',
    ...limits,
  })
  if (streaming) return sendStreaming(send, deps.streams)
  const reply = await sendMessage(send, {})
  return reply.kind === 'outcome' ? reply.outcome : outcomeOfSnapshot(reply.snapshot)
}

async function sendAnswer(
  deps: UpstreamDeps,
  call: OutboundCall,
  exchange: Exchange,
  dispatched: Dispatched,
  how: { readonly follow: FollowOptions; readonly settleMs: number },
): Promise<Outcome> {
  const { continuation } = call
  if (continuation === undefined) {
    return refused('validation', 'bad_arguments', 'an answer needs the task it belongs to')
  }
  const link = await connectFor(deps, call, exchange)
  if ('state' in link) return link
  const ref = openHandle(continuation.handle)
  const send = prepare(deps, link, call, exchange, dispatched, {
    params: answerParams(call.callId, ref, continuation.answers),
    method: 'SendMessage',
    ...(how.follow.limits === undefined ? {} : { limits: how.follow.limits }),
  })
  const reply = await sendMessage(send, ref)
  // A Message in reply is taken as it came; the follower then reads the task.
  if (reply.kind === 'outcome') return reply.outcome
  const keys = continuation.answers.map((answer) => answer.key)
  return settle(deps, { link, ref, keys, exchange, ...how }, reply.snapshot)
}

/**
 * The reply to an answer is consumed; now the task itself is read, as the authoritative form. A task
 * that still shows the answered question is read again for a while: the agent may not have moved yet.
 */
async function settle(
  deps: UpstreamDeps,
  on: {
    readonly link: AgentLink
    readonly ref: TaskRef
    readonly keys: readonly string[]
    readonly exchange: Exchange
    readonly follow: FollowOptions
    readonly settleMs: number
  },
  reply: Snapshot,
): Promise<Outcome> {
  const { signal } = on.exchange
  const until = deps.clock.now() + on.settleMs
  let outcome = outcomeOfSnapshot(reply)
  let pauseMs = 100
  while (true) {
    const read = await readTask(on.link, on.ref, {
      signal,
      timeoutMs: on.follow.readTimeoutMs,
      ...(on.follow.limits === undefined ? {} : { limits: on.follow.limits }),
    })
    if (read.kind !== 'task') {
      if (!signal.aborted) deps.note(on.ref.taskId, read.detail)
      return outcome
    }
    outcome = outcomeOfSnapshot(withArtifactsOf(read.snapshot, reply))
    const asksAgain =
      outcome.state === 'input_required' &&
      outcome.questions.every((question) => on.keys.includes(question.key))
    if (!asksAgain || signal.aborted || deps.clock.now() >= until) return outcome
    await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 2, 1000)
  }
}

/** What only the reply brought is kept beside what the task shows. */
function withArtifactsOf(snapshot: Snapshot, reply: Snapshot): Snapshot {
  if (!isTerminal(snapshot.task.status.state)) return snapshot
  const shown = new Set(snapshot.artifacts.map((chunk) => chunk.artifactId))
  const extra = reply.artifacts.filter((chunk) => !shown.has(chunk.artifactId))
  return { ...snapshot, artifacts: [...snapshot.artifacts, ...extra] }
}

/** The link, when the call may go over it. */
async function connectFor(
  deps: UpstreamDeps,
  call: OutboundCall,
  exchange: Exchange,
): Promise<AgentLink | Outcome> {
  const leftMs = call.deadlineAt - deps.clock.now()
  if (leftMs <= 0) {
    return refused('transport', 'deadline_before_send', 'the deadline passed before it was sent')
  }
  const signal = AbortSignal.any([
    exchange.signal,
    AbortSignal.timeout(Math.min(leftMs, 0x7fffffff)),
  ])
  const link = await deps.connect(signal)
  if (link.kind !== 'link') return outcomeOfNoCard(link)
  if (link.fingerprint !== call.route.fingerprint) {
    const detail = `the card of ${call.route.peer} changed after it was looked at; nothing was sent, call again`
    return refused('policy', 'gate_changed', detail)
  }
  return link
}

function prepare(
  deps: UpstreamDeps,
  link: AgentLink,
  call: OutboundCall,
  exchange: Exchange,
  dispatched: Dispatched,
  what: Pick<FirstSend, 'params' | 'limits'> & { readonly method: string },
): FirstSend {
  const wireId = link.wireId()
  const { params, method, ...limits } = what
  const ours = { binding: 'JSONRPC', method, messageId: messageIdOf(call.callId) }
  return {
    link,
    params,
    wireId,
    exchange,
    timeoutMs: Math.min(Math.max(1, call.deadlineAt - deps.clock.now()), 0x7fffffff),
    ...limits,
    onSending: () => dispatched({ wireId, revision: '1.0', ours, theirs: link.capabilities }),
  }
}

/**
 * One call on its way to an MCP server: what is known of it while it runs, and its send on one connection.
 *
 * Which connection that is, and whether the call may go out on it, was decided before.
 */
import type { Exchange, WireFacts } from '../../core/ports/upstream.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { Change } from '../wire/changed-object.ts'
import { paramHeaderValues, type ParamHeader } from '../wire/headers.ts'
import type { RpcError, RpcNotification, RpcResult } from '../wire/json-rpc.ts'
import { MODERN_ONLY_CODES, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { OpenCall } from './asks.ts'
import type { DeprecatedUses } from './deprecated.ts'
import { createEventQueue, type EventQueue } from './events.ts'
import type { PeerFacts } from './facts.ts'
import { speaksOfSessions } from './http-status.ts'
import { legacyTaskOf } from './legacy-task-terms.ts'
import { LinkFailure, type AnswerRequest, type LinkRequest } from './link.ts'
import type { Offer } from './offer.ts'
import { judgeAnswer, type Asked } from './outcome.ts'
import { type CallMethod, encodeRequest, readParams, type Params } from './request.ts'
import type { Begun, Session } from './session.ts'
import type { CallStop } from './stop.ts'
import type { Terms } from './terms.ts'

/** Who sends. */
export interface SendWorld {
  readonly peer: string
  /**
   * The server does not speak what the session agreed on any more, or so it seems.
   *
   * @param sure whether it said so.
   */
  onOtherRevision(session: Session, sure: boolean): void
  /** A list of the server is not the present one. @source MCP 2026-07-28, `x-mcp-header` */
  onOtherOffer(): void
  /** What the server was seen to use. */
  readonly deprecated: DeprecatedUses
  /** Told of each event that its caller was too slow for. */
  onDropped(): void
}

export interface CallDeps {
  readonly call: OutboundCall
  readonly method: CallMethod
  readonly exchange: Exchange
  readonly stop: CallStop
  readonly dispatched: (facts: WireFacts) => void
  readonly late: ((outcome: Outcome) => void) | undefined
}

/** A call on its way: from being placed to its outcome, however often it is sent anew before anything left. */
export class PeerCall implements OpenCall {
  readonly call: OutboundCall
  readonly method: CallMethod
  readonly exchange: Exchange
  readonly stop: CallStop
  readonly late: CallDeps['late']
  /** It may have effects, as far as the peer's own word is believed. */
  readonly act: boolean
  readonly #dispatched: CallDeps['dispatched']
  readonly #onDropped: () => void
  readonly #deprecated: DeprecatedUses
  /** Made for the first event: most calls have none. */
  #events: EventQueue | undefined
  #params: Params | undefined
  #wasSent = false
  #hasEnded = false

  constructor(world: SendWorld, { call, method, exchange, stop, dispatched, late }: CallDeps) {
    this.call = call
    this.method = method
    this.exchange = exchange
    this.stop = stop
    this.late = late
    this.act = isAct(call)
    this.#dispatched = dispatched
    this.#onDropped = world.onDropped
    this.#deprecated = world.deprecated
  }

  get principal(): string {
    return this.call.principal.id
  }

  get where(): string {
    return this.call.route.capability
  }

  /** @throws JsonFault when the caller's params are unsound. */
  get params(): Params {
    return (this.#params ??= readParams(this.call))
  }

  /** Whether bytes of it may have left. */
  get wasSent(): boolean {
    return this.#wasSent
  }

  hold(): () => void {
    return this.stop.hold()
  }

  /** Bytes are about to leave: told once, however often it is sent. */
  leaves(facts: WireFacts): void {
    if (this.#wasSent) return
    this.#wasSent = true
    this.#dispatched(facts)
  }

  tell(notification: RpcNotification, revision: string): Promise<void> | undefined {
    if (notification.method === 'notifications/message')
      this.#deprecated.note('logging', this.where)
    if (this.#hasEnded) return undefined
    this.#events ??= createEventQueue(this.exchange, this.#onDropped)
    return this.#events.push(notification, revision)
  }

  /** None of its events comes after it. @returns what to wait for until all are told. */
  end(): Promise<void> | undefined {
    this.#hasEnded = true
    return this.#events?.close(this.stop)
  }
}

/** Whether it may have effects, as far as the peer's own word is believed. */
function isAct({ operation, route }: OutboundCall): boolean {
  if (operation === 'read' || operation === 'prompt') return false
  return !(route.trusted && route.hints.readOnly === true)
}

/** Sends it on one connection, if it may go out there, and waits for the outcome. @throws LinkFailure, JsonFault */
export async function sendCall(
  world: SendWorld,
  session: Session,
  offer: Offer,
  call: PeerCall,
): Promise<Outcome> {
  const { facts, link } = session
  const judged = offer.refusal(session, call.call, call.stop)
  const refusal = judged instanceof Promise ? await judged : judged
  if (refusal !== undefined) return refusal
  const annotated = offer.paramHeaders(call.call.route.capability)
  const task = facts.era === 'legacy' ? legacyTaskOf(world.peer, call, offer) : undefined
  if (task !== undefined && 'state' in task) return task
  const begun = session.begin(call, call.params.logLevel)
  try {
    if (begun.ready !== undefined) await begun.ready
    const terms = session.termsOf(call.exchange.can)
    const asked = {
      peer: world.peer,
      facts,
      can: terms.can,
      act: call.act,
      taskFor: mayBeTask(call, terms) ? call.principal : undefined,
      isLegacyTask: task !== undefined,
    }
    const onLate = lateOf(call, asked)
    const send = new CallSend(link.nextId(), call, terms, begun, annotated, onLate, task)
    const answer = await link.request(send)
    if (answer.kind === 'error') noticeError(world, session, offer, answer)
    const outcome = judgeAnswer(answer, asked)
    // A completed call of the modern era can show nothing old.
    if (facts.era === 'legacy' || outcome.state !== 'completed')
      world.deprecated.answer(answer, outcome, {
        where: call.where,
        isSession: facts.era === 'legacy',
        features: link.uses?.() ?? [],
      })
    return outcome
  } catch (error) {
    if (facts.era === 'modern' && isForeign(error)) world.onOtherRevision(session, false)
    throw error
  } finally {
    begun.end()
  }
}

/** Its answer may be a task: that was declared, and it is a call of a tool. */
function mayBeTask({ call, method }: PeerCall, { can }: Terms): boolean {
  return can.tasks !== undefined && method.method === 'tools/call' && call.operation === 'call'
}

/** The request of one send. */
class CallSend implements LinkRequest {
  readonly id: number
  readonly method: string
  readonly name: string
  readonly message: Uint8Array
  readonly followRedirect = false
  readonly signal: CallStop
  readonly paramHeaders: Readonly<Record<string, string>> | undefined
  readonly onRequest: AnswerRequest | undefined
  readonly onLate: ((answered: RpcResult | RpcError) => void) | undefined
  readonly #call: PeerCall
  readonly #terms: Terms

  constructor(
    id: number,
    call: PeerCall,
    terms: Terms,
    begun: Begun,
    annotated: readonly ParamHeader[] | undefined,
    onLate: CallSend['onLate'],
    task: Change | undefined,
  ) {
    const { params, method } = call
    this.id = id
    this.method = method.method
    this.name = call.call.route.capability
    this.message = encodeRequest(id, call.call, method, terms, params, task)
    this.signal = call.stop
    this.paramHeaders =
      annotated === undefined || method.method !== 'tools/call'
        ? undefined
        : paramHeaderValues(annotated, call.call.arguments.value())
    this.onRequest = begun.onRequest
    this.onLate = onLate
    this.#call = call
    this.#terms = terms
  }

  get caller(): this {
    return this
  }

  get principal(): string {
    return this.#call.principal
  }

  get wantsLogs(): boolean {
    return this.#call.params.logLevel !== undefined
  }

  onSend(): void {
    const { facts, ours } = this.#terms
    this.signal.alive()
    this.#call.leaves({
      wireId: String(this.id),
      revision: facts.revision,
      ours,
      theirs: facts.capabilities,
    })
  }

  onNotification(notification: RpcNotification): Promise<void> | undefined {
    this.signal.alive()
    return this.#call.tell(notification, this.#terms.facts.revision)
  }
}

/** Holds nothing of the call but whom to tell. */
function lateOf({ late }: PeerCall, asked: Asked): CallSend['onLate'] {
  return late === undefined ? undefined : (answered) => late(judgeAnswer(answered, asked))
}

/** What an error says of more than its call. */
function noticeError(world: SendWorld, session: Session, offer: Offer, answer: RpcError): void {
  const { facts } = session
  // The tool asks for other headers than its definition did: that is not the present one.
  if (answer.code === RPC_ERRORS.headerMismatch) {
    offer.outdate()
    world.onOtherOffer()
  }
  if (saysOtherRevision(answer, facts)) world.onOtherRevision(session, true)
  else if (facts.era === 'modern' && speaksOfSessions(answer)) {
    world.onOtherRevision(session, false)
  }
}

/** It was refused before any work, and what the connection agreed on does not hold. */
function saysOtherRevision(answer: RpcError, { era }: PeerFacts): boolean {
  if (era === 'legacy') return MODERN_ONLY_CODES.has(answer.code)
  return answer.code === RPC_ERRORS.unsupportedProtocolVersion
}

/** The status of a server to which the message meant nothing: it was replaced, or something stands before it. */
function isForeign(error: unknown): boolean {
  return error instanceof LinkFailure && [400, 404, 405].includes(error.status ?? 0)
}

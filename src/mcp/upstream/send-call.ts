/**
 * The one send of a call on one connection: its request, what comes back meanwhile, its outcome.
 *
 * Which connection that is, and whether the call may go out on it, was decided before.
 */
import type { Exchange, WireFacts } from '../../core/ports/upstream.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { MODERN_ONLY_CODES, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { paramHeaderValues, type ParamHeader } from '../wire/headers.ts'
import type { MayAsk } from './asks.ts'
import { declareFor, narrow } from './declare.ts'
import type { EventQueue } from './events.ts'
import type { PeerFacts } from './facts.ts'
import { speaksOfSessions } from './http-status.ts'
import { LinkFailure } from './link.ts'
import { judgeAnswer } from './outcome.ts'
import { buildRequest, type CallMethod, readWishes, type Wishes } from './request.ts'
import type { Begun, Session } from './session.ts'
import type { Stop } from './stop.ts'

/** A call on its way. */
export interface Sending {
  readonly call: OutboundCall
  readonly method: CallMethod
  readonly exchange: Exchange
  readonly events: EventQueue
  readonly stop: Stop
  readonly dispatched: (facts: WireFacts) => void
  readonly late: ((outcome: Outcome) => void) | undefined
}

export interface SendWorld {
  readonly peer: string
  readonly may: MayAsk
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /**
   * The server does not speak what the session agreed on any more, or so it seems.
   *
   * @param sure whether it said so.
   */
  onOtherRevision(session: Session, sure: boolean): void
}

/** Whether it may have effects, as far as the peer's own word is believed. */
export function isAct({ operation, route }: OutboundCall): boolean {
  if (operation === 'read' || operation === 'prompt') return false
  return !(route.trusted && route.hints.readOnly === true)
}

/** Sends it and waits for the outcome. @throws LinkFailure, JsonFault */
export async function sendCall(
  world: SendWorld,
  session: Session,
  sending: Sending,
  annotated: readonly ParamHeader[] | undefined,
): Promise<Outcome> {
  const { call, exchange, stop } = sending
  const wishes = readWishes(call.native.bytes)
  const begun = session.begin(
    { principal: call.principal.id, exchange, hold: () => stop.hold() },
    wishes.logLevel,
  )
  try {
    if (begun.ready !== undefined) await begun.ready
    return await requestCall(world, session, sending, {
      begun,
      wishes,
      annotated,
    })
  } finally {
    begun.end()
  }
}

async function requestCall(
  world: SendWorld,
  session: Session,
  { call, method, exchange, events, stop, dispatched, late }: Sending,
  more: {
    readonly begun: Begun
    readonly wishes: Wishes
    readonly annotated: readonly ParamHeader[] | undefined
  },
): Promise<Outcome> {
  const { link, facts } = session
  const { peer, may, clientInfo } = world
  const id = link.nextId()
  const can = narrow(exchange.can, may)
  const ours = facts.era === 'modern' ? declareFor(can, may) : session.declared
  const asked = { peer, facts, can, act: isAct(call) }
  const params = buildRequest(
    call,
    method,
    facts,
    ours,
    clientInfo,
    more.wishes.progress ? id : undefined,
  )
  const request = link.request({
    id,
    method: method.method,
    params,
    name: call.route.capability,
    followRedirect: false,
    ...(more.annotated === undefined || method.method !== 'tools/call'
      ? {}
      : { paramHeaders: paramHeaderValues(more.annotated, call.arguments.value()) }),
    signal: stop.signal,
    caller: {
      principal: call.principal.id,
      wantsLogs: more.wishes.logLevel !== undefined,
    },
    onSend: () => {
      const { revision, capabilities } = facts
      stop.alive()
      dispatched({ wireId: String(id), revision, ours, theirs: capabilities })
    },
    onNotification(notification) {
      stop.alive()
      return events.push(notification, facts.revision)
    },
    ...(more.begun.onRequest === undefined ? {} : { onRequest: more.begun.onRequest }),
    ...(late === undefined ? {} : { onLate: (answered) => late(judgeAnswer(answered, asked)) }),
  })
  const answer = await request.catch((error: unknown) => {
    if (facts.era === 'modern' && isForeign(error)) world.onOtherRevision(session, false)
    throw error
  })
  if (saysOtherRevision(answer, facts)) world.onOtherRevision(session, true)
  else if (facts.era === 'modern' && answer.kind === 'error' && speaksOfSessions(answer)) {
    world.onOtherRevision(session, false)
  }
  return judgeAnswer(answer, asked)
}

/** It was refused before any work, and what the connection agreed on does not hold. */
function saysOtherRevision(answer: RpcResult | RpcError, { era }: PeerFacts): boolean {
  if (answer.kind !== 'error') return false
  if (era === 'legacy') return MODERN_ONLY_CODES.has(answer.code)
  return answer.code === RPC_ERRORS.unsupportedProtocolVersion
}

/** The status of a server to which the message meant nothing: it was replaced, or something stands before it. */
function isForeign(error: unknown): boolean {
  return error instanceof LinkFailure && [400, 404, 405].includes(error.status ?? 0)
}

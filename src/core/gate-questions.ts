/**
 * Questions from a peer in mid-call: each passes the gate as a capability of that peer, and its answer is on record before
 * it leaves.
 *
 * What the rules forbid is not declared to the peer in the first place; one that asks all the same is told that nobody was asked.
 */
import type { PolicyCheck } from './ports/checks.ts'
import type { Ledger } from './ports/ledger.ts'
import type { CallEvent, Exchange, Stopping, StopReason } from './ports/upstream.ts'
import type { OutboundCall } from './words/call.ts'
import type { Answer, CallerCan, Question, QuestionKind } from './words/question.ts'

export interface QuestionPorts {
  readonly policy: PolicyCheck
  readonly ledger: Ledger
  onFault(what: string, error: unknown): void
}

/** The exchange as the peer of this call gets it. */
export function gateQuestions(
  ports: QuestionPorts,
  call: OutboundCall,
  exchange: Exchange,
): Exchange {
  return new GatedExchange(ports, call, exchange)
}

/** What the rules say of questions is asked when somebody wants to know: most peers ask nothing. */
class GatedExchange implements Exchange {
  readonly #ports: QuestionPorts
  readonly #call: OutboundCall
  readonly #exchange: Exchange
  #can: CallerCan | undefined

  constructor(ports: QuestionPorts, call: OutboundCall, exchange: Exchange) {
    this.#ports = ports
    this.#call = call
    this.#exchange = exchange
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get stopping(): Stopping | undefined {
    return this.#exchange.stopping
  }

  get can(): CallerCan {
    this.#can ??= allowedOf(this.#ports, this.#call, this.#exchange.can)
    return this.#can
  }

  stopReason(): StopReason | undefined {
    return this.#exchange.stopReason()
  }

  stop(why: StopReason): void {
    this.#exchange.stop?.(why)
  }

  onGone(listener: () => void): void {
    this.#exchange.onGone?.(listener)
  }

  emit(event: CallEvent): void | Promise<void> {
    return this.#exchange.emit(event)
  }

  ask(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    return askOnRecord(this.#ports, this.#call, question, () => this.#pass(question, withdrawn))
  }

  async #pass(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    const { key, kind } = question
    const { can, ask } = this.#exchange
    if (ask === undefined || kind === 'text' || !can[kind])
      return { key, action: 'decline', unasked: 'caller' }
    if (!this.can[kind]) return { key, action: 'decline', unasked: 'rules' }
    return ask.call(this.#exchange, question, withdrawn)
  }
}

/** The caller's own word where no rule narrows it. */
function allowedOf(ports: QuestionPorts, call: OutboundCall, can: CallerCan): CallerCan {
  const form = can.form && isAllowed(ports, call, 'form')
  const url = can.url && isAllowed(ports, call, 'url')
  const sampling = can.sampling && isAllowed(ports, call, 'sampling')
  const roots = can.roots && isAllowed(ports, call, 'roots')
  const isWhole =
    form === can.form && url === can.url && sampling === can.sampling && roots === can.roots
  return isWhole ? can : { ...can, form, url, sampling, roots }
}

function isAllowed(
  { policy }: QuestionPorts,
  { principal, route }: OutboundCall,
  kind: QuestionKind,
): boolean {
  // No approval can be waited for in mid-call: a rule that would ask for one does not let it through.
  return policy.decideQuestion(principal, route, kind).effect === 'allow'
}

async function askOnRecord(
  ports: QuestionPorts,
  { callId }: OutboundCall,
  question: Question,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const { key, kind } = question
  const attributed = question.attributed === true ? { attributed: true } : {}
  ports.ledger.note(callId, { kind: 'asked', facts: { key, kind, ...attributed } })
  const answer = await ask()
  const { action, unasked } = answer
  try {
    const facts = { key, kind, action, ...(unasked === undefined ? {} : { unasked }) }
    await ports.ledger.record(callId, { kind: 'answered', facts })
    return answer
  } catch (error) {
    // What cannot be put on record does not leave.
    ports.onFault(`the answer to a question of call ${callId} could not be put on record`, error)
    return { key, action: 'cancel' }
  }
}

/**
 * Questions from a peer in mid-call: each passes the gate as a capability of that peer, and its answer is on record before
 * it leaves.
 *
 * What the rules forbid is not declared to the peer in the first place; one that asks all the same is told that nobody was asked.
 */
import type { PolicyCheck } from './ports/checks.ts'
import type { Ledger } from './ports/ledger.ts'
import type { Exchange } from './ports/upstream.ts'
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
  const { can } = exchange
  const allowed: CallerCan = {
    ...can,
    form: can.form && isAllowed(ports, call, 'form'),
    url: can.url && isAllowed(ports, call, 'url'),
    sampling: can.sampling && isAllowed(ports, call, 'sampling'),
    roots: can.roots && isAllowed(ports, call, 'roots'),
  }
  const ask = async (question: Question, withdrawn: AbortSignal): Promise<Answer> => {
    const { key, kind } = question
    if (exchange.ask === undefined || kind === 'text' || !can[kind])
      return { key, action: 'decline', unasked: 'caller' }
    if (!allowed[kind]) return { key, action: 'decline', unasked: 'rules' }
    return exchange.ask(question, withdrawn)
  }
  return {
    ...exchange,
    can: allowed,
    ask: (question, withdrawn) =>
      askOnRecord(ports, call, question, () => ask(question, withdrawn)),
  }
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

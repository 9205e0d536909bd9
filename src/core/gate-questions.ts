/**
 * Questions from a peer in mid-call: each passes the gate as a capability of that peer, and its answer is on record before
 * it leaves.
 *
 * What the rules forbid is not declared to the peer in the first place; one that asks all the same is declined.
 */
import type { PolicyCheck } from './ports/checks.ts'
import type { Ledger } from './ports/ledger.ts'
import type { Exchange } from './ports/upstream.ts'
import type { OutboundCall } from './words/call.ts'
import type { Answer, CallerCan, Question } from './words/question.ts'

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
  if (!can.form && !can.url && !can.sampling && !can.roots) return withoutAsk(exchange)
  const allowed: CallerCan = {
    ...can,
    form: can.form && isAllowed(ports, call, 'form'),
    url: can.url && isAllowed(ports, call, 'url'),
    sampling: can.sampling && isAllowed(ports, call, 'sampling'),
    roots: can.roots && isAllowed(ports, call, 'roots'),
  }
  const ask = exchange.ask?.bind(exchange)
  return {
    ...exchange,
    can: allowed,
    ...(ask === undefined
      ? {}
      : {
          ask: (question, withdrawn) =>
            askOnRecord(ports, call, question, () =>
              question.kind !== 'text' && allowed[question.kind]
                ? ask(question, withdrawn)
                : undefined,
            ),
        }),
  }
}

function withoutAsk(exchange: Exchange): Exchange {
  if (exchange.ask === undefined) return exchange
  const { ask: _unused, ...rest } = exchange
  return rest
}

function isAllowed(
  { policy }: QuestionPorts,
  { principal, route }: OutboundCall,
  kind: Question['kind'],
): boolean {
  // No approval can be waited for in mid-call: a rule that would ask for one does not let it through.
  return policy.decideQuestion(principal, route, kind).effect === 'allow'
}

async function askOnRecord(
  ports: QuestionPorts,
  { callId }: OutboundCall,
  question: Question,
  ask: () => Promise<Answer> | undefined,
): Promise<Answer> {
  const { key, kind } = question
  const attributed = question.attributed === true ? { attributed: true } : {}
  ports.ledger.note(callId, { kind: 'asked', facts: { key, kind, ...attributed } })
  const asked = ask()
  const answer: Answer = asked === undefined ? { key, action: 'decline' } : await asked
  const refused = asked === undefined ? { refusedBy: 'rules or caller' } : {}
  try {
    const facts = { key, kind, action: answer.action, ...refused }
    await ports.ledger.record(callId, { kind: 'answered', facts })
    return answer
  } catch (error) {
    // What cannot be put on record does not leave.
    ports.onFault(`the answer to a question of call ${callId} could not be put on record`, error)
    return { key, action: 'cancel' }
  }
}

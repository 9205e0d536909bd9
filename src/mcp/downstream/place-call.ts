/**
 * Places one call: from a visit and a route to dispatch and back to an answer. The spine of tools, reads and prompts.
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Continuation, NewCall, Operation } from '../../core/words/call.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import { mcpNative } from '../wire/native.ts'
import { setMembers } from '../wire/spans.ts'
import type { Answer } from './answer.ts'
import { askCaller, openEnvelope, ROUND_MEMBERS } from './envelope.ts'
import { openExchange } from './exchange.ts'
import { linkedUris } from './links.ts'
import type { Door } from './options.ts'
import { answerOutcome } from './outcome.ts'
import { doorOf, type Visit } from './visit.ts'

/** @param args what policy and schema look at, already checked strictly. */
export async function placeCall(
  door: Door,
  visit: Visit,
  route: Route,
  operation: Operation,
  args: JsonText,
): Promise<Answer> {
  const earlier = openEnvelope(door, visit, route.exposed)
  if (earlier !== undefined && 'kind' in earlier) return earlier
  const call = createCall(door, visit, route, operation, args, earlier?.continuation)
  const opened = openExchange(visit, call.deadlineAt, door.clock.now())
  let dispatched: Dispatched
  try {
    dispatched = await door.ports.dispatch(call, opened.exchange)
  } finally {
    opened.close()
  }
  const { outcome } = dispatched
  if (outcome.state === 'input_required' || outcome.state === 'auth_required') {
    return askCaller(
      door,
      visit,
      { ...dispatched, outcome },
      route.exposed,
      (earlier?.round ?? 0) + 1,
    )
  }
  const answer = answerOutcome(visit, dispatched)
  reportLinks(door, visit, route, answer)
  return answer
}

/** The call as dispatch takes it. The caller's params travel but for what belongs to rounds of questions. */
export function createCall(
  door: Door,
  visit: Visit,
  route: Route,
  operation: Operation,
  args: JsonText,
  continuation?: Continuation,
): NewCall {
  const { meta } = visit
  const modern = visit.era === 'modern'
  const params = modern ? setMembers(visit.params, undefined, ROUND_MEMBERS) : visit.params
  return {
    route,
    principal: visit.principal,
    operation,
    native: mcpNative(params, visit.revision),
    arguments: args,
    door: doorOf(visit),
    requestId: visit.request.id.value,
    deadlineAt: door.clock.now() + door.limits.callMs,
    trace: meta.trace,
    ...(continuation === undefined ? {} : { continuation }),
    ...(meta.insist === undefined ? {} : { insist: meta.insist }),
    ...(meta.modelCallId === undefined ? {} : { modelCallId: meta.modelCallId }),
  }
}

function reportLinks(door: Door, visit: Visit, route: Route, answer: Answer): void {
  if (answer.kind !== 'result' || answer.revision === undefined) return
  const uris = linkedUris(answer.bytes)
  if (uris.length > 0) door.ports.catalogue.linked(visit.principal, route.peer, uris)
}

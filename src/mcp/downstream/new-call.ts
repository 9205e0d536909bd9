/**
 * The call as dispatch takes it, made from a visit: the caller's params travel but for what belongs to rounds of questions.
 */
import type { Continuation, Idempotency, NewCall, Operation } from '../../core/words/call.ts'
import type { JsonText, Native } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import { mcpNative } from '../wire/native.ts'
import { changeMembers } from '../wire/spans.ts'
import { dropUnsoundTrace } from '../wire/trace-context.ts'
import { ROUND_MEMBERS } from './envelope.ts'
import type { Door } from './options.ts'
import { doorOf, paramBytes, type Visit } from './visit.ts'

/** What only some calls have. */
interface CallParts {
  readonly continuation: Continuation | undefined
  readonly idempotency: Idempotency | undefined
  /** How much longer than others its caller waits. */
  readonly patientMs: number
}

const NO_PARTS: CallParts = { continuation: undefined, idempotency: undefined, patientMs: 0 }

/** The call as dispatch takes it. The caller's params travel but for what belongs to rounds of questions. */
export function createCall(
  door: Door,
  visit: Visit,
  route: Route,
  operation: Operation,
  args: JsonText,
  { continuation, idempotency, patientMs }: CallParts = NO_PARTS,
): NewCall {
  const { trace, insist, modelCallId } = visit.meta
  const call: { -readonly [Key in keyof NewCall]: NewCall[Key] } = {
    route,
    principal: visit.principal,
    operation,
    native: nativeFor(visit),
    arguments: args,
    door: doorOf(visit),
    requestId: visit.request.id.value,
    deadlineAt: door.clock.now() + door.limits.callMs + patientMs,
    trace,
  }
  if (continuation !== undefined) call.continuation = continuation
  if (idempotency !== undefined) call.idempotency = idempotency
  if (insist !== undefined) call.insist = insist
  if (modelCallId !== undefined) call.modelCallId = modelCallId
  if (operation === 'call' && door.ports.delegation !== undefined)
    call.taskTtlMs = door.limits.taskTtlMs
  return call
}

/** What goes on as it came was checked here, and need not be looked at again by whoever sends it. */
function nativeFor(visit: Visit): Native {
  const { members, params, revision } = visit
  const bytes = paramsFor(visit)
  return mcpNative(bytes, revision, bytes === params ? members : undefined)
}

/** What goes on of the caller's params: nothing of rounds, no trace value that is none. */
function paramsFor(visit: Visit): Uint8Array {
  const { era, members, meta, params } = visit
  const own = meta.hasUnsoundTrace === true ? paramBytes(visit, '_meta') : undefined
  if (own === undefined && (era === 'legacy' || !isOfRound(members))) return params
  return changeMembers(params, members, {
    ...(era === 'modern' ? ROUND_MEMBERS : {}),
    ...(own === undefined ? {} : { _meta: dropUnsoundTrace(own) }),
  })
}

function isOfRound(members: Visit['members']): boolean {
  for (const { key } of members) if (Object.hasOwn(ROUND_MEMBERS, key)) return true
  return false
}

/**
 * When a call goes out as a task of 2025-11-25: to a tool that demands it for whoever can bear one, to one that allows it only
 * for those who keep their tasks themselves.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks, capabilities and tool-level negotiation
 */
import { isObject } from '../../core/words/is-object.ts'
import { refused, type Failed } from '../../core/words/outcome.ts'
import type { Change } from '../wire/changed-object.ts'
import { LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { encodeJson, findMember, readString, scanObject, type Member } from '../wire/spans.ts'
import type { PeerFacts } from './facts.ts'
import type { Offer } from './offer.ts'
import type { PeerCall } from './send-call.ts'

/** What a tool says of being called as a task, where it says that it can be. */
export type TaskSupport = 'optional' | 'required'

/** How long a server is asked to keep a task whose owner named no time, milliseconds. */
const DEFAULT_TTL_MS = 86_400_000

/** Whether calls of tools may go to this server as tasks of this kind. */
export function declaresLegacyTasks({ era, revision, capabilities }: PeerFacts): boolean {
  if (era !== 'legacy' || revision !== LEGACY_REVISION) return false
  const requests = memberOf(capabilities['tasks'], 'requests')
  return isObject(memberOf(memberOf(requests, 'tools'), 'call'))
}

/** Whether its server can be told to stop a task. */
export function stopsLegacyTasks({ capabilities }: PeerFacts): boolean {
  return isObject(memberOf(capabilities['tasks'], 'cancel'))
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined
}

/** @param members of the tool's definition. */
export function readTaskSupport(
  definition: Uint8Array,
  members: readonly Member[],
): TaskSupport | undefined {
  const execution = findMember(members, 'execution')
  if (execution?.type !== 'object') return undefined
  const inner = scanObject(definition, execution.value, { validated: true })
  const support = findMember(inner, 'taskSupport')
  const text = support?.type === 'string' ? readString(definition, support.value) : undefined
  return text === 'optional' || text === 'required' ? text : undefined
}

/** @returns the `task` of its params; undefined when it goes out as any other call; the refusal when it cannot. */
export function legacyTaskOf(
  peer: string,
  { call, method, exchange }: PeerCall,
  offer: Offer,
): Change | Failed | undefined {
  if (method.method !== 'tools/call') return undefined
  const tool = call.route.capability
  const support = offer.taskSupport(tool)
  if (support === undefined) return undefined
  const { tasks } = exchange.can
  if (support === 'optional' && tasks !== 'own') return undefined
  if (tasks === undefined) {
    const what = `${peer}/${tool} can only be called as a task, and this caller takes none; nothing was sent. Call it by a session of ${LEGACY_REVISION}, or declare io.modelcontextprotocol/tasks`
    return refused('validation', 'unsupported', what)
  }
  return { key: 'task', value: encodeJson({ ttl: call.taskTtlMs ?? DEFAULT_TTL_MS }) }
}

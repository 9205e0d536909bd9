/**
 * Questions and answers in the form of 2026-07-28: input requests built from what a peer of a session revision asked, and
 * answers looked at before anything is done with them.
 *
 * What belonged to the peer's own hop stays behind: tokens, tasks, the ids of notices that this revision does not have.
 *
 * @source MCP 2026-07-28, basic, multi round-trip requests; client, elicitation, sampling, roots
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Native } from '../../core/words/native.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import {
  concat,
  encodeJson,
  findMember,
  readValue,
  scanObject,
  setMembers,
  sliceOf,
  type Member,
} from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { badParams, type ErrorAnswer } from './answer.ts'
import { paramBytes, type Visit } from './visit.ts'

/** Members of a request's params that mean something on the peer's hop only. */
const HOP_MEMBERS = { _meta: undefined, task: undefined, elicitationId: undefined } as const

/** One input request. @throws JsonFault for a question of which readers may disagree. */
export function encodeInputRequest({ native }: Question): Uint8Array {
  const members = scanObject(native.bytes)
  const method = findMember(members, 'method')
  const params = findMember(members, 'params')
  return setMembers(encodeJson({}), undefined, {
    ...(method === undefined ? {} : { method: sliceOf(native.bytes, method.value) }),
    ...(params?.type === 'object'
      ? { params: setMembers(sliceOf(native.bytes, params.value), undefined, HOP_MEMBERS) }
      : {}),
  })
}

/**
 * `inputResponses`, each with its whole object as it came.
 *
 * @throws JsonFault for answers that are no sound JSON.
 */
export function readAnswers(visit: Visit): { readonly list: readonly Answer[] } | ErrorAnswer {
  const bytes = paramBytes(visit, 'inputResponses')
  if (bytes === undefined) return { list: [] }
  checkStrict(bytes)
  if (!isObject(readValue(bytes))) return badParams('inputResponses must be an object')
  const members = scanObject(bytes, undefined, { validated: true })
  const odd = members.find((member) => member.type !== 'object')
  if (odd !== undefined) return badParams('every member of inputResponses must be an object')
  return { list: members.map((member) => readAnswer(bytes, member)) }
}

function readAnswer(bytes: Uint8Array, member: Member): Answer {
  const native = mcpNative(concat([sliceOf(bytes, member.value)]), MODERN_REVISION)
  const action = actionOf(native)
  const value = native.value()
  const content =
    isObject(value) && value['action'] === 'accept' && 'content' in value ? value['content'] : value
  return { key: member.key, action, native, data: content }
}

/** What an answer says was chosen; those of sampling and roots say it by being there. */
export function actionOf(answer: Native): Answer['action'] {
  const value = answer.value()
  const action = isObject(value) ? value['action'] : undefined
  return action === 'decline' || action === 'cancel' ? action : 'accept'
}

/** What is wrong with an answer to this kind of question; undefined when a peer can be given it. */
export function faultOfAnswer(kind: Question['kind'], answer: Answer): string | undefined {
  const value = answer.native?.value()
  if (!isObject(value)) return 'it must be an object'
  switch (kind) {
    case 'form':
    case 'url': {
      const action = value['action']
      if (action !== 'accept' && action !== 'decline' && action !== 'cancel')
        return 'its action must be accept, decline or cancel'
      const content = value['content']
      return content === undefined || isObject(content)
        ? undefined
        : 'its content must be an object'
    }
    case 'roots':
      return Array.isArray(value['roots']) ? undefined : 'its roots must be an array'
    case 'sampling': {
      const sound =
        typeof value['role'] === 'string' &&
        typeof value['model'] === 'string' &&
        value['content'] !== undefined
      return sound ? undefined : 'it must have role, content and model'
    }
    case 'text':
      return undefined
  }
}

/** Whether a request declared all that a question needs beyond its kind: tools within sampling are a capability of their own. @source MCP 2026-07-28, client, sampling */
export function bearsQuestion({ meta }: Visit, { kind, native }: Question): boolean {
  if (kind !== 'sampling') return true
  const request = native.value() as { readonly params?: Readonly<Record<string, unknown>> }
  if (request.params?.['tools'] === undefined && request.params?.['toolChoice'] === undefined)
    return true
  const sampling = meta.clientCapabilities?.['sampling']
  return isObject(sampling) && isObject(sampling['tools'])
}

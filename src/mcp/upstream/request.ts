/**
 * A call of core as a request of MCP: which method, and the caller's params with only what this hop
 * must change spliced in. Arguments and unknown members travel byte for byte.
 *
 * @source MCP 2026-07-28, server features; basic, _meta and multi round-trip requests.
 */
import type { Continuation, OutboundCall } from '../../core/words/call.ts'
import type { Change } from '../wire/changed-object.ts'
import { changedMeta, encodeCall, membersOfMeta, type ReadParams } from '../wire/codec.ts'
import { membersOf } from '../wire/native.ts'
import { MODERN_META, PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, readString, scanObject, setMembers } from '../wire/spans.ts'
import { answerBytes } from './questions.ts'
import type { Terms } from './terms.ts'

/** A method of MCP that core's operations map to. */
export interface CallMethod {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get'
  /** The member of params that names the capability. */
  readonly key: 'name' | 'uri'
}

/** The caller's own params, and what their `_meta` asks of the peer besides the result. */
export interface Params extends ReadParams {
  /** Progress nobody asked for would only cost the peer work. */
  readonly wantsProgress: boolean
  /** The least severe log message that is wanted; none when left out. */
  readonly logLevel: string | undefined
}

/** @returns undefined for operations that MCP servers do not have. */
export function methodOf(operation: OutboundCall['operation']): CallMethod | undefined {
  switch (operation) {
    case 'call':
      return { method: 'tools/call', key: 'name' }
    case 'read':
      return { method: 'resources/read', key: 'uri' }
    case 'prompt':
      return { method: 'prompts/get', key: 'name' }
    case 'delegate':
    case 'answer':
      return undefined
  }
}

/** Reads them once for all sends. @throws JsonFault when they are unsound: nothing is sent then. */
export function readParams({ native }: OutboundCall): Params {
  const members = membersOf(native) ?? scanObject(native.bytes)
  const metaMembers = membersOfMeta(native.bytes, members)
  const level = findMember(metaMembers, MODERN_META.logLevel)
  return {
    bytes: native.bytes,
    members,
    metaMembers,
    wantsProgress: findMember(metaMembers, PROGRESS_TOKEN) !== undefined,
    logLevel: level?.type === 'string' ? readString(native.bytes, level.value) : undefined,
  }
}

/**
 * Writes the whole request.
 *
 * Members that belong to a round trip or a task of the caller's own hop never pass: `inputResponses`
 * and `requestState` come from the continuation alone and go to modern peers alone, `task`
 * (2025-11-25) is this hop's own or none.
 *
 * @param id its number, which is its progress token too when the caller asked for progress.
 * @param task what `task` becomes.
 */
export function encodeRequest(
  id: number,
  call: OutboundCall,
  { method, key }: CallMethod,
  terms: Terms,
  params: Params,
  task: Change = NO_TASK,
): Uint8Array {
  const { continuation } = call
  const named = { key, value: JSON.stringify(call.route.capability) }
  const meta = changedMeta(params, terms.meta(params.wantsProgress ? id : undefined))
  const changes: readonly Change[] =
    continuation === undefined || terms.facts.era === 'legacy'
      ? [named, task, NO_RESPONSES, NO_STATE, meta]
      : [named, task, ...continued(continuation), meta]
  return encodeCall(id, method, params, changes)
}

const NO_TASK: Change = { key: 'task', value: undefined }
const NO_RESPONSES: Change = { key: 'inputResponses', value: undefined }
const NO_STATE: Change = { key: 'requestState', value: undefined }

/** A handle for a peer's `requestState`: its JSON text, or nothing when the peer gave none. */
export function sealState(state: string | undefined): string {
  return state ?? ''
}

function continued({ handle, answers }: Continuation): readonly Change[] {
  const responses = Object.fromEntries(answers.map((answer) => [answer.key, answerBytes(answer)]))
  return [
    answers.length === 0
      ? NO_RESPONSES
      : { key: 'inputResponses', value: setMembers(encodeJson({}), undefined, responses) },
    handle.sealed === ''
      ? NO_STATE
      : { key: 'requestState', value: Buffer.from(handle.sealed, 'utf8') },
  ]
}

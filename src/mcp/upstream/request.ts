/**
 * A call of core as a request of MCP: which method, and the caller's params with only what this hop
 * must change spliced in. Arguments and unknown members travel byte for byte.
 *
 * @source MCP 2026-07-28, server features; basic, _meta and multi round-trip requests.
 */
import type { OutboundCall } from '../../core/words/call.ts'
import { hopParams, type Hop } from '../wire/codec.ts'
import { MODERN_META, PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import {
  encodeJson,
  findMember,
  readString,
  scanObject,
  setMembers,
  type Changes,
} from '../wire/spans.ts'
import type { PeerFacts } from './facts.ts'
import { answerBytes } from './questions.ts'

/** A method of MCP that core's operations map to. */
export interface CallMethod {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get'
  /** The member of params that names the capability. */
  readonly key: 'name' | 'uri'
}

/** What the caller's own `_meta` asks of the peer. */
export interface Wishes {
  readonly progress: boolean
  /** The least severe log message that is wanted; none when left out. */
  readonly logLevel?: string
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

/**
 * Builds the params.
 *
 * Members that belong to a round trip or a task of the caller's own hop never pass: `inputResponses`
 * and `requestState` come from the continuation alone and go to modern peers alone, `task`
 * (2025-11-25) is dropped.
 *
 * @param ours declared to a modern peer in this request.
 * @param token the progress token, when the caller asked for progress.
 * @throws JsonFault when the caller's params are unsound.
 */
export function buildRequest(
  call: OutboundCall,
  { key }: CallMethod,
  facts: PeerFacts,
  ours: Readonly<Record<string, unknown>>,
  clientInfo: Uint8Array,
  token: number | undefined,
): Uint8Array {
  const progressToken = token === undefined ? {} : { progressToken: token }
  const modern = facts.era === 'modern'
  const hop: Hop = modern
    ? {
        era: 'modern',
        protocolVersion: facts.revision,
        clientCapabilities: encodeJson(ours),
        clientInfo,
        ...progressToken,
      }
    : { era: 'legacy', ...progressToken }
  const changes: Changes = {
    [key]: encodeJson(call.route.capability),
    task: undefined,
    inputResponses: undefined,
    requestState: undefined,
    ...(modern ? continued(call) : {}),
  }
  return hopParams(call.native.bytes, hop, changes)
}

/** A handle for a peer's `requestState`: its JSON text, or nothing when the peer gave none. */
export function sealState(state: string | undefined): string {
  return state ?? ''
}

function continued({ continuation }: OutboundCall): Changes {
  if (continuation === undefined) return {}
  const { handle, answers } = continuation
  const responses = Object.fromEntries(answers.map((answer) => [answer.key, answerBytes(answer)]))
  return {
    ...(answers.length === 0
      ? {}
      : { inputResponses: setMembers(encodeJson({}), undefined, responses) }),
    ...(handle.sealed === '' ? {} : { requestState: Buffer.from(handle.sealed, 'utf8') }),
  }
}

/** Reads what the caller wants besides the result. Progress nobody asked for would only cost the peer work. */
export function readWishes(params: Uint8Array): Wishes {
  // Not checked here: `buildRequest` refuses what is unsound before anything is sent.
  const unchecked = { validated: true, allowDuplicates: true }
  const meta = findMember(scanObject(params, undefined, unchecked), '_meta')
  if (meta?.type !== 'object') return { progress: false }
  const members = scanObject(params, meta.value, unchecked)
  const level = findMember(members, MODERN_META.logLevel)
  return {
    progress: findMember(members, PROGRESS_TOKEN) !== undefined,
    ...(level?.type === 'string' ? { logLevel: readString(params, level.value) } : {}),
  }
}

/**
 * A call of core as a request of MCP: which method, and the caller's params with only what this hop
 * must change spliced in. Arguments and unknown members travel byte for byte.
 *
 * @source MCP 2026-07-28, server features; basic, _meta and multi round-trip requests.
 */
import type { OutboundCall } from '../../core/words/call.ts'
import type { Answer, CallerCan } from '../../core/words/question.ts'
import { hopParams, type Hop } from '../wire/codec.ts'
import { PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, scanObject, setMembers, type Changes } from '../wire/spans.ts'
import type { PeerFacts } from './connect.ts'

/** A method of MCP that core's operations map to. */
export interface CallMethod {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get'
  /** The member of params that names the capability. */
  readonly key: 'name' | 'uri'
}

/** What a call becomes on the wire. */
export interface BuiltRequest {
  readonly params: Uint8Array
  /** Declared to the peer in this request; `{}` for a legacy peer, to which nothing is declared. */
  readonly ours: Readonly<Record<string, unknown>>
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
 * and `requestState` come from the continuation alone, `task` (2025-11-25) is dropped.
 *
 * @param id the wire id, also the progress token when the caller asked for progress.
 * @throws JsonFault when the caller's params are unsound.
 */
export function buildRequest(
  call: OutboundCall,
  { key }: CallMethod,
  facts: PeerFacts,
  can: CallerCan,
  clientInfo: Uint8Array,
  id: number,
): BuiltRequest {
  const from = call.native.bytes
  const ours = facts.era === 'modern' ? declared(can) : {}
  const token = wantsProgress(from) ? { progressToken: id } : {}
  const hop: Hop =
    facts.era === 'modern'
      ? {
          era: 'modern',
          protocolVersion: facts.revision,
          clientCapabilities: encodeJson(ours),
          clientInfo,
          ...token,
        }
      : { era: 'legacy', ...token }
  const changes: Changes = {
    [key]: encodeJson(call.route.capability),
    task: undefined,
    inputResponses: undefined,
    requestState: undefined,
    ...continued(call),
  }
  return { params: hopParams(from, hop, changes), ours }
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

/** The bare result object as the caller gave it, else one made from the plain form. */
function answerBytes({ native, action, data, text }: Answer): Uint8Array {
  if (native?.protocol === 'mcp') return native.bytes
  const content = data ?? (text === undefined ? undefined : { text })
  return encodeJson(action === 'accept' && content !== undefined ? { action, content } : { action })
}

function declared(can: CallerCan): Record<string, unknown> {
  const elicitation = { ...(can.form ? { form: {} } : {}), ...(can.url ? { url: {} } : {}) }
  return {
    ...(can.form || can.url ? { elicitation } : {}),
    ...(can.sampling ? { sampling: {} } : {}),
    ...(can.roots ? { roots: {} } : {}),
  }
}

/** Progress nobody asked for would only cost the peer work. */
function wantsProgress(params: Uint8Array): boolean {
  const meta = findMember(scanObject(params), '_meta')
  if (meta?.type !== 'object') return false
  return (
    findMember(scanObject(params, meta.value, { validated: true }), PROGRESS_TOKEN) !== undefined
  )
}

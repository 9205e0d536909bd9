/**
 * What changes on a message when it goes from one hop to the next, as splices: request metadata,
 * and the fields that only modern results have. All other bytes travel as they came.
 *
 * Which hop speaks which revision is decided by the doors and peers, not here.
 */
import { isEmptied, writeChanged, type Change } from './changed-object.ts'
import { PROGRESS_TOKEN, MODERN_META, RESULT_TYPES } from './rev-2026-07-28.ts'
import {
  changeMembers,
  encodeJson,
  findMember,
  readString,
  scanObject,
  setMembers,
  sliceOf,
  textOf,
  type Changes,
  type Member,
  type Span,
} from './spans.ts'

/** How a request must present itself on its next hop. */
export type Hop =
  | {
      readonly era: 'modern'
      readonly protocolVersion: string
      /** JSON bytes of the ClientCapabilities that we declare for this call. */
      readonly clientCapabilities: Uint8Array
      /** JSON bytes of the Implementation that we are. */
      readonly clientInfo: Uint8Array
      readonly progressToken?: string | number
    }
  | { readonly era: 'legacy'; readonly progressToken?: string | number }

/** What a result says of itself, read from its top level only. */
export interface ResultHead {
  /** `complete` when the member is absent, as a legacy server's is. */
  readonly resultType: string
  /** False when `resultType` was there and no string: the answer is invalid. */
  readonly sound: boolean
  readonly isError: boolean
  readonly members: readonly Member[]
}

const EMPTY_OBJECT = encodeJson({})
const EMPTY_SPAN = { start: 0, end: EMPTY_OBJECT.length }
const NONE: readonly Member[] = []
const NO_META: Change = { key: '_meta', value: undefined }
const VALIDATED = { validated: true }
/** Keys that describe one modern hop; the next hop has its own or none. */
const HOP_KEYS = [
  MODERN_META.protocolVersion,
  MODERN_META.clientCapabilities,
  MODERN_META.clientInfo,
] as const

/** The caller's params as they were read. */
export interface ReadParams {
  readonly bytes: Uint8Array
  readonly members: readonly Member[]
  /** Of the `_meta` among them; empty when there is none. */
  readonly metaMembers: readonly Member[]
}

/** How `_meta` changes for the next hop: our own triple and progress token, every unknown key kept. */
export function hopChanges(hop: Hop): readonly Change[] {
  const token = hop.progressToken
  const common: readonly Change[] = [
    { key: PROGRESS_TOKEN, value: token === undefined ? undefined : encodeJson(token) },
    { key: MODERN_META.subscriptionId, value: undefined },
  ]
  if (hop.era === 'modern') {
    return [
      ...common,
      { key: MODERN_META.protocolVersion, value: encodeJson(hop.protocolVersion) },
      { key: MODERN_META.clientCapabilities, value: hop.clientCapabilities },
      { key: MODERN_META.clientInfo, value: hop.clientInfo },
    ]
  }
  const dropped = [...HOP_KEYS, MODERN_META.logLevel]
  return [...common, ...dropped.map((key) => ({ key, value: undefined }))]
}

/**
 * The `_meta` for the next hop.
 *
 * @param meta the JSON object that came; absent when none did.
 * @returns undefined when nothing is left to say (legacy only).
 * @throws JsonFault when `meta` is no sound object.
 */
export function hopMeta(meta: Uint8Array | undefined, hop: Hop): Uint8Array | undefined {
  const bytes = meta ?? EMPTY_OBJECT
  const span = { start: 0, end: bytes.length }
  const object = { span, members: scanObject(bytes), changes: hopChanges(hop) }
  return isEmptied(object) ? undefined : writeChanged('', bytes, object, '')
}

/**
 * Params for the next hop: `_meta` rebuilt, other members set or removed as told.
 *
 * @param params the JSON object that came; absent counts as `{}`.
 * @param changes members besides `_meta`.
 * @throws JsonFault when params or its `_meta` are no sound objects.
 */
export function hopParams(
  params: Uint8Array | undefined,
  hop: Hop,
  changes: Changes = {},
): Uint8Array {
  const from = params ?? EMPTY_OBJECT
  const members = scanObject(from)
  const own = Object.entries(changes).map(([key, value]) => ({ key, value }))
  const read = { bytes: from, members, metaMembers: membersOfMeta(from, members) }
  return encodeParams('', read, [...own, changedMeta(read, hopChanges(hop))], '')
}

/**
 * The whole request for the next hop, in one pass over the params.
 *
 * @param changes of members, `_meta` among them (`changedMeta`).
 */
export function encodeCall(
  id: number,
  method: string,
  params: ReadParams,
  changes: readonly Change[],
): Uint8Array {
  const head = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":`
  return encodeParams(head, params, changes, '}')
}

/** @param changes from `hopChanges`. */
export function changedMeta(
  { members, metaMembers }: ReadParams,
  changes: readonly Change[],
): Change {
  const came = findMember(members, '_meta')
  const span = came?.value ?? EMPTY_SPAN
  const object = { span, members: metaMembers, changes }
  if (isEmptied(object)) return NO_META
  const value = came === undefined ? writeChanged('', EMPTY_OBJECT, object, '') : object
  return { key: '_meta', value }
}

function encodeParams(
  before: string,
  { bytes, members }: ReadParams,
  changes: readonly Change[],
  after: string,
): Uint8Array {
  const span = { start: 0, end: bytes.length }
  return writeChanged(before, bytes, { span, members, changes }, after)
}

/** The members of a `_meta` among these. @throws JsonFault when it is no object, or says something twice. */
export function membersOfMeta(params: Uint8Array, members: readonly Member[]): readonly Member[] {
  const meta = findMember(members, '_meta')
  return meta === undefined ? NONE : scanObject(params, meta.value, VALIDATED)
}

/** Reads what kind of result this is without parsing it. @throws JsonFault when it is no object. */
export function readResultHead(
  bytes: Uint8Array,
  result?: Span,
  options?: { readonly validated?: boolean },
): ResultHead {
  const members = scanObject(bytes, result, options)
  const type = findMember(members, 'resultType')
  const isError = findMember(members, 'isError')
  return {
    resultType: type?.type === 'string' ? readString(bytes, type.value) : RESULT_TYPES.complete,
    sound: type === undefined || type.type === 'string',
    isError: isError?.type === 'boolean' && textOf(bytes, isError.value) === 'true',
    members,
  }
}

/** A result as a legacy caller must get it: without the fields that only modern hops have. */
export function toLegacyResult(result: Uint8Array): Uint8Array {
  const members = scanObject(result)
  const meta = findMember(members, '_meta')
  const changes: Changes = { resultType: undefined, ttlMs: undefined, cacheScope: undefined }
  if (meta?.type !== 'object') return changeMembers(result, members, changes)
  const rest = changeMeta(result, members, { [MODERN_META.serverInfo]: undefined })
  return changeMembers(result, members, { ...changes, _meta: rest })
}

/** Keys of our own set into a result's `_meta`, all others kept. @throws JsonFault as above. */
export function setResultMeta(result: Uint8Array, changes: Changes): Uint8Array {
  const members = scanObject(result)
  return changeMembers(result, members, { _meta: changeMeta(result, members, changes) })
}

/** A `_meta` that is no object is replaced: nothing could be read from it anyway. */
function changeMeta(
  result: Uint8Array,
  members: readonly Member[],
  changes: Changes,
): Uint8Array | undefined {
  const meta = findMember(members, '_meta')
  const from = meta?.type === 'object' ? sliceOf(result, meta.value) : EMPTY_OBJECT
  const changed = setMembers(from, undefined, changes)
  return scanObject(changed, undefined, { validated: true }).length === 0 ? undefined : changed
}

/**
 * What changes on a message when it goes from one hop to the next, as splices: request metadata,
 * and the fields that only modern results have. All other bytes travel as they came.
 *
 * Which hop speaks which revision is decided by the doors and peers, not here.
 */
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
/** Keys that describe one modern hop; the next hop has its own or none. */
const HOP_KEYS = [
  MODERN_META.protocolVersion,
  MODERN_META.clientCapabilities,
  MODERN_META.clientInfo,
] as const

/**
 * The `_meta` for the next hop: our own triple and progress token, every unknown key kept.
 *
 * @param meta the JSON object that came; absent when none did.
 * @returns undefined when nothing is left to say (legacy only).
 * @throws JsonFault when `meta` is no sound object.
 */
export function hopMeta(meta: Uint8Array | undefined, hop: Hop): Uint8Array | undefined {
  const token = hop.progressToken
  const common: Changes = {
    [PROGRESS_TOKEN]: token === undefined ? undefined : encodeJson(token),
    [MODERN_META.subscriptionId]: undefined,
  }
  if (hop.era === 'modern') {
    return setMembers(meta ?? EMPTY_OBJECT, undefined, {
      ...common,
      [MODERN_META.protocolVersion]: encodeJson(hop.protocolVersion),
      [MODERN_META.clientCapabilities]: hop.clientCapabilities,
      [MODERN_META.clientInfo]: hop.clientInfo,
    })
  }
  const dropped = [...HOP_KEYS, MODERN_META.logLevel].map((key) => [key, undefined] as const)
  const rest = setMembers(meta ?? EMPTY_OBJECT, undefined, {
    ...common,
    ...Object.fromEntries(dropped),
  })
  return scanObject(rest, undefined, { validated: true }).length === 0 ? undefined : rest
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
  const meta = findMember(members, '_meta')
  const came = meta === undefined ? undefined : sliceOf(from, meta.value)
  return changeMembers(from, members, { ...changes, _meta: hopMeta(came, hop) })
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

/**
 * The reply of an answer that is given again and again, a page of a list: what it says is made once, and each message is its
 * id and how long it stands before bytes that are all callers'.
 */
import type { RpcId } from '../wire/json-rpc.ts'
import { MODERN_META } from '../wire/rev-2026-07-28.ts'
import { concat, encodeJson, setMembers } from '../wire/spans.ts'
import type { Reply, ResultAnswer } from './answer.ts'
import type { Door } from './options.ts'

const BRACE = Buffer.from('}')
const OBJECT_START = 0x7b

/**
 * @param answer to a cacheable method, a whole result of our own without `_meta`.
 * @returns undefined for any other.
 */
export function keptReply(
  { serverInfo }: Pick<Door, 'serverInfo'>,
  id: RpcId,
  { bytes, kept, ttlMs }: ResultAnswer,
): Reply | undefined {
  if (kept === undefined || ttlMs === undefined) return undefined
  kept.modernTail ??= encodeTail(bytes, serverInfo)
  const head = `{"jsonrpc":"2.0","id":${id.json},"result":{"ttlMs":${ttlMs},`
  return { status: 200, body: Buffer.from(head), tail: kept.modernTail }
}

/** Behind the first brace of the result: all of it, and the brace that closes the message. */
function encodeTail(bytes: Uint8Array, serverInfo: Door['serverInfo']): Uint8Array {
  const result = setMembers(bytes, undefined, {
    resultType: encodeJson('complete'),
    // Filtered by principal: never public, whatever a peer allowed.
    cacheScope: encodeJson('private'),
    _meta: encodeJson({ [MODERN_META.serverInfo]: serverInfo }),
  })
  return concat([result.subarray(result.indexOf(OBJECT_START) + 1), BRACE])
}

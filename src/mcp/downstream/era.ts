/** Which era a request claims by its own metadata. @source MCP 2026-07-28, basic, versioning, dual-era servers */
import type { RpcRequest } from '../wire/json-rpc.ts'
import { MODERN_META } from '../wire/rev-2026-07-28.ts'
import { findMember, scanObject } from '../wire/spans.ts'

/** True when `_meta` names a protocol version, of whatever value: only modern requests do. */
export function claimsModern(request: RpcRequest): boolean {
  const { metaMembers } = request
  if (metaMembers !== undefined)
    return findMember(metaMembers, MODERN_META.protocolVersion) !== undefined
  if (request.params === undefined) return false
  const loose = { validated: true, allowDuplicates: true }
  const members = scanObject(request.bytes, request.params, loose)
  const meta = findMember(members, '_meta')
  if (meta?.type !== 'object') return false
  const keys = scanObject(request.bytes, meta.value, loose)
  return findMember(keys, MODERN_META.protocolVersion) !== undefined
}

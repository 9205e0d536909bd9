/**
 * The probe: one `server/discover`, which has no effects, and what its answer shows of the server.
 *
 * @source MCP 2026-07-28, basic, versioning and backward compatibility.
 */
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { hopParams } from '../wire/codec.ts'
import { LEGACY_REVISIONS } from '../wire/rev-2025-11-25.ts'
import { MODERN_META, MODERN_ONLY_CODES, MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { encodeJson, readValue } from '../wire/spans.ts'
import { objectOf, type PeerFacts, readFacts } from './facts.ts'
import { LinkFailure, type Agreement, type Link } from './link.ts'

/** Revisions that `initialize` may agree on; the oldest differs in HTTP only. */
export const ACCEPTED: ReadonlySet<string> = new Set([...LEGACY_REVISIONS, '2024-11-05'])

/** What the probe found. */
export type Probe =
  | { readonly kind: 'modern'; readonly facts: PeerFacts }
  /** `sure`: the server said so itself. */
  | { readonly kind: 'legacy'; readonly why: string; readonly sure: boolean }
  | { readonly kind: 'failed'; readonly failure: LinkFailure }

/** Asks. @param clientInfo JSON bytes of the Implementation that we are. @param again whether a refusal may be followed up once. */
export async function discover(
  link: Link,
  clientInfo: Uint8Array,
  signal: AbortSignal,
  again = true,
): Promise<Probe> {
  const params = hopParams(undefined, {
    era: 'modern',
    protocolVersion: MODERN_REVISION,
    clientCapabilities: encodeJson({}),
    clientInfo,
  })
  try {
    const answer = await link.request({
      id: link.nextId(),
      method: 'server/discover',
      params,
      revision: MODERN_REVISION,
      followRedirect: true,
      signal,
    })
    if (answer.kind === 'result') return readDiscover(link, answer)
    // A revision that the server names is to be tried (basic, versioning), even the one it refused.
    const retry = again && offered(answer)?.includes(MODERN_REVISION) === true
    return retry ? await discover(link, clientInfo, signal, false) : readRefusal(answer)
  } catch (error) {
    if (!(error instanceof LinkFailure)) throw error
    const old = ['refused', 'unclear', 'unreadable'].includes(error.reason)
    if (!old) return { kind: 'failed', failure: error }
    // A server in trouble, or one that is asked too often, says nothing of what it speaks.
    const sure = error.status === undefined || (error.status < 500 && error.status !== 429)
    return { kind: 'legacy', why: error.message, sure }
  }
}

function readDiscover(link: Link, answer: RpcResult): Probe {
  const result = objectOf(readValue(answer.bytes, answer.result.value))
  const versions = stringsOf(result.supportedVersions)
  if (versions === undefined) {
    return { kind: 'legacy', why: 'it answered server/discover with something else', sure: true }
  }
  if (!versions.includes(MODERN_REVISION)) return otherVersions(versions)
  const agreement: Agreement = { era: 'modern', revision: MODERN_REVISION }
  link.agree(agreement)
  const meta = objectOf(result._meta)
  return { kind: 'modern', facts: readFacts(agreement, result, meta[MODERN_META.serverInfo]) }
}

function readRefusal(answer: RpcError): Probe {
  const why = `it answered server/discover with error ${answer.code}`
  if (!MODERN_ONLY_CODES.has(answer.code)) return { kind: 'legacy', why, sure: true }
  const versions = offered(answer)
  if (versions !== undefined && !versions.includes(MODERN_REVISION)) return otherVersions(versions)
  const what =
    versions === undefined
      ? `the server speaks ${MODERN_REVISION} but refuses to be asked what it offers: error ${answer.code}`
      : `the server refuses ${MODERN_REVISION} and offers it in the same answer, twice: error ${answer.code}`
  return { kind: 'failed', failure: new LinkFailure('unreachable', false, what) }
}

/** The revisions that a refusal names. */
function offered({ code, bytes, data }: RpcError): readonly string[] | undefined {
  if (!MODERN_ONLY_CODES.has(code) || data === undefined) return undefined
  return stringsOf(objectOf(readValue(bytes, data)).supported)
}

/** A server that names only session revisions is reached by `initialize`. */
function otherVersions(versions: readonly string[]): Probe {
  const why = `it supports ${versions.join(', ') || 'no revision at all'}`
  if (versions.some((version) => ACCEPTED.has(version))) return { kind: 'legacy', why, sure: true }
  const known = `${MODERN_REVISION}, ${LEGACY_REVISIONS.join(', ')}`
  const failure = new LinkFailure(
    'unreachable',
    false,
    `no revision in common: ${why}; we speak ${known}`,
  )
  return { kind: 'failed', failure }
}

function stringsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.filter((item): item is string => typeof item === 'string')
}

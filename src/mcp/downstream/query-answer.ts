/** Answers of peers to what is no act: relayed, or why there is none, as far as this caller may know. */
import type { QueryAnswer } from '../../core/ports/peer.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Principal } from '../../core/words/principal.ts'
import { ourError, type ErrorAnswer } from './answer.ts'
import { readPeerError } from './outcome.ts'
import type { Visit } from './visit.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'

/** A peer that was asked, and what came of it. */
export type Asked =
  | { readonly kind: 'result'; readonly bytes: Uint8Array; readonly revision: string }
  | { readonly kind: 'error'; readonly error: ErrorAnswer }
  | { readonly kind: 'missing'; readonly peer: string; readonly reason: string }

/** Asks, and turns a fault of the way there into a reason. @throws what is no such fault. */
export async function askPeer(
  visit: Visit,
  peer: string,
  ask: () => Promise<QueryAnswer>,
): Promise<Asked> {
  try {
    const { kind, native } = await ask()
    if (kind === 'result') return { kind, bytes: native.bytes, revision: native.revision }
    const error =
      readPeerError(visit, native) ??
      ourError(RPC_ERRORS.internal, `${peer} answered an error that means nothing on this hop`)
    return { kind, error }
  } catch (fault) {
    if (!(fault instanceof ComityError) || fault.code !== 'not_allowed') throw fault
    return { kind: 'missing', peer, reason: reasonFor(visit.principal, fault) }
  }
}

/** What a peer said when it failed may hold anything: only this machine's user reads it. */
function reasonFor({ via }: Principal, fault: Error): string {
  return via === 'token' ? 'not reached' : fault.message
}

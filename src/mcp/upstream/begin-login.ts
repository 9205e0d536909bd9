/** The login that a call lacks, begun for callers that can open an address. */
import type { Exchange } from '../../core/ports/upstream.ts'
import { abortable } from './abortable.ts'
import type { CancelSignal } from './cancel.ts'
import type { LoginAddress } from './credentials.ts'
import { LinkFailure } from './link.ts'

/** @returns nothing where it is told in words. */
export async function beginLogin(
  error: unknown,
  { can }: Exchange,
  stop: CancelSignal,
): Promise<LoginAddress | undefined> {
  if (!(error instanceof LinkFailure) || error.login === undefined || !can.url) return undefined
  const gone = new AbortController()
  try {
    return await abortable(error.login(gone.signal), stop)
  } catch {
    return undefined
  } finally {
    gone.abort()
  }
}

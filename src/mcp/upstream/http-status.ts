/**
 * What HTTP itself says about a message, read with care: a status alone proves that nothing ran
 * only where it means that the message was not looked at.
 *
 * @source RFC 9110, 15; MCP 2025-11-25, transports, session management.
 */
import { JsonFault } from '../wire/json-fault.ts'
import { scanArray, sliceOf } from '../wire/spans.ts'
import { LinkFailure } from './link.ts'

/** Statuses by which HTTP says that the message was not looked at. */
const REFUSED = new Set([405, 406, 411, 413, 414, 415, 417, 421, 426, 429, 431])

/** The failure of an answer that is a status without a message. */
export function statusFailure(status: number): LinkFailure {
  const options = { status }
  if (status === 401 || status === 403) {
    const what =
      'set its `headers:` in the configuration, for example Authorization: "Bearer ${env:TOKEN}"'
    return new LinkFailure('unauthorized', true, `the server answered ${status}: ${what}`, options)
  }
  if (status >= 300 && status < 400) {
    // 307 and 308 ask for the same message elsewhere. After 301, 302 and 303 a GET is usual: a page
    // that shows what the POST did.
    const reason = status === 307 || status === 308 ? 'refused' : 'unclear'
    const what = 'it was not sent again to another place: set `url:` to where it points'
    return new LinkFailure(reason, true, `the server answered ${status}: ${what}`, options)
  }
  if (REFUSED.has(status)) {
    return new LinkFailure(
      'refused',
      true,
      `the server refused the message with ${status}`,
      options,
    )
  }
  const what =
    status < 300 ? 'without an answer in it' : 'without a message that says what happened'
  return new LinkFailure('unclear', true, `the server answered ${status} ${what}`, options)
}

/** Nothing of the next message left: a new session is to be begun first. */
export function sessionLost(): LinkFailure {
  return new LinkFailure('broken', false, 'the server no longer knows the session')
}

/** The messages of a body: one, or those of a batch (2025-03-26). */
export function splitBatch(body: Uint8Array): readonly Uint8Array[] {
  try {
    return scanArray(body).map((item) => sliceOf(body, item))
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return [body]
  }
}

/**
 * What HTTP itself says about a message, read with care: a status alone proves that nothing ran
 * only where it means that the message was not looked at.
 *
 * @source RFC 9110, 15; MCP 2025-11-25, transports, session management.
 */
import { JsonFault } from '../wire/json-fault.ts'
import type { RpcError, RpcMessage } from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
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

/** Words in which servers of the field say that they do not know a session. */
const LOST =
  /\bsession\b.{0,40}\b(?:not found|expired|invalid|unknown|terminated|closed|missing|required|not exist)|\b(?:invalid|unknown|expired|missing|no|no valid|no such)\b.{0,20}\bsession|not initiali[sz]ed/i
/** Codes of errors that are about the request, whatever words they use. */
const ABOUT_THE_REQUEST: ReadonlySet<number> = new Set([
  RPC_ERRORS.methodNotFound,
  RPC_ERRORS.invalidParams,
])

/**
 * Whether the answer says that the session which was named is not known. The specification has 404
 * for it; servers also say it with 400 and in words, and some with a JSON-RPC error and 200.
 *
 * @param messages what was read of the body.
 */
export function saysSessionLost(
  { status, body }: { readonly status: number; readonly body: Uint8Array },
  messages: readonly RpcMessage[],
): boolean {
  if (messages.some((message) => message.kind === 'result')) return false
  const error = messages.find((message) => message.kind === 'error')
  if (error?.kind === 'error') {
    if (ABOUT_THE_REQUEST.has(error.code)) return false
    return status === 404 || status === 410 || LOST.test(error.message.slice(0, 500))
  }
  if (status === 404 || status === 410) return true
  return status === 400 && LOST.test(new TextDecoder().decode(body.subarray(0, 500)))
}

/** Words in which servers of the session revisions refuse a message of 2026-07-28. */
const OTHER_REVISION = /\bunsupported protocol version\b/i

/**
 * Whether an error to a message of 2026-07-28, which has no sessions, is one that only a server of
 * sessions gives: it stands where a modern one stood.
 */
export function speaksOfSessions({ code, message }: RpcError): boolean {
  if (ABOUT_THE_REQUEST.has(code)) return false
  const said = message.slice(0, 500)
  return LOST.test(said) || OTHER_REVISION.test(said)
}

/** The failure of the request by which it came out. */
export function sessionLostBy(status: number): LinkFailure {
  const what = `the server answered ${status}: it no longer knows the session`
  return new LinkFailure('unclear', true, what, { status, sessionLost: true })
}

/** Nothing of the next message left: a new session is to be begun first. */
export function sessionLost(): LinkFailure {
  return new LinkFailure('broken', false, 'the server no longer knows the session', {
    sessionLost: true,
  })
}

const WHITESPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
const ARRAY_START = 0x5b

/** The messages of a body: one, or those of a batch (2025-03-26). */
export function splitBatch(body: Uint8Array): readonly Uint8Array[] {
  if (body[body.findIndex((byte) => !WHITESPACE.has(byte))] !== ARRAY_START) return [body]
  try {
    return scanArray(body).map((item) => sliceOf(body, item))
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return [body]
  }
}

/**
 * Going on with an answer whose event stream ended before it came: the stream is asked for again
 * where it stopped. The request itself is never sent again.
 *
 * Bounded by the request's own signal, and by how often in a row the server cannot be reached.
 *
 * @source MCP 2025-11-25, transports, resumability and redelivery.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import type { PostAnswer } from './http-exchange.ts'
import type { OpenRequest } from './http-inbox.ts'
import { LinkFailure } from './link.ts'

/** Where a stream stands, by what came on it last. */
export interface Marks {
  lastEventId?: string
  retryMs?: number
}

const DEFAULT_RETRY_MS = 1_000
/** A server may ask for no pause at all, or for years. */
const RETRY_RANGE_MS = { least: 50, most: 60_000 }
/** Failures in a row; a server that restarts gets about half a minute. */
const MOST_FAILURES = 6
const FIRST_BACKOFF_MS = 500
/** Streams that end again with nothing on them are no reason to ask more often than this in the end, whatever the server asks for. */
const IDLE_PAUSE_MS = 1_000

/** Whether the stream or its connection ended: what was asked may go on. */
export function isBreak(error: unknown): error is LinkFailure {
  return error instanceof LinkFailure && error.reason === 'broken' && error.sent
}

/**
 * Asks for the rest until the answer is there.
 *
 * @param why the break; thrown when the server does not go on.
 * @param get one GET from `lastEventId` on; what comes on it is taken by the open request.
 */
export async function resumeStream(
  open: OpenRequest,
  marks: Marks,
  why: LinkFailure,
  get: (from: { readonly lastEventId: string }) => Promise<RpcResult | RpcError | PostAnswer>,
): Promise<RpcResult | RpcError> {
  let idle = 0
  for (let failures = 0; failures < MOST_FAILURES;) {
    await pause(open, Math.max(pauseOf(marks, failures), idlePauseOf(idle)))
    if (open.isSettled()) return open.answered
    const { lastEventId } = marks
    if (lastEventId === undefined || lastEventId === '') throw why
    try {
      const answer = await get({ lastEventId })
      if ('kind' in answer) return answer
      idle = answer.streamed && marks.lastEventId === lastEventId ? idle + 1 : 0
      if (answer.streamed) failures = 0
      else if (isFinal(answer.status)) throw why
      else failures += 1
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
      if (error === why || !['broken', 'unreachable'].includes(error.reason)) throw error
      failures = marks.lastEventId === lastEventId ? failures + 1 : 0
    }
  }
  throw why
}

/** Ends early when the request is canceled, or answered on another stream. */
async function pause({ answered }: OpenRequest, ms: number): Promise<void> {
  const over = new AbortController()
  const end = (): void => over.abort()
  answered.then(end, end)
  await delay(ms, undefined, { signal: over.signal }).catch(() => {})
}

function pauseOf({ retryMs = DEFAULT_RETRY_MS }: Marks, failures: number): number {
  const asked = Math.min(Math.max(retryMs, RETRY_RANGE_MS.least), RETRY_RANGE_MS.most)
  return Math.max(asked, failures === 0 ? 0 : FIRST_BACKOFF_MS * 2 ** (failures - 1))
}

function idlePauseOf(idle: number): number {
  return idle === 0 ? 0 : Math.min(RETRY_RANGE_MS.least * 2 ** idle, IDLE_PAUSE_MS)
}

/** Asking the same again would be answered the same. */
function isFinal(status: number): boolean {
  return status < 500 && ![408, 409, 425, 429].includes(status)
}

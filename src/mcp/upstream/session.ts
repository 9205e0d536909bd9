/**
 * A connection in use: which calls are open on it, what the server asks within them, and the log level
 * they want. One that was taken out of use closes when its last call has ended.
 */
import type { CallerCan } from '../../core/words/question.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Asks, OpenCall } from './asks.ts'
import type { Connected } from './connect.ts'
import type { AnswerRequest } from './link.ts'
import { createLogLevel } from './log-level.ts'
import { createTerms, type Terms, type TermsOptions } from './terms.ts'

export interface Session extends Connected {
  /** What a call of such a caller says of us. */
  termsOf(can: CallerCan): Terms
  /** A call begins. @param logLevel the least severe log that it wants. */
  begin(call: OpenCall, logLevel: string | undefined): Begun
  /** What names this task is asked there from now on. */
  readonly followTask: Asks['follow']
  /** No call begins any more. */
  retire(): void
}

/** A call that is open on a session. */
export interface Begun {
  /** Resolves when the server knows the log level; left out when it need not. Never rejects. */
  readonly ready?: Promise<void> | undefined
  /** Left out where a server cannot ask in mid-call. */
  readonly onRequest?: AnswerRequest | undefined
  end(): void
}

/** How long a call waits for the server to change its log level, milliseconds. */
const LEVEL_MS = 2_000

/** Makes the session of a connection. */
export function createSession(
  connected: Connected,
  asks: Asks,
  said: Omit<TermsOptions, 'facts'>,
): Session {
  const { link, facts } = connected
  const logs = facts.era === 'legacy' && typeof facts.capabilities['logging'] === 'object'
  const level = createLogLevel(async (name) => {
    await link.request({
      id: link.nextId(),
      method: 'logging/setLevel',
      params: encodeJson({ level: name }),
      followRedirect: false,
      signal: AbortSignal.timeout(LEVEL_MS),
    })
  })
  let open = 0
  let retired = false
  const closeWhenIdle = (): void => {
    if (retired && open === 0) void link.close().catch(() => {})
  }
  const end = (): void => {
    open -= 1
    closeWhenIdle()
  }
  /** Of a call that is asked nothing and wants no logs. */
  const plain: Begun = { end }
  return {
    ...connected,
    termsOf: createTerms({ ...said, facts }),
    followTask: asks.follow,
    begin(call, logLevel) {
      open += 1
      const asked = facts.era === 'legacy' ? asks.open(call) : undefined
      const wanted = logs && logLevel !== undefined ? level.want(logLevel) : undefined
      if (asked === undefined && wanted === undefined) return plain
      return {
        ready: wanted?.told,
        onRequest: asked?.onRequest,
        end() {
          asked?.end()
          wanted?.end()
          end()
        },
      }
    },
    retire() {
      retired = true
      closeWhenIdle()
    },
  }
}

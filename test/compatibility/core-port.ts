/**
 * Core's ports with one of everything behind them: what a door is measured against, without any peer.
 */
import type { Catalogue, ListKind } from '../../src/core/ports/catalogue.ts'
import type { Dispatch } from '../../src/core/ports/doors.ts'
import type { Exchange } from '../../src/core/ports/upstream.ts'
import type { NewCall } from '../../src/core/words/call.ts'
import { refused, type Outcome } from '../../src/core/words/outcome.ts'
import type { Question, QuestionKind } from '../../src/core/words/question.ts'
import type { Route } from '../../src/core/words/route.ts'
import { jsonText, mcpNative } from '../../src/mcp/wire/native.ts'
import { createLongWork, type LongWork } from './door-tasks.ts'
import { LOGIN_COMMAND, LOGIN_URL, SCOPE_COMMAND } from './guard.ts'
import type { Json } from './peer.ts'

export interface CorePort {
  readonly catalogue: Catalogue
  readonly dispatch: Dispatch
  /** Calls that were told to stop, by why. */
  readonly stopped: string[]
  /** As if a person had logged in, or out. */
  login(isIn: boolean): void
  /** One call that lasts: `long`, and `held` by a peer. */
  readonly work: LongWork
}

export const LARGE = 3 * 1024 * 1024
export const WATCHED = 'test://watched'

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const native = (value: Json) => mcpNative(encode(value), '2025-11-25')

const ASKS: Readonly<Record<string, { readonly kind: QuestionKind; readonly request: Json }>> = {
  ask_form: {
    kind: 'form',
    request: {
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
    },
  },
  ask_url: {
    kind: 'url',
    request: {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Sign in', url: 'https://sign-in.example/' },
    },
  },
  ask_sampling: {
    kind: 'sampling',
    request: {
      method: 'sampling/createMessage',
      params: {
        messages: [{ role: 'user', content: { type: 'text', text: 'go' } }],
        maxTokens: 10,
      },
    },
  },
}

export function createCorePort(): CorePort {
  const changed = new Set<(kind: ListKind) => void>()
  const watching = new Set<(uri: string) => void>()
  const stopped: string[] = []
  const work = createLongWork()
  let grown = 0
  let isIn = false

  const run = async ({ route }: NewCall, exchange: Exchange): Promise<Outcome> => {
    const asks = ASKS[route.exposed]
    if (asks !== undefined) return said(await ask(exchange, asks))
    switch (route.exposed) {
      case 'refuse': {
        const error = mcpNative(encode({ code: -32_603, message: 'refused' }), '2025-11-25')
        const outcome = refused('peer', 'peer_error', 'it refused')
        return { ...outcome, ran: 'yes', native: error }
      }
      case 'progress':
        for (const progress of [1, 2, 3]) await sayProgress(exchange, progress)
        return said('progressed')
      case 'wait':
        await sayProgress(exchange, 1)
        await new Promise<void>((resolve) => {
          exchange.signal.addEventListener('abort', () => resolve(), { once: true })
        })
        stopped.push(String(exchange.stopReason()))
        return { state: 'unknown', because: 'cancel_unconfirmed', detail: 'it was told to stop' }
      case 'large':
        return said('x'.repeat(LARGE))
      case 'structured':
        return completed({ content: [], structuredContent: { total: 3, odd: 1e21 } })
      case 'array':
        return completed({ content: [], structuredContent: [1, 2] })
      case 'grow':
        grown += 1
        for (const listener of changed) listener('tool')
        return said('grown')
      case 'touch':
        for (const listener of watching) listener(WATCHED)
        return said('touched')
      case 'guarded':
        return isIn ? said('let in') : wantLogin(exchange, LOGIN_COMMAND)
      case 'wide':
        return isIn ? said('let in') : wantLogin(exchange, SCOPE_COMMAND)
      case 'denied':
        return refused('policy', 'denied', 'denied by rules[0]; nothing was sent')
      case 'asked':
        return refused('policy', 'approval_required', 'a person has to approve this', 'apr-1')
      default:
        return said('hello')
    }
  }
  let calls = 0
  return {
    stopped,
    work,
    login(now) {
      isIn = now
    },
    dispatch: async (call, exchange) => {
      const callId = `c${(calls += 1)}`
      if (call.route.exposed === 'held') return { callId, ...(await work.dispatch(call, exchange)) }
      return { callId, outcome: await run(call, exchange) }
    },
    catalogue: {
      list: async (kind) => ({
        items:
          kind === 'tool'
            ? [
                ...['echo', ...Array.from({ length: grown }, (_, index) => `grown_${index}`)].map(
                  itemOf,
                ),
                LONG,
              ]
            : [],
        missing: [],
        ttlMs: 0,
        allFailed: false,
      }),
      resolve: async (kind, exposed) => routeOf(kind, exposed),
      linked: () => undefined,
      instructions: async () => undefined,
      onChanged(listener) {
        changed.add(listener)
        return () => void changed.delete(listener)
      },
      features: async () => ({ completions: true, subscribe: true, logging: true, extensions: {} }),
      watch(_route, listener) {
        watching.add(listener)
        return () => void watching.delete(listener)
      },
    },
  }
}

const LONG = {
  exposed: 'long',
  definition: jsonText(
    encode({
      name: 'long',
      inputSchema: { type: 'object' },
      execution: { taskSupport: 'optional' },
    }),
  ),
}

function itemOf(name: string) {
  return { exposed: name, definition: jsonText(encode({ name, inputSchema: { type: 'object' } })) }
}

function routeOf(kind: ListKind, exposed: string): Route {
  return {
    exposed,
    peer: 'core',
    protocol: 'mcp',
    kind,
    capability: exposed,
    endpoint: 'endpoint',
    fingerprint: 'fingerprint',
    hints: {},
    trusted: true,
  }
}

/** As a peer's link ends a call for which a person has to log in. */
function wantLogin({ can }: Exchange, message: string): Outcome {
  const login = refused('peer', 'credentials_missing', message)
  if (!can.url) return login
  const elicitation = { mode: 'url', elicitationId: 'e1', url: LOGIN_URL, message }
  const data = { elicitations: [elicitation] }
  return { ...login, native: native({ code: -32_042, message, data }) }
}

function completed(result: Json): Outcome {
  return { state: 'completed', native: native(result), toolError: false }
}

function said(text: string): Outcome {
  return completed({ content: [{ type: 'text', text }] })
}

async function sayProgress(exchange: Exchange, progress: number): Promise<void> {
  await exchange.emit({
    kind: 'progress',
    native: native({ progressToken: 0, progress, total: 3 }),
  })
}

async function ask(
  exchange: Exchange,
  { kind, request }: { readonly kind: QuestionKind; readonly request: Json },
): Promise<string> {
  if (kind === 'text' || !exchange.can[kind] || exchange.ask === undefined) return 'not askable'
  const question: Question = { kind, key: 'q', text: '', native: native(request) }
  const answer = await exchange.ask(question, new AbortController().signal)
  return `${answer.action} ${JSON.stringify(answer.native?.value() ?? null)}`
}

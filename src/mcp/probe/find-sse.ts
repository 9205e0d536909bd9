/**
 * The transport of 2024-11-05: a stream that a GET opens, which says where messages are posted. Spoken by the ordinary link; nothing
 * odd is sent on it.
 *
 * @source MCP 2024-11-05, transports, HTTP with SSE.
 */
import type { Dispatcher } from 'undici'
import type { Credentials } from '../upstream/credentials.ts'
import type { HttpEndpoint } from '../upstream/http-headers.ts'
import { LinkFailure } from '../upstream/link.ts'
import { createSseLink } from '../upstream/sse-2024.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Budget } from './budget.ts'
import type { Spoken } from './discovery.ts'
import { replyOf, type Asking, type ClientInfo, type Reply } from './raw.ts'
import type { RevisionTried } from './report.ts'

export interface SseOptions {
  readonly endpoint: HttpEndpoint
  readonly dispatcher: Dispatcher
  readonly credentials?: Credentials
  readonly budget: Budget
  readonly maxBytes: number
  readonly clientInfo: ClientInfo
}

export interface SseFound {
  readonly tried: RevisionTried
  readonly spoken?: Spoken
  asked(): readonly string[]
  close(): Promise<void>
}

const OLDEST = '2024-11-05'
/** How long a stream may take to say where messages go, milliseconds. */
const ENDPOINT_MS = 3_000

/** @returns undefined when there is no such stream. */
export async function findSse(options: SseOptions): Promise<SseFound | undefined> {
  const { endpoint, dispatcher, credentials, budget, maxBytes, clientInfo } = options
  const asked = new Set<string>()
  const link = createSseLink(endpoint, () => undefined, {
    dispatcher,
    maxBytes,
    ...(credentials === undefined ? {} : { credentials }),
    onStray: ({ method }) => {
      if (asked.size < 20) asked.add(method.slice(0, 100))
      return Promise.resolve({ error: { code: -32601, message: 'not declared' } })
    },
  })
  const within = (ms: number): AbortSignal =>
    AbortSignal.any([budget.signal, AbortSignal.timeout(budget.request(ms))])
  try {
    await link.open(within(ENDPOINT_MS))
  } catch (error) {
    await link.close()
    if (error instanceof LinkFailure) return undefined
    throw error
  }
  const ask: Asking['ask'] = async (method, params = {}, more = {}) => {
    const id = link.nextId()
    const signal = within(budget.request(more.ms))
    try {
      const message = { id, method, params: encodeJson(params), followRedirect: false, signal }
      return replyOf(await link.request(message), id, { headers: {}, told: [] })
    } catch (error) {
      if (error instanceof LinkFailure || error instanceof JsonFault) return nothing(error)
      throw error
    }
  }
  const asking: Asking = { revision: OLDEST, era: 'legacy', transport: 'http+sse', ask }
  const params = { protocolVersion: OLDEST, capabilities: {}, clientInfo }
  const reply = await ask('initialize', params)
  const spoken = reply.kind === 'result'
  if (spoken) await link.notify('notifications/initialized').catch(() => undefined)
  const detail = reply.kind === 'nothing' ? reply.why : reply.kind
  return {
    tried: {
      revision: OLDEST,
      transport: 'http+sse',
      by: 'initialize',
      spoken,
      ...(spoken ? {} : { detail }),
    },
    ...(spoken ? { spoken: { asking, opened: reply.result } } : {}),
    asked: () => [...asked],
    close: () => link.close(),
  }
}

function nothing({ message }: Error): Reply {
  return { kind: 'nothing', why: message, headers: {}, told: [] }
}

/** What core hands to an A2A peer, made by hand: calls, exchanges, and a reducer of news as core has it. */
import { randomUUID } from 'node:crypto'
import type { Peer } from '../../src/core/ports/peer.ts'
import type { Exchange, WireFacts } from '../../src/core/ports/upstream.ts'
import {
  type ArtifactPart,
  applyChunk,
  type ArtifactRecord,
} from '../../src/core/words/artifact.ts'
import type { OutboundCall } from '../../src/core/words/call.ts'
import type { Native } from '../../src/core/words/native.ts'
import type { Handle, Outcome } from '../../src/core/words/outcome.ts'
import { CANNOT_BE_ASKED } from '../../src/core/words/question.ts'
import type { Answer } from '../../src/core/words/question.ts'
import type { TaskNews } from '../../src/core/words/task.ts'

export const CLOCK = { now: (): number => Date.now() }
export const NEVER: AbortSignal = new AbortController().signal

export function nativeOf(text: string): Native {
  return {
    protocol: 'a2a',
    revision: '1.0',
    bytes: new TextEncoder().encode(text),
    value: () => JSON.parse(text) as unknown,
  }
}

/** A delegation of one text to a peer. */
export async function delegation(
  peer: Peer,
  message: string | { readonly json: string },
  more: Partial<OutboundCall> = {},
): Promise<OutboundCall> {
  const listing = await peer.listing()
  const json =
    typeof message === 'string'
      ? JSON.stringify({ role: 'ROLE_USER', parts: [{ text: message }] })
      : message.json
  return {
    callId: randomUUID(),
    openedAt: Date.now(),
    route: {
      exposed: `delegate_${peer.name}`,
      peer: peer.name,
      protocol: 'a2a',
      kind: 'agent',
      capability: peer.name,
      endpoint: peer.endpoint,
      fingerprint: listing.capabilities[0]!.fingerprint,
      hints: {},
      trusted: false,
    },
    principal: { id: 'local', groups: [], via: 'local' },
    operation: 'delegate',
    native: nativeOf(json),
    arguments: nativeOf(json),
    door: 'test',
    deadlineAt: Date.now() + 10_000,
    trace: {},
    ...more,
  }
}

export async function answerOf(
  peer: Peer,
  handle: Handle,
  answers: readonly Answer[],
): Promise<OutboundCall> {
  const call = await delegation(peer, 'unused')
  return { ...call, operation: 'answer', continuation: { callId: 'first', handle, answers } }
}

export interface TestExchange extends Exchange {
  readonly facts: WireFacts[]
  dispatched(facts: WireFacts): void
  stop(reason: 'caller_canceled' | 'caller_gone' | 'deadline' | 'shutdown'): void
}

export function exchangeOf(): TestExchange {
  const controller = new AbortController()
  const facts: WireFacts[] = []
  let reason: ReturnType<Exchange['stopReason']>
  return {
    signal: controller.signal,
    stopReason: () => reason,
    emit: () => undefined,
    can: CANNOT_BE_ASKED,
    facts,
    dispatched: (fact) => void facts.push(fact),
    stop: (why) => {
      reason = why
      controller.abort()
    },
  }
}

/** All news of one following, as core would reduce them. */
export interface Reduced {
  readonly news: readonly TaskNews[]
  readonly states: readonly string[]
  readonly records: readonly ArtifactRecord[]
  readonly texts: Readonly<Record<string, string>>
  readonly last: Outcome | undefined
}

export async function reduceNews(items: AsyncIterable<TaskNews>): Promise<Reduced> {
  const news: TaskNews[] = []
  for await (const item of items) news.push(item)
  return reduceAll(news)
}

export function reduceAll(news: readonly TaskNews[]): Reduced {
  let records: readonly ArtifactRecord[] = []
  const content = new Map<string, readonly ArtifactPart[]>()
  for (const item of news) {
    const chunks =
      item.kind === 'artifact' ? [item.chunk] : item.kind === 'snapshot' ? item.artifacts : []
    for (const chunk of chunks) {
      const applied = applyChunk(records, chunk)
      records = applied.records
      const held = applied.write.do === 'append' ? (content.get(chunk.artifactId) ?? []) : []
      content.set(chunk.artifactId, [...held, ...applied.write.parts])
    }
  }
  const outcomes = news.flatMap((item) => (item.kind === 'artifact' ? [] : [item.outcome]))
  return {
    news,
    states: outcomes.map((outcome) => outcome.state),
    records,
    texts: Object.fromEntries(
      [...content].map(([id, parts]) => [
        id,
        parts.map((part) => (part.kind === 'text' ? part.text : `<${part.kind}>`)).join(''),
      ]),
    ),
    last: outcomes.at(-1),
  }
}

/**
 * An A2A agent as core's Peer port: one capability, the agent itself, defined by its card.
 *
 * What the card claims is for people and for pins; it moves no rule of ours.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Peer, PeerReport } from '../../core/ports/peer.ts'
import type { Clock } from '../../core/ports/world.ts'
import type { Connections } from '../bindings/http.ts'
import { type CardOptions, type CardSource, createCardSource } from './card.ts'
import { createA2aUpstream, type UpstreamOptions } from './client.ts'
import { createConnect } from './link.ts'
import { toNative } from './native.ts'
import { createOpenStreams } from './open-streams.ts'

/** One agent as the operator configured it. */
export interface A2aPeerOptions {
  /** The operator's name of the agent. */
  readonly name: string
  readonly card: CardOptions
  readonly trusted: boolean
  /** Bytes of one answer or event. Default 48 MiB. */
  readonly maxMessageBytes?: number
  readonly upstream?: UpstreamOptions
  /** How long the stream of a send waits for its follower, milliseconds. Default 10 s. */
  readonly keepStreamMs?: number
}

/** What all agents share. */
export interface A2aPeerDeps {
  /** Opened and closed by whoever made it. */
  readonly connections: Connections
  readonly clock: Clock
  /** JSON-RPC ids. Default: random. */
  wireId?(): string
  /** Steps that failed without failing anything. */
  note?(peer: string, taskId: string, what: string): void
}

/** Makes the peer of one agent. Nothing is fetched before it is asked for. */
export function createA2aPeer(deps: A2aPeerDeps, options: A2aPeerOptions): Peer {
  const { name } = options
  const { headers } = options.card
  const cards = createCardSource(deps, options.card)
  const streams = createOpenStreams(options.keepStreamMs ?? 10_000)
  const connect = createConnect(
    { connections: deps.connections, cards, wireId: deps.wireId ?? randomUUID },
    {
      peer: name,
      ...(headers === undefined ? {} : { headers }),
      ...(options.maxMessageBytes === undefined
        ? {}
        : { maxMessageBytes: options.maxMessageBytes }),
    },
  )
  const stop = new AbortController()
  const note = (taskId: string, what: string): void => deps.note?.(name, taskId, what)
  return {
    name,
    protocol: 'a2a',
    endpoint: createHash('sha256').update(cards.url).digest('hex'),
    trusted: options.trusted,
    upstream: createA2aUpstream({ connect, streams, clock: deps.clock, note }, options.upstream),
    async listing() {
      const card = await cards.current(stop.signal)
      if (card.kind !== 'usable') throw new Error(card.detail)
      const { fingerprint } = card
      const definition = toNative(card.text)
      return {
        capabilities: [
          { peer: name, protocol: 'a2a', kind: 'agent', name, fingerprint, definition, hints: {} },
        ],
        leftOut: [],
      }
    },
    report: () => reportOf(cards),
    onChanged: (listener) => cards.onChanged(listener),
    close() {
      stop.abort()
      streams.close()
      return Promise.resolve()
    },
  }
}

function reportOf(cards: CardSource): PeerReport {
  const card = cards.last()
  const transport = 'a2a jsonrpc'
  if (card === undefined) return { state: 'starting', transport }
  if (card.kind !== 'usable') return { state: 'failed', transport, detail: card.detail }
  const warnings = card.findings.map(({ path, message }) => `${path}: ${message}`)
  const detail = [...(card.stale === undefined ? [] : [card.stale]), ...warnings].join('; ')
  return {
    state: 'ready',
    transport,
    revision: card.interface.protocolVersion,
    callsItself: `${card.card.name} ${card.card.version}`,
    ...(detail === '' ? {} : { detail }),
  }
}

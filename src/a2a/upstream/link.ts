/**
 * The way to one agent as its card in force says: the chosen interface, ready to be called.
 *
 * Configured headers are bound to the card's origin here, once, whatever interface the card names.
 */
import { createJsonRpc, type JsonRpc } from '../bindings/jsonrpc.ts'
import type { Connections } from '../bindings/http.ts'
import type { AgentCapabilities } from '../wire/card-messages.ts'
import type { CardSource, NoCard } from './card.ts'

/** One agent, reachable. */
export interface AgentLink {
  readonly kind: 'link'
  /** The operator's name of it. */
  readonly peer: string
  readonly rpc: JsonRpc
  /** Echoed in every request when the chosen interface has one. */
  readonly tenant?: string
  readonly capabilities: AgentCapabilities
  /** Of the card in force. */
  readonly fingerprint: string
  /** A JSON-RPC id never used before. */
  wireId(): string
}

/** Gives the link, or says why there is none. Never rejects. */
export type Connect = (signal: AbortSignal) => Promise<AgentLink | NoCard>

/** What a link is made of. */
export interface LinkOptions {
  readonly peer: string
  readonly headers?: Readonly<Record<string, string>>
  readonly maxMessageBytes?: number
}

/** Makes the connector of one agent; the client of an interface is made once and kept. */
export function createConnect(
  deps: { readonly connections: Connections; readonly cards: CardSource; wireId(): string },
  options: LinkOptions,
): Connect {
  const headersOrigin = new URL(deps.cards.url).origin
  let made: { readonly url: string; readonly rpc: JsonRpc } | undefined
  return async (signal) => {
    const card = await deps.cards.current(signal)
    if (card.kind !== 'usable') return card
    const { url, tenant } = card.interface
    if (made?.url !== url) {
      const { headers, maxMessageBytes } = options
      made = {
        url,
        rpc: createJsonRpc(deps.connections, {
          url,
          headersOrigin,
          ...(headers === undefined ? {} : { headers }),
          ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
        }),
      }
    }
    return {
      kind: 'link',
      peer: options.peer,
      rpc: made.rpc,
      ...(tenant === undefined ? {} : { tenant }),
      capabilities: card.card.capabilities,
      fingerprint: card.fingerprint,
      wireId: deps.wireId,
    }
  }
}

/**
 * The card of a published agent: what the operator says of it, and nothing of the peers behind it.
 *
 * Only what this door serves is declared. A card is public and equal for everyone; who may use which skill is decided a call.
 *
 * @source A2A 1.0.1, 4.4 and 8
 */
import { createHash } from 'node:crypto'
import type { AgentCard } from '../wire/card-messages.ts'
import { encodeWire } from '../wire/codec.ts'
import { A2A_VERSION } from '../wire/rev-1-0.ts'
import type { PublishedAgent } from './options.ts'

/** A card ready to be sent. */
export interface ServedCard {
  readonly body: string
  /** A strong validator. */
  readonly etag: string
}

/** How long a card may be kept without asking again, seconds. */
export const CARD_MAX_AGE = 300

const MODES = ['text/plain', 'application/json'] as const

/**
 * Makes the card of one agent.
 *
 * @param url where the agent is served, `http://127.0.0.1:7878/a2a/desk`.
 * @param secured whether a bearer token is asked for.
 */
export function makeCard(agent: PublishedAgent, url: string, secured: boolean): ServedCard {
  const card: AgentCard = {
    name: agent.name,
    description: agent.description,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: A2A_VERSION }],
    version: agent.version,
    capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
    ...(secured
      ? {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
          securityRequirements: [{ schemes: { bearer: { list: [] } } }],
        }
      : {}),
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: agent.skills.map(({ id, description, text }) => ({
      id,
      name: id,
      description: description ?? `The skill ${id} of ${agent.name}.`,
      // Required and never empty by the protocol; the operator gives none.
      tags: [agent.name],
      inputModes: text === undefined ? ['application/json'] : MODES,
    })),
  }
  const body = JSON.stringify(encodeWire('AgentCard', card))
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27)
  return { body, etag: `"${hash}"` }
}

/** Whether an `If-None-Match` value names this card. @source RFC 9110, 13.1.2 (weak comparison) */
export function isMatched(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const named = ifNoneMatch.split(',').map((one) => one.trim().replace(/^W\//u, ''))
  return named.includes('*') || named.includes(etag)
}

/**
 * An agent card, shown as what it answers: who the agent is, what it does, how it is reached, how one authenticates.
 *
 * A card is a claim; nothing is sent to the agent itself.
 *
 * @source A2A 1.0, 4.4.1, 8.2 and 8.3.
 */
import { openConnections } from '../../a2a/bindings/http.ts'
import { createCardSource, type NoCard, type UsableCard } from '../../a2a/upstream/card.ts'
import type { AgentCard, SecurityScheme } from '../../a2a/wire/card-messages.ts'

/** What a card says, and what is wrong with it. */
export interface CardFacts {
  readonly at: string
  /** There is a way to talk to the agent by it. */
  readonly usable: boolean
  /** Why not. */
  readonly detail?: string
  readonly who?: string
  readonly description?: string
  readonly does?: readonly { readonly id: string; readonly name: string }[]
  readonly reached?: readonly string[]
  /** One requirement of these is enough; empty: none is asked for. */
  readonly authenticates?: readonly string[]
  readonly findings: readonly {
    readonly severity: 'error' | 'warning'
    readonly path: string
    readonly message: string
  }[]
}

export interface CardPlace {
  /** The card, or an address that ends in `/`: then the well-known place under it. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly allowedOrigins: readonly string[]
}

const TIMEOUT_MS = 8_000
const MOST_SKILLS = 100
const WORDS = 300

/** Reads it. Never rejects. */
export async function learnCard(place: CardPlace, signal: AbortSignal): Promise<CardFacts> {
  const connections = openConnections({ connectTimeoutMs: TIMEOUT_MS })
  try {
    const world = { connections, clock: { now: Date.now } }
    const source = createCardSource(world, { ...place, timeoutMs: TIMEOUT_MS })
    const found = await source.current(signal)
    return { at: showUrl(source.url), ...(found.kind === 'usable' ? usable(found) : none(found)) }
  } finally {
    await connections.close()
  }
}

/** Whether an address is meant to be a card's. */
export function looksLikeCard(url: string): boolean {
  return /\/(?:agent-card|agent)\.json$/.test(new URL(url).pathname)
}

function usable({ card, findings }: UsableCard): Omit<CardFacts, 'at'> {
  const { name, version, provider, description, skills, supportedInterfaces } = card
  const by = provider === undefined ? '' : `, by ${provider.organization}`
  return {
    usable: true,
    who: cut(`${name} ${version}${by}`),
    description: cut(description),
    does: skills
      .slice(0, MOST_SKILLS)
      .map((skill) => ({ id: cut(skill.id), name: cut(skill.name) })),
    reached: supportedInterfaces
      .slice(0, 20)
      .map((one) => cut(`${one.protocolBinding} ${one.protocolVersion} at ${one.url}`)),
    authenticates: waysIn(card),
    findings,
  }
}

function none({ detail, findings }: NoCard): Omit<CardFacts, 'at'> {
  return { usable: false, detail, findings: findings.slice(0, 50) }
}

/** Each requirement as one way: all of its schemes together. */
function waysIn({ securityRequirements = [], securitySchemes = {} }: AgentCard): readonly string[] {
  return securityRequirements.slice(0, 20).map(({ schemes = {} }) => {
    const all = Object.entries(schemes).map(([name, { list = [] }]) => {
      const scopes = list.length === 0 ? '' : ` for ${list.join(', ')}`
      return `${name} (${sayScheme(securitySchemes[name])})${scopes}`
    })
    return cut(all.length === 0 ? 'nothing' : all.join(' and '))
  })
}

function sayScheme(scheme: SecurityScheme | undefined): string {
  if (scheme === undefined) return 'not described'
  const {
    apiKeySecurityScheme: key,
    httpAuthSecurityScheme: http,
    openIdConnectSecurityScheme: openId,
  } = scheme
  if (key !== undefined) return `a key in the ${key.location} ${key.name}`
  if (http !== undefined) return `Authorization: ${http.scheme}`
  if (openId !== undefined) return `OpenID Connect, ${openId.openIdConnectUrl}`
  const { oauth2SecurityScheme: oauth, mtlsSecurityScheme: certificate } = scheme
  if (oauth !== undefined) return `OAuth 2.0, ${Object.keys(oauth.flows).join(', ')}`
  return certificate === undefined ? 'of a kind that is not known here' : 'a client certificate'
}

function showUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

function cut(text: string): string {
  return text.length <= WORDS ? text : `${text.slice(0, WORDS - 1)}…`
}

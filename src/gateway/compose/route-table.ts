/**
 * The trusted table from exposed names and URIs to capabilities, made anew from what peers list now.
 *
 * Names follow from configuration and the peer's own name alone (`core/words/exposed-name`). A URI that two peers offer
 * belongs to the first in the configuration, also while that one is not listed yet, once it is known to offer it. Pure.
 */
import type { ListKind } from '../../core/ports/catalogue.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { Capability } from '../../core/words/capability.ts'
import {
  exposedName,
  scopedTemplate,
  scopedUri,
  type TextDigest,
} from '../../core/words/exposed-name.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import { type AppPages, exposeAppPages } from './app-pages.ts'
import { delegationTool } from '../../bridge/skill-as-tool.ts'
import { jsonText } from '../../mcp/wire/native.ts'
import { encodeJson, setMembers } from '../../mcp/wire/spans.ts'

export interface Row {
  readonly route: Route
  /** What callers see of it. */
  readonly definition: JsonText
}

export type RouteTable = Readonly<Record<ListKind, ReadonlyMap<string, Row>>> & {
  /** Pages that tools name and no peer lists, by the address that callers know. */
  readonly apps: AppPages
}

export interface Offer {
  readonly peer: Peer
  /** Undefined: not listed yet. */
  readonly capabilities?: readonly Capability[]
}

export interface NamingRules {
  /** Every configured peer name, connected or not. */
  readonly peers: readonly string[]
  readonly names: 'prefixed' | 'as-is'
  readonly digest: TextDigest
  /** Whether a peer that is not listed yet is known, from an earlier run, to offer this. */
  wasOffered(peer: Peer, kind: 'resource' | 'template', name: string): boolean
}

/** Two capabilities that cannot both have their name or URI, told apart from what peers left out themselves. */
export interface Clash {
  readonly peer: string
  readonly kind: Capability['kind']
  readonly name: string
  readonly reason: string
}

/**
 * @param offers in the order of the configuration.
 * @returns the table and what found no place in it.
 */
export function buildRouteTable(
  offers: readonly Offer[],
  rules: NamingRules,
): { readonly table: RouteTable; readonly clashes: readonly Clash[] } {
  const table: Record<ListKind, Map<string, Row>> = {
    tool: new Map(),
    prompt: new Map(),
    resource: new Map(),
    template: new Map(),
  }
  const clashes: Clash[] = []
  const uses = rules.names === 'as-is' ? countNames(offers) : new Map<string, number>()
  const awaited: Peer[] = []
  for (const { peer, capabilities } of offers) {
    if (capabilities === undefined) awaited.push(peer)
    for (const capability of capabilities ?? []) {
      const kind = listKindOf(capability)
      const rows = table[kind]
      const exposed = exposedOf(peer, capability, { rows, awaited, rules, uses })
      const holder = rows.get(exposed)
      if (holder !== undefined) {
        clashes.push({
          peer: peer.name,
          kind: capability.kind,
          name: capability.name,
          reason: `its exposed name ${exposed} is taken by ${holder.route.peer}/${holder.route.capability}`,
        })
        continue
      }
      rows.set(exposed, rowOf(peer, capability, exposed))
    }
  }
  const apps = exposeAppPages(offers, table)
  return { table: { ...table, apps }, clashes }
}

/** The capability's route without its place in a table. */
export function routeOf(peer: Peer, capability: Capability, exposed: string): Route {
  return {
    exposed,
    peer: peer.name,
    protocol: capability.protocol,
    kind: capability.kind,
    capability: capability.name,
    endpoint: peer.endpoint,
    fingerprint: capability.fingerprint,
    hints: capability.hints,
    trusted: peer.trusted,
  }
}

/** A capability without a definition of its own: left out, or not listed. It claims nothing. */
export function bareCapability(peer: Peer, kind: Capability['kind'], name: string): Capability {
  return {
    peer: peer.name,
    protocol: peer.protocol,
    kind,
    name,
    fingerprint: '',
    definition: { bytes: new Uint8Array(), value: () => ({}) },
    hints: {},
  }
}

function listKindOf(capability: Capability): ListKind {
  return capability.kind === 'agent' ? 'tool' : capability.kind
}

function exposedOf(
  peer: Peer,
  capability: Capability,
  among: {
    readonly rows: ReadonlyMap<string, Row>
    /** Earlier peers that are not listed yet. */
    readonly awaited: readonly Peer[]
    readonly rules: NamingRules
    readonly uses: ReadonlyMap<string, number>
  },
): string {
  const { rows, awaited, rules, uses } = among
  const { kind, name } = capability
  if (kind === 'agent') return exposedName('delegate', peer.name, rules.peers, rules.digest)
  if (kind === 'tool' || kind === 'prompt') {
    if (uses.get(`${kind} ${name}`) === 1) return name
    return exposedName(peer.name, name, rules.peers, rules.digest)
  }
  // Addresses in comity's own space are comity's to give: a peer's there could pass for another peer's, or for an artifact.
  const isOurs = /^comity:/iu.test(name)
  const isHeld =
    isOurs || rows.has(name) || awaited.some((one) => rules.wasOffered(one, kind, name))
  if (!isHeld) return name
  return (kind === 'template' ? scopedTemplate : scopedUri)(peer.name, name)
}

/** For `names: as-is`: how many capabilities want each name. Ours come first and are never given away. */
function countNames(offers: readonly Offer[]): Map<string, number> {
  const uses = new Map<string, number>([
    ['tool task_status', 2],
    ['tool task_answer', 2],
    ['tool task_cancel', 2],
  ])
  for (const { capabilities } of offers) {
    for (const capability of capabilities ?? []) {
      const key = `${listKindOf(capability)} ${capability.name}`
      uses.set(key, (uses.get(key) ?? 0) + 1)
    }
  }
  return uses
}

function rowOf(peer: Peer, capability: Capability, exposed: string): Row {
  const route = routeOf(peer, capability, exposed)
  if (capability.kind === 'agent')
    return { route, definition: agentDefinition(capability, exposed) }
  const member =
    capability.kind === 'resource' ? 'uri' : capability.kind === 'template' ? 'uriTemplate' : 'name'
  if (exposed === capability.name) return { route, definition: capability.definition }
  const bytes = setMembers(capability.definition.bytes, undefined, {
    [member]: encodeJson(exposed),
  })
  return { route, definition: jsonText(bytes) }
}

function agentDefinition(capability: Capability, exposed: string): JsonText {
  const card = asRecord(capability.definition.value())
  const skills = Array.isArray(card['skills']) ? card['skills'].map(asRecord) : []
  const tool = delegationTool({
    name: exposed,
    title: String(card['name'] ?? capability.name),
    description: String(card['description'] ?? ''),
    skills: skills.map((skill) => ({
      name: String(skill['name'] ?? skill['id']),
      description: String(skill['description'] ?? ''),
    })),
  })
  return jsonText(encodeJson(tool))
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * Is this agent card usable, and through which interface?
 *
 * Pure: works on the JSON of a card and where it came from. Fetching and caching is upstream/card.ts's
 * matter. A card is a claim: it can add nothing to what the operator allowed, so the interface must lie
 * at the card's own origin unless the operator named another one.
 */
import type { AgentCard, AgentInterface } from './card-messages.ts'
import { parseWire } from './codec.ts'
import { type Field, type Kind, type MessageName, SHAPES } from './fields.ts'
import { A2A_VERSION, parseVersion } from './rev-1-0.ts'

/** One thing found in a card, for people. An `error` makes the card unusable. */
export interface Finding {
  readonly severity: 'error' | 'warning'
  readonly path: string
  readonly message: string
}

/** How we would talk to the agent. */
export interface ChosenInterface {
  readonly url: string
  readonly protocolBinding: 'JSONRPC'
  readonly protocolVersion: '1.0'
  /** Echoed exactly in every request, or left out when the card has none. @source A2A 1.0.1, 3.1 */
  readonly tenant?: string
}

/** What the operator laid down about one agent's card. */
export interface CardRules {
  /** Where the card was fetched from. */
  readonly cardUrl: string
  /** Origins (`https://host[:port]`) at which an interface may lie besides the card's own. */
  readonly allowedOrigins?: readonly string[]
}

/** What reading a card gives. `interface` is there exactly when the card is usable. */
export interface CardReading {
  readonly card?: AgentCard
  readonly interface?: ChosenInterface
  readonly findings: readonly Finding[]
}

/**
 * Parses and judges a card.
 *
 * @param value the card as JSON.parse gave it.
 * @source A2A 1.0.1, 4.4.1 and 8.3.2 (the first mutually supported interface is taken)
 */
export function readCard(value: unknown, rules: CardRules): CardReading {
  if (looksLegacy(value)) {
    const message =
      'this is a 0.3 card (url, preferredTransport); expected A2A 1.0 with supportedInterfaces. 0.3 agents are not in this version'
    return { findings: [{ severity: 'error', path: '', message }] }
  }
  // Emitters drop empty lists, REQUIRED ones too; what an empty one means is judged below.
  const parsed = parseWire('AgentCard', withVersions(value), { emptyLists: 'allow' })
  if (!parsed.ok) {
    return { findings: parsed.violations.map((found) => ({ severity: 'error', ...found })) }
  }
  const card = parsed.value
  const findings = judgeContent(card)
  const chosen = chooseInterface(card.supportedInterfaces, rules)
  const all = [...findings, ...chosen.findings]
  if (chosen.interface === undefined || all.some((found) => found.severity === 'error')) {
    return { card, findings: all }
  }
  return { card, interface: chosen.interface, findings: all }
}

/** 0.3 cards carry their address at the top. A hybrid has both forms and is read as 1.0. */
function looksLegacy(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const modern =
    Object.hasOwn(value, 'supportedInterfaces') || Object.hasOwn(value, 'supported_interfaces')
  return !modern && Object.hasOwn(value, 'url')
}

/** An interface without a version is left for `chooseInterface` to judge: it must not take the whole card away. */
function withVersions(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const key = ['supportedInterfaces', 'supported_interfaces'].find((name) =>
    Object.hasOwn(value, name),
  )
  const offered = key === undefined ? undefined : (value as Readonly<Record<string, unknown>>)[key]
  if (key === undefined || !Array.isArray(offered)) return value
  const versioned = (offered as readonly unknown[]).map((one) =>
    typeof one !== 'object' || one === null || Array.isArray(one) || hasVersion(one)
      ? one
      : { ...one, protocolVersion: '' },
  )
  return { ...value, [key]: versioned }
}

function hasVersion(one: object): boolean {
  const { protocolVersion, protocol_version: snake } = one as Readonly<Record<string, unknown>>
  return (protocolVersion ?? snake ?? null) !== null
}

function judgeContent(card: AgentCard): Finding[] {
  const findings: Finding[] = []
  const error = (path: string, message: string): void => {
    findings.push({ severity: 'error', path, message })
  }
  const warn = (path: string, message: string): void => {
    findings.push({ severity: 'warning', path, message })
  }
  if (card.name.trim() === '') error('name', 'required and empty')
  if (card.skills.length === 0) {
    error('skills', 'the agent names no skill: nothing can be asked of it by its own account')
  }
  const ids = new Set<string>()
  for (const [index, skill] of card.skills.entries()) {
    if (ids.has(skill.id)) warn(`skills[${index}].id`, 'given twice; the first one counts')
    ids.add(skill.id)
  }
  if (card.defaultInputModes.length === 0) warn('defaultInputModes', 'empty; text/plain is assumed')
  if (card.defaultOutputModes.length === 0) warn('defaultOutputModes', 'empty')
  for (const extension of card.capabilities.extensions ?? []) {
    if (extension.required === true) {
      error(
        'capabilities.extensions',
        `the agent requires the extension ${JSON.stringify(extension.uri?.slice(0, 200) ?? '')}, which is not spoken here`,
      )
    }
  }
  return findings
}

function chooseInterface(
  interfaces: readonly AgentInterface[],
  rules: CardRules,
): { readonly interface?: ChosenInterface; readonly findings: readonly Finding[] } {
  const findings: Finding[] = []
  for (const [index, offered] of interfaces.entries()) {
    const problem = interfaceProblem(offered, rules)
    const path = `supportedInterfaces[${index}]`
    if (problem === undefined) {
      if (offered.protocolVersion.trim() === '') {
        const message = `it has no protocolVersion; tried as ${A2A_VERSION}, since only cards of 1.0 have this list`
        findings.push({ severity: 'warning', path, message })
      }
      const { url, tenant } = offered
      return {
        interface: {
          url,
          protocolBinding: 'JSONRPC',
          protocolVersion: A2A_VERSION,
          ...(tenant === undefined || tenant === '' ? {} : { tenant }),
        },
        findings,
      }
    }
    findings.push({ severity: 'warning', path, message: `passed over: ${problem}` })
  }
  const offered = findings.map(({ message }) => message).join('; ')
  return {
    findings: [
      ...findings,
      {
        severity: 'error',
        path: 'supportedInterfaces',
        message: `none can be used here (${offered === '' ? 'the list is empty' : offered}); expected one with protocolBinding JSONRPC, version ${A2A_VERSION}`,
      },
    ],
  }
}

function interfaceProblem(offered: AgentInterface, rules: CardRules): string | undefined {
  // The literals are exact: "jsonrpc" is another, unknown binding. @source A2A 1.0.1, 4.4.6
  if (offered.protocolBinding !== 'JSONRPC') {
    return `binding ${quote(offered.protocolBinding)} is not spoken here`
  }
  const version = parseVersion(offered.protocolVersion)
  const unversioned = offered.protocolVersion.trim() === ''
  if (!unversioned && (version.kind === 'unreadable' || version.version !== A2A_VERSION)) {
    return `protocol version ${quote(offered.protocolVersion)} is not spoken here`
  }
  if (!URL.canParse(offered.url)) return `${quote(offered.url)} is not an absolute URL`
  const url = new URL(offered.url)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return `${quote(offered.url)} is not an http or https URL`
  }
  if (url.username !== '' || url.password !== '') return 'its URL holds credentials'
  const home = new URL(rules.cardUrl).origin
  if (url.origin === home) return undefined
  const allowed = (rules.allowedOrigins ?? []).some(
    (origin) => URL.canParse(origin) && new URL(origin).origin === url.origin,
  )
  if (allowed) return undefined
  return `it lies at ${url.origin}, the card at ${home}; allow that origin for this agent if it is right`
}

/**
 * The bytes of a card without its signatures, for fingerprints: keys sorted, defaults dropped by the
 * presence rules, so that another key order or an explicit empty list is no change.
 *
 * Members this revision does not know are kept: a change in them is a change of the card.
 *
 * @param value the card as JSON.parse gave it.
 * @source A2A 1.0.1, 8.4.1 (presence) and RFC 8785 (form)
 */
export function canonicalCard(value: unknown): Uint8Array {
  const kept = keepMessage('AgentCard', value)
  if (typeof kept === 'object' && kept !== null)
    delete (kept as Record<string, unknown>)['signatures']
  return new TextEncoder().encode(canonicalJson(kept))
}

function keepMessage(name: MessageName, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const source = value as Readonly<Record<string, unknown>>
  const rows = new Map<string, Field>()
  for (const field of SHAPES[name].fields) {
    rows.set(field.json, field)
    rows.set(field.alias, field)
  }
  const kept: [string, unknown][] = []
  for (const [key, item] of Object.entries(source)) {
    const field = rows.get(key)
    if (field === undefined) kept.push([key, item])
    else if (!isDropped(field, item)) kept.push([field.json, keepField(field, item)])
  }
  return Object.fromEntries(kept)
}

function isDropped(field: Field, value: unknown): boolean {
  if (field.required) return false
  if (value === null) return field.kind !== 'value'
  if (field.presence === 'repeated') return Array.isArray(value) && value.length === 0
  if (field.presence === 'map') return typeof value === 'object' && Object.keys(value).length === 0
  if (field.presence !== 'implicit') return false
  return value === '' || value === false || value === 0
}

function keepField(field: Field, value: unknown): unknown {
  if (field.presence === 'repeated' && Array.isArray(value)) {
    return value.map((item) => keepValue(field.kind, item))
  }
  if (field.presence === 'map' && typeof value === 'object' && value !== null) {
    const entries = Object.entries(value as Readonly<Record<string, unknown>>)
    return Object.fromEntries(entries.map(([key, item]) => [key, keepValue(field.kind, item)]))
  }
  return keepValue(field.kind, value)
}

function keepValue(kind: Kind, value: unknown): unknown {
  return typeof kind === 'object' && 'message' in kind ? keepMessage(kind.message, value) : value
}

/** RFC 8785 for values that came from JSON.parse: its numbers and strings are written the same way. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const source = value as Readonly<Record<string, unknown>>
    // Default order of sort is by UTF-16 units, as the RFC asks.
    const members = Object.keys(source).toSorted()
    return `{${members.map((key) => `${JSON.stringify(key)}:${canonicalJson(source[key])}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 200))
}

/**
 * The terms of a session: what `initialize` agreed on and what the caller set since, as they are kept across restarts.
 *
 * Which questions a caller can bear is its own word, held to what its revision knows.
 *
 * @source MCP 2025-11-25, basic, lifecycle, capability negotiation; client, elicitation (form from 2025-06-18, url from 2025-11-25)
 */
import { isObject } from '../../core/words/is-object.ts'
import type { CallerCan } from '../../core/words/question.ts'
import type { RpcRequest } from '../wire/json-rpc.ts'
import { LEGACY_REVISION, LEGACY_REVISIONS, type LegacyRevision } from '../wire/rev-2025-11-25.ts'
import { findMember, readString, readValue, scanObject } from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { isLogLevel, readCallerCan, type LogLevel } from './request-meta.ts'

export interface SessionTerms {
  readonly revision: LegacyRevision
  /** As the caller declared them. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** How the caller names itself, clipped: its own word, drives nothing. */
  readonly client?: string
  logLevel?: LogLevel
  /** URIs as the caller named them. */
  subscriptions: readonly string[]
}

/** Most characters of the capabilities that a caller declares; they are kept. */
const MAX_DECLARED = 16_384
/** Characters that are kept of its name and version, each. */
const MAX_NAME = 100

/** Terms of a request that belongs to no session. */
export function sessionlessTerms(revision: LegacyRevision): SessionTerms {
  return { revision, capabilities: {}, subscriptions: [] }
}

/**
 * Reads the params of `initialize`: the version asked for if served, else our newest.
 *
 * @returns what is wrong with them, as text, when they cannot be agreed to.
 * @throws JsonFault for params of which two readers may disagree.
 */
export function agreeTerms(request: RpcRequest): SessionTerms | string {
  const { bytes, params } = request
  if (params === undefined) return 'initialize needs params.protocolVersion, a string'
  const members = scanObject(bytes, params, { validated: true, allowDuplicates: true })
  const version = findMember(members, 'protocolVersion')
  if (version?.type !== 'string') return 'initialize needs params.protocolVersion, a string'
  const asked = readString(bytes, version.value)
  const member = findMember(members, 'capabilities')
  if (member !== undefined) checkStrict(bytes, member.value)
  const capabilities = member === undefined ? {} : readValue(bytes, member.value)
  if (!isObject(capabilities)) return 'params.capabilities must be an object'
  if (JSON.stringify(capabilities).length > MAX_DECLARED) {
    return `params.capabilities must be at most ${MAX_DECLARED} characters`
  }
  const info = findMember(members, 'clientInfo')
  const client = info === undefined ? undefined : nameOf(readValue(bytes, info.value))
  return {
    revision: LEGACY_REVISIONS.find((revision) => revision === asked) ?? LEGACY_REVISION,
    capabilities,
    ...(client === undefined ? {} : { client }),
    subscriptions: [],
  }
}

function nameOf(clientInfo: unknown): string | undefined {
  if (!isObject(clientInfo)) return undefined
  const words = [clientInfo['name'], clientInfo['version']]
  return words
    .filter((word) => typeof word === 'string')
    .map((word) => word.slice(0, MAX_NAME))
    .join(' ')
}

/** Which questions may be put to this caller. A task in its call is held for it: its revision has none of that kind. */
export function callerCanOf(terms: SessionTerms): CallerCan {
  const known = held.get(terms.capabilities)
  if (known !== undefined) return known
  const can: CallerCan = { ...askableOf(terms), tasks: 'held' }
  held.set(terms.capabilities, can)
  return can
}

/** By capabilities, which are of one session. */
const held = new WeakMap<SessionTerms['capabilities'], CallerCan>()

function askableOf({ revision, capabilities }: SessionTerms): CallerCan {
  const said = readCallerCan(capabilities)
  if (revision === LEGACY_REVISION) return said
  const form = revision === '2025-06-18' && isObject(capabilities['elicitation'])
  return { ...said, form, url: false }
}

/** Whether a sampling question may bring tools. */
export function canSampleTools({ revision, capabilities }: SessionTerms): boolean {
  const { sampling } = capabilities
  return revision === LEGACY_REVISION && isObject(sampling) && isObject(sampling['tools'])
}

/** The text that is kept. */
export function encodeTerms(terms: SessionTerms): string {
  return JSON.stringify(terms)
}

/** @returns undefined for a text that this version cannot read: its caller opens another session. */
export function parseTerms(text: string): SessionTerms | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { capabilities, subscriptions, logLevel, client } = value
  const revision = LEGACY_REVISIONS.find((known) => known === value['revision'])
  if (revision === undefined || !isObject(capabilities)) return undefined
  const level = typeof logLevel === 'string' && isLogLevel(logLevel) ? logLevel : undefined
  return {
    revision,
    capabilities,
    ...(typeof client === 'string' ? { client } : {}),
    ...(level === undefined ? {} : { logLevel: level }),
    subscriptions: Array.isArray(subscriptions)
      ? subscriptions.filter((uri) => typeof uri === 'string')
      : [],
  }
}

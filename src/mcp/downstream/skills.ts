/**
 * Skills of several peers as those of one server: `skills/list`, `skills/get` and `resources/directory/read`.
 *
 * An entry's addresses become those under which its files are read here, all together; its other bytes stay as they came, so
 * that digests and frontmatter hold. A skill is its peer's: two peers' skills at one URI stay two.
 *
 * @source Skills extension (SEP-2640): listing, getting, reading directories
 */
import type { AskedPeer, Catalogue } from '../../core/ports/catalogue.ts'
import { parseScopedUri } from '../../core/words/exposed-name.ts'
import { isObject } from '../../core/words/is-object.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { jsonText } from '../wire/native.ts'
import { MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import {
  encodeJson,
  findMember,
  readString,
  readValue,
  scanArray,
  scanObject,
  setMembers,
  sliceOf,
  type Changes,
  type Member,
} from '../wire/spans.ts'
import { badParams, ourError, type Answer, type ErrorAnswer } from './answer.ts'
import { SKILLS_EXTENSION } from './extensions.ts'
import { arrayOf, MISSING_META } from './lists.ts'
import type { Door } from './options.ts'
import { askPeer, type Asked } from './query-answer.ts'
import { exposeEntry, exposeResource, type Expose } from './skill-entry.ts'
import { stringParam, type Visit } from './visit.ts'

/** Pages of peers that one request may take. */
const MAX_PAGES = 50

/** Where a list goes on: at which peer, after which page of its own. */
interface Cursor {
  readonly kind: 'skill' | 'directory'
  readonly principal: string
  readonly peer: string
  /** The peer's own; absent for its first page. */
  readonly cursor?: string
  /** For a directory: the peer's own address of it. */
  readonly uri?: string
}

interface Missing {
  readonly peer: string
  readonly reason: string
}

/** `skills/list`: peers in their order, page by page, as many as make one of ours. */
export async function listSkills(door: Door, visit: Visit): Promise<Answer> {
  const peers = await peersOf(door, visit)
  if (peers.length === 0) return unknownMethod('skills/list')
  const from = readCursor(door, visit, 'skill')
  if (from !== undefined && 'code' in from) return from
  const first = from === undefined ? 0 : peers.findIndex(({ name }) => name === from.peer)
  if (first < 0) return badParams('the list changed since this cursor was given: start over')

  const skills: Uint8Array[] = []
  const missing: Missing[] = []
  let at = { peer: first, cursor: from?.cursor }
  let ttlMs = Number.POSITIVE_INFINITY
  for (let pages = 0; pages < MAX_PAGES && skills.length < door.limits.pageSize; pages += 1) {
    const peer = peers[at.peer]
    if (peer === undefined) break
    const page = await readPage(door, visit, peer, at.cursor)
    skills.push(...page.skills)
    missing.push(...page.missing)
    ttlMs = Math.min(ttlMs, page.ttlMs)
    at =
      page.next === undefined
        ? { peer: at.peer + 1, cursor: undefined }
        : { ...at, cursor: page.next }
  }
  if (from === undefined && skills.length === 0 && missing.length >= peers.length) {
    const reasons = missing.map(({ peer, reason }) => `${peer}: ${reason}`).join('; ')
    return ourError(RPC_ERRORS.internal, `no peer's skills could be listed: ${reasons}`)
  }
  const next = peers[at.peer]
  const cursor = next === undefined ? undefined : cursorAt('skill', visit, next.name, at.cursor)
  return {
    kind: 'result',
    bytes: setMembers(encodeJson({}), undefined, {
      skills: arrayOf(skills),
      ...cursorMember(door, cursor),
      ...missingMember(missing),
    }),
    revision: MODERN_REVISION,
    ttlMs: missing.length > 0 || !Number.isFinite(ttlMs) ? 0 : ttlMs,
  }
}

/** `skills/get`: from the peer whose address it is, else the first that serves it. */
export async function getSkill(door: Door, visit: Visit): Promise<Answer> {
  const peers = await peersOf(door, visit)
  if (peers.length === 0) return unknownMethod('skills/get')
  const uri = stringParam(visit, 'uri')
  if (uri === undefined) return badParams('skills/get needs params.uri, a string')
  for (const { peer, own } of await candidates(door, visit, peers, uri)) {
    const came = await ask(visit, peer, 'skills/get', { uri: own })
    if (came.kind !== 'result') continue
    const answer = readable(() => {
      const skill = findMember(scanObject(came.bytes), 'skill')
      const entry =
        skill?.type === 'object'
          ? exposeEntry(sliceOf(came.bytes, skill.value), exposeFor(door, visit, peer))
          : undefined
      return entry === undefined ? undefined : setMembers(came.bytes, undefined, { skill: entry })
    })
    if (answer !== undefined)
      return { kind: 'result', bytes: answer, revision: MODERN_REVISION, ttlMs: ttlOf(came.bytes) }
  }
  return badParams(`no skill is served at ${uri.slice(0, 500)}`, { uri: uri.slice(0, 8192) })
}

/** `resources/directory/read`, where some peer has it. */
export async function readDirectory(door: Door, visit: Visit): Promise<Answer> {
  const peers = await peersOf(door, visit)
  const features = await door.ports.catalogue.features?.(visit.principal)
  const settings = features?.extensions[SKILLS_EXTENSION]
  if (peers.length === 0 || !isObject(settings) || settings['directoryRead'] !== true)
    return unknownMethod('resources/directory/read')
  const uri = stringParam(visit, 'uri')
  if (uri === undefined) return badParams('resources/directory/read needs params.uri, a string')
  const from = readCursor(door, visit, 'directory')
  if (from !== undefined && 'code' in from) return from
  const all = await candidates(door, visit, peers, uri)
  const asked =
    from === undefined
      ? all
      : all.filter(({ peer, own }) => peer.name === from.peer && own === from.uri)
  for (const { peer, own } of asked) {
    const params = { uri: own, ...(from?.cursor === undefined ? {} : { cursor: from.cursor }) }
    const came = await ask(visit, peer, 'resources/directory/read', params)
    if (came.kind !== 'result') continue
    const answer = readable(() => directoryOf(door, visit, { peer, own }, came.bytes))
    if (answer !== undefined) return { kind: 'result', bytes: answer, revision: MODERN_REVISION }
  }
  return badParams(`${uri.slice(0, 500)} is not a directory resource`, { uri: uri.slice(0, 8192) })
}

function directoryOf(
  door: Door,
  visit: Visit,
  at: Candidate,
  bytes: Uint8Array,
): Uint8Array | undefined {
  const members = scanObject(bytes)
  const resources = findMember(members, 'resources')
  if (resources?.type !== 'array') return undefined
  const expose = exposeFor(door, visit, at.peer)
  const shown = scanArray(bytes, resources.value).flatMap((item) => {
    const child = exposeResource(sliceOf(bytes, item), expose)
    return child === undefined ? [] : [child]
  })
  const next = stringOf(bytes, members, 'nextCursor')
  const cursor =
    next === undefined
      ? undefined
      : { ...cursorAt('directory', visit, at.peer.name, next), uri: at.own }
  return setMembers(bytes, undefined, {
    resources: arrayOf(shown),
    nextCursor: cursorMember(door, cursor)['nextCursor'],
  })
}

/** One page of one peer. What is no skill is said to be missing; so is the rest of a list that turns in circles. */
async function readPage(
  door: Door,
  visit: Visit,
  peer: AskedPeer,
  cursor: string | undefined,
): Promise<{
  readonly skills: readonly Uint8Array[]
  readonly missing: readonly Missing[]
  readonly ttlMs: number
  readonly next?: string
}> {
  const failed = (reason: string) => ({
    skills: [],
    missing: [{ peer: peer.name, reason }],
    ttlMs: 0,
  })
  const came = await ask(visit, peer, 'skills/list', cursor === undefined ? {} : { cursor })
  if (came.kind === 'missing') return failed(came.reason)
  if (came.kind === 'error')
    return failed(visit.principal.via === 'token' ? 'not reached' : came.error.message)
  const read = readable(() => {
    const { bytes } = came
    const members = scanObject(bytes)
    const list = findMember(members, 'skills')
    if (list?.type !== 'array') return undefined
    const expose = exposeFor(door, visit, peer)
    const entries = scanArray(bytes, list.value).map((item) =>
      readable(() => exposeEntry(sliceOf(bytes, item), expose)),
    )
    const next = stringOf(bytes, members, 'nextCursor')
    const skills = entries.filter((entry) => entry !== undefined)
    const left = entries.length - skills.length
    const reason = `${left} of its skills cannot be shown`
    return {
      skills,
      missing: left === 0 ? [] : [{ peer: peer.name, reason }],
      ttlMs: ttlOf(bytes),
      ...(next === undefined || next === cursor ? {} : { next }),
    }
  })
  return read ?? failed('its list of skills cannot be read')
}

interface Candidate {
  readonly peer: AskedPeer
  /** The address as that peer has it. */
  readonly own: string
}

/** Whose address it is, alone; for one that nobody gave yet, every peer in order. */
async function candidates(
  { ports }: Door,
  { principal }: Visit,
  peers: readonly AskedPeer[],
  uri: string,
): Promise<readonly Candidate[]> {
  const route = await ports.catalogue.resolve('resource', uri, principal)
  const owner = peers.find(({ name }) => name === route?.peer)
  if (route !== undefined && owner !== undefined && route.pinned === undefined)
    return [{ peer: owner, own: route.capability }]
  const scoped = parseScopedUri(uri)
  if (scoped === undefined) return peers.map((peer) => ({ peer, own: uri }))
  return peers.filter(({ name }) => name === scoped.peer).map((peer) => ({ peer, own: scoped.uri }))
}

async function peersOf({ ports }: Door, { principal }: Visit): Promise<readonly AskedPeer[]> {
  return (await ports.catalogue.peersWith?.(SKILLS_EXTENSION, principal)) ?? []
}

function ask(
  visit: Visit,
  peer: AskedPeer,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Asked> {
  const query = { method, params: jsonText(encodeJson(params)) }
  return askPeer(visit, peer.name, () => peer.query(query, visit.caller.signal))
}

function exposeFor({ ports }: Door, { principal }: Visit, { name }: AskedPeer): Expose {
  const { catalogue }: { readonly catalogue: Catalogue } = ports
  return (uris) => catalogue.expose?.(principal, name, uris) ?? uris.map(() => undefined)
}

/** A peer's result that readers may disagree about is none. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined
    throw fault
  }
}

function readCursor(
  door: Door,
  visit: Visit,
  kind: Cursor['kind'],
): Cursor | ErrorAnswer | undefined {
  const member = findMember(visit.members, 'cursor')
  if (member === undefined || member.type === 'null') return undefined
  const text = stringParam(visit, 'cursor')
  const cursor =
    text === undefined ? undefined : (door.seal.open('cursor', text) as Cursor | undefined)
  const ours = cursor?.kind === kind && cursor.principal === visit.principal.id
  return ours ? cursor : badParams('invalid cursor: start over without it')
}

function cursorAt(
  kind: Cursor['kind'],
  visit: Visit,
  peer: string,
  cursor: string | undefined,
): Cursor {
  return {
    kind,
    principal: visit.principal.id,
    peer,
    ...(cursor === undefined ? {} : { cursor }),
  }
}

function cursorMember(door: Door, cursor: Cursor | undefined): Changes {
  return cursor === undefined ? {} : { nextCursor: encodeJson(door.seal.seal('cursor', cursor)) }
}

function missingMember(missing: readonly Missing[]): Changes {
  return missing.length === 0 ? {} : { _meta: encodeJson({ [MISSING_META]: missing }) }
}

function stringOf(bytes: Uint8Array, members: readonly Member[], key: string): string | undefined {
  const member = findMember(members, key)
  return member?.type === 'string' ? readString(bytes, member.value) : undefined
}

function ttlOf(bytes: Uint8Array): number {
  const ttl = findMember(scanObject(bytes), 'ttlMs')
  const value = ttl?.type === 'number' ? readValue(bytes, ttl.value) : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

function unknownMethod(method: string): Answer {
  return ourError(RPC_ERRORS.methodNotFound, `method not found: ${method}`)
}

/**
 * What one server offers, parsed item by item: a bad tool, page or list takes nothing else away,
 * and what is missing is named with its reason.
 *
 * Loops are bounded: a cursor that comes back ends the list, so do its budgets of pages, items and bytes;
 * and others have their turn while a long list is read.
 *
 * @source MCP 2026-07-28, server features and utilities, pagination; 2025-11-25, tools (execution).
 */
import { setImmediate as turn } from 'node:timers/promises'
import type {
  Capability,
  CapabilityHints,
  CapabilityKind,
  LeftOut,
} from '../../core/words/capability.ts'
import type { Digest } from '../../core/ports/world.ts'
import { hopParams, readResultHead, type Hop } from '../wire/codec.ts'
import { readParamHeaders, type ParamHeader } from '../wire/headers.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { jsonText } from '../wire/native.ts'
import { RESULT_TYPES, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { checkStrict } from '../wire/strict.ts'
import {
  encodeJson,
  findMember,
  readString,
  scanArray,
  scanObject,
  sliceOf,
  textOf,
} from '../wire/spans.ts'
import type { Item, Member } from '../wire/spans.ts'
import type { Connected } from './connect.ts'
import { declaresLegacyTasks, readTaskSupport, type TaskSupport } from './legacy-task-terms.ts'
import { LinkFailure } from './link.ts'

export interface ListOptions {
  readonly peer: string
  readonly digest: Digest
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /** Pages a list may have. Default 200. */
  readonly maxPages?: number
  /** Items a list may have. Default 10000. */
  readonly maxItems?: number
  /** Bytes that all pages of a list may have. Default 64 MiB. */
  readonly maxListBytes?: number
}

export interface ServerListing {
  readonly capabilities: readonly Capability[]
  readonly leftOut: readonly LeftOut[]
  /** Annotated arguments by tool name; those without are not in it. */
  readonly paramHeaders: ReadonlyMap<string, readonly ParamHeader[]>
  /** By tool name: how far it is called as a task of 2025-11-25. Left out: no tool is. */
  readonly taskSupport?: ReadonlyMap<string, TaskSupport>
  /** The shortest time the server gave any of its lists, milliseconds. */
  readonly ttlMs?: number
}

interface ListKind {
  readonly kind: CapabilityKind
  /** The server capability that brings the list. */
  readonly declared: string
  readonly method: string
  readonly member: string
  readonly nameKey: string
  /** Servers may lack the method though they declare the capability. */
  readonly optional?: boolean
}

const LISTS: readonly ListKind[] = [
  { kind: 'tool', declared: 'tools', method: 'tools/list', member: 'tools', nameKey: 'name' },
  {
    kind: 'resource',
    declared: 'resources',
    method: 'resources/list',
    member: 'resources',
    nameKey: 'uri',
  },
  {
    kind: 'template',
    declared: 'resources',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    nameKey: 'uriTemplate',
    optional: true,
  },
  {
    kind: 'prompt',
    declared: 'prompts',
    method: 'prompts/list',
    member: 'prompts',
    nameKey: 'name',
  },
]

const DEFAULT_MAX_PAGES = 200
const DEFAULT_MAX_ITEMS = 10_000
const DEFAULT_MAX_LIST_BYTES = 64 * 1024 * 1024
/** After so long in one go others have their turn, milliseconds: each definition costs its hash. */
const LONGEST_GO_MS = 4
const MAX_NAME_CHARACTERS = 2048

/**
 * Lists everything the server declares.
 *
 * @throws LinkFailure only when no list at all could be read.
 */
export async function listServer(
  connected: Connected,
  options: ListOptions,
  signal: AbortSignal,
): Promise<ServerListing> {
  const { capabilities } = connected.facts
  const asked = LISTS.filter(({ declared }) => {
    const value = capabilities[declared]
    return typeof value === 'object' && value !== null
  })
  const lists = asked.map((list) => new OneList(connected, options, list, signal))
  const failures = (await Promise.all(lists.map((list) => list.read()))).filter(
    (failure) => failure !== undefined,
  )
  if (asked.length > 0 && failures.length === asked.length) throw failures[0]!
  const ttls = lists.flatMap((list) => list.ttls)
  return {
    ...(ttls.length === 0 ? {} : { ttlMs: ttls.reduce((one, other) => Math.min(one, other)) }),
    capabilities: lists.flatMap((list) => list.capabilities),
    leftOut: lists.flatMap((list) => list.leftOut),
    paramHeaders: new Map(lists.flatMap((list) => [...list.paramHeaders])),
    taskSupport: new Map(lists.flatMap((list) => [...list.taskSupport])),
  }
}

interface Page {
  readonly bytes: Uint8Array
  readonly items: readonly Item[]
  readonly next?: Member
  readonly ttlMs?: number
}

class OneList {
  readonly capabilities: Capability[] = []
  readonly leftOut: LeftOut[] = []
  readonly paramHeaders = new Map<string, readonly ParamHeader[]>()
  readonly taskSupport = new Map<string, TaskSupport>()
  /** Of each page that gave one. */
  readonly ttls: number[] = []
  readonly #connected: Connected
  readonly #options: ListOptions
  readonly #list: ListKind
  readonly #signal: AbortSignal
  readonly #known = new Map<string, Capability>()
  #count = 0

  constructor(connected: Connected, options: ListOptions, list: ListKind, signal: AbortSignal) {
    this.#connected = connected
    this.#options = options
    this.#list = list
    this.#signal = signal
  }

  /** @returns why not even its first page could be read. */
  async read(): Promise<LinkFailure | undefined> {
    const first = await this.#readPages()
    if (first !== 'bad_cursor') return first
    // The list changed between its pages: what they said of it does not go together.
    this.#forget()
    const second = await this.#readPages()
    if (second !== 'bad_cursor') return second
    this.#leave('*', 'the server takes its own cursors for invalid; what came after is not read')
    return undefined
  }

  async #readPages(): Promise<LinkFailure | 'bad_cursor' | undefined> {
    const maxPages = this.#options.maxPages ?? DEFAULT_MAX_PAGES
    const maxBytes = this.#options.maxListBytes ?? DEFAULT_MAX_LIST_BYTES
    const cursors = new Set<string>()
    let bytes = 0
    let cursor: Uint8Array | undefined
    for (let page = 1; ; page += 1) {
      const read = await this.#readPage(cursor)
      if (read === 'absent') return undefined
      if (read === 'bad_cursor') return read
      if (read instanceof LinkFailure) {
        this.#leave(
          '*',
          page === 1 ? read.message : `the list stops after ${page - 1} pages: ${read.message}`,
        )
        return page === 1 ? read : undefined
      }
      if (read.ttlMs !== undefined) this.ttls.push(read.ttlMs)
      bytes += read.bytes.length
      const full = await this.#addItems(read)
      if (full !== undefined) {
        this.#leave('*', full)
        return undefined
      }
      if (read.next === undefined) return undefined
      const text = readString(read.bytes, read.next.value)
      const problem = cursors.has(text)
        ? 'the list repeats a cursor; what came after is not read'
        : page >= maxPages
          ? `the list has more than ${maxPages} pages; the rest is not read`
          : bytes >= maxBytes
            ? `the list has more than ${maxBytes} bytes; the rest is not read`
            : undefined
      if (problem !== undefined) {
        this.#leave('*', problem)
        return undefined
      }
      cursors.add(text)
      cursor = sliceOf(read.bytes, read.next.value)
    }
  }

  #forget(): void {
    this.capabilities.length = 0
    this.leftOut.length = 0
    this.ttls.length = 0
    this.paramHeaders.clear()
    this.taskSupport.clear()
    this.#known.clear()
    this.#count = 0
  }

  async #readPage(
    cursor: Uint8Array | undefined,
  ): Promise<Page | LinkFailure | 'absent' | 'bad_cursor'> {
    const { link, facts } = this.#connected
    const { method, optional } = this.#list
    const hop: Hop =
      facts.era === 'modern'
        ? {
            era: 'modern',
            protocolVersion: facts.revision,
            clientCapabilities: encodeJson({}),
            clientInfo: this.#options.clientInfo,
          }
        : { era: 'legacy' }
    const params = hopParams(undefined, hop, cursor === undefined ? {} : { cursor })
    try {
      const answer = await link.request({
        id: link.nextId(),
        method,
        params,
        followRedirect: true,
        signal: this.#signal,
      })
      if (answer.kind === 'result') return readPage(answer.bytes, answer.result, this.#list)
      if (cursor !== undefined && answer.code === RPC_ERRORS.invalidParams) return 'bad_cursor'
      if (optional === true && answer.code === RPC_ERRORS.methodNotFound) return 'absent'
      return unreadable(`error ${answer.code}: ${answer.message.slice(0, 300)}`, method)
    } catch (error) {
      if (error instanceof LinkFailure) return error
      if (error instanceof JsonFault) return unreadable(error.message, method)
      throw error
    }
  }

  /** @returns why not all of the page was taken. */
  async #addItems({ bytes, items }: Page): Promise<string | undefined> {
    const maxItems = this.#options.maxItems ?? DEFAULT_MAX_ITEMS
    let since = performance.now()
    for (const item of items) {
      if (this.#count >= maxItems) {
        return `the list has more than ${maxItems} items; the rest is not read`
      }
      this.#addItem(bytes, item)
      if (performance.now() - since < LONGEST_GO_MS) continue
      await turn()
      if (this.#signal.aborted) return 'the list took too long; the rest is not read'
      since = performance.now()
    }
    return undefined
  }

  #addItem(bytes: Uint8Array, item: Item): void {
    this.#count += 1
    const place = `#${this.#count}`
    try {
      const own = bytes.slice(item.start, item.end)
      checkStrict(own)
      const members = scanObject(own, undefined, { validated: true })
      const named = findMember(members, this.#list.nameKey)
      const name = named?.type === 'string' ? readString(own, named.value) : ''
      if (name === '' || name.length > MAX_NAME_CHARACTERS) {
        const range = `1 to ${MAX_NAME_CHARACTERS} characters`
        this.#leave(place, `its ${this.#list.nameKey} is no string of ${range}`)
        return
      }
      this.#addNamed(name, own, members)
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error
      this.#leave(place, error.code === 'not_object' ? 'it is no object' : error.message)
    }
  }

  #addNamed(name: string, own: Uint8Array, members: readonly Member[]): void {
    const { peer, digest } = this.#options
    const definition = jsonText(own)
    const fingerprint = digest.json(definition)
    const known = this.#known.get(name)
    if (known !== undefined) {
      // A page that comes twice is the list's fault and told there; two definitions are this one's.
      if (known.fingerprint !== fingerprint) {
        this.#leave(name, 'listed more than once with different definitions; the first counts')
      }
      return
    }
    const reason = this.#list.kind === 'tool' ? this.#judgeTool(name, own, members) : undefined
    if (reason !== undefined) return this.#leave(name, reason)
    const { kind } = this.#list
    const hints = kind === 'tool' ? readHints(own, members) : {}
    const capability: Capability = {
      peer,
      protocol: 'mcp',
      kind,
      name,
      fingerprint,
      definition,
      hints,
    }
    this.#known.set(name, capability)
    this.capabilities.push(capability)
  }

  /** @returns why the tool cannot be offered. */
  #judgeTool(name: string, own: Uint8Array, members: readonly Member[]): string | undefined {
    const schema = findMember(members, 'inputSchema')
    if (schema?.type !== 'object') return 'its inputSchema is no object'
    const support = readTaskSupport(own, members)
    const hasTasks = declaresLegacyTasks(this.#connected.facts)
    if (support === 'required' && !hasTasks)
      return 'it can only be called as a task of MCP 2025-11-25, and its server declares no tasks of that kind'
    if (support !== undefined && hasTasks) this.taskSupport.set(name, support)
    const { link, facts } = this.#connected
    if (link.transport !== 'http' || facts.era !== 'modern') return undefined
    const headers = readParamHeaders(JSON.parse(textOf(own, schema.value)))
    if (!headers.ok) return headers.reason
    if (headers.headers.length > 0) this.paramHeaders.set(name, headers.headers)
    return undefined
  }

  #leave(name: string, reason: string): void {
    const shown = name.length > 200 ? `${name.slice(0, 200)}…` : name
    this.leftOut.push({ peer: this.#options.peer, kind: this.#list.kind, name: shown, reason })
  }
}

/** @throws JsonFault when the result is unsound. */
function readPage(bytes: Uint8Array, result: Member, list: ListKind): Page | LinkFailure {
  if (result.type !== 'object') return unreadable('a result that is no object', list.method)
  const head = readResultHead(bytes, result.value, { validated: true })
  if (!head.sound || head.resultType !== RESULT_TYPES.complete) {
    return unreadable('a result that is not complete', list.method)
  }
  const items = findMember(head.members, list.member)
  if (items?.type !== 'array')
    return unreadable(`a result without a list of ${list.member}`, list.method)
  const next = findMember(head.members, 'nextCursor')
  if (next !== undefined && next.type !== 'string' && next.type !== 'null') {
    return unreadable('a nextCursor that is no string', list.method)
  }
  const ttl = findMember(head.members, 'ttlMs')
  const ttlMs = ttl?.type === 'number' ? Number(textOf(bytes, ttl.value)) : Number.NaN
  return {
    bytes,
    items: scanArray(bytes, items.value, { validated: true }),
    ...(ttlMs >= 0 ? { ttlMs } : {}),
    // The empty string is a cursor like any other.
    ...(next?.type === 'string' ? { next } : {}),
  }
}

/** What a tool says of itself. @param definition sound bytes of one object. */
export function hintsOf(definition: Uint8Array): CapabilityHints {
  return readHints(definition, scanObject(definition, undefined, { validated: true }))
}

function readHints(own: Uint8Array, members: readonly Member[]): CapabilityHints {
  const annotations = findMember(members, 'annotations')
  if (annotations?.type !== 'object') return {}
  const inner = scanObject(own, annotations.value, { validated: true })
  const flag = (key: string): boolean | undefined => {
    const member = findMember(inner, key)
    return member?.type === 'boolean' ? textOf(own, member.value) === 'true' : undefined
  }
  const readOnly = flag('readOnlyHint')
  const destructive = flag('destructiveHint')
  const idempotent = flag('idempotentHint')
  return {
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(destructive === undefined ? {} : { destructive }),
    ...(idempotent === undefined ? {} : { idempotent }),
  }
}

function unreadable(what: string, method: string): LinkFailure {
  return new LinkFailure('unreadable', true, `${method} was answered with ${what}`)
}

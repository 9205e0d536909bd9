/**
 * The four list methods: pages of the catalogue under our own sealed cursors, and what is missing said openly.
 *
 * A cursor names the item it continues after, not a position, so that a list that grew in between is not skipped over.
 *
 * @source MCP 2026-07-28, server, pagination: cursors are opaque, an invalid one is -32602
 */
import type { ListedItem, Listing, ListKind } from '../../core/ports/catalogue.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { JsonText } from '../../core/words/native.ts'
import { mayHold } from '../wire/may-hold.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { concat, encodeJson, scanObject, setMembers, type Member } from '../wire/spans.ts'
import { badParams, ourError, type Answer, type KeptForm } from './answer.ts'
import { servesLegacyTasks } from './legacy-tasks.ts'
import { shownSupport, TASK_SUPPORT } from './legacy-task-support.ts'
import type { Door } from './options.ts'
import { TASK_TOOLS } from './task-tools.ts'
import { paramHeadersOf } from './tools.ts'
import { stringParam, type Visit } from './visit.ts'

/** Key of our list of what is missing in a result's `_meta`. */
export const MISSING_META = 'comity/missing'
/** Key of our list of peers that are shown as they were in an earlier run. */
const STALE_META = 'comity/stale'

/** The member of a list result that holds its items. */
const MEMBER_OF = {
  tool: 'tools',
  resource: 'resources',
  template: 'resourceTemplates',
  prompt: 'prompts',
} as const satisfies Record<ListKind, string>

interface Cursor {
  readonly kind: ListKind
  readonly after: string
  readonly principal: string
}

const COMMA = new TextEncoder().encode(',')

export async function listCapabilities(door: Door, visit: Visit, kind: ListKind): Promise<Answer> {
  const after = readCursor(door, visit, kind)
  if (after !== undefined && typeof after !== 'string') return after
  const listing = await door.ports.catalogue.list(kind, visit.principal)
  if (listing.allFailed || listing.incomplete === true) return notListed(listing)
  const items = shownItems(door, visit, kind, listing)
  const start = after === undefined ? 0 : items.findIndex(({ exposed }) => exposed === after) + 1
  if (after !== undefined && start === 0) {
    return badParams('the list changed since this cursor was given: start over without it')
  }
  const ttlMs = Math.max(0, Math.trunc(listing.ttlMs))
  const notes = notesOn(listing)
  const write = (): Uint8Array => encodePage(door, visit, { kind, items, start, notes })
  if (notes._meta !== undefined) return { kind: 'result', bytes: write(), ttlMs }
  const key = JSON.stringify([
    kind,
    formOf(door, visit),
    visit.headers !== undefined,
    visit.principal.id,
    start,
    items.length,
  ])
  const { bytes, members, form } = keptPage(door, listing.items, key, write)
  return { kind: 'result', bytes, members, kept: form, ttlMs }
}

function encodePage(
  door: Door,
  visit: Visit,
  {
    kind,
    items,
    start,
    notes,
  }: {
    readonly kind: ListKind
    readonly items: readonly ListedItem[]
    readonly start: number
    readonly notes: { readonly _meta?: Uint8Array }
  },
): Uint8Array {
  const page = items.slice(start, start + door.limits.pageSize)
  const last = page.at(-1)
  const more = start + page.length < items.length && last !== undefined
  const cursor: Cursor | undefined = more
    ? { kind, after: last.exposed, principal: visit.principal.id }
    : undefined
  return setMembers(encodeJson({}), undefined, {
    [MEMBER_OF[kind]]: arrayOf(
      page.map(({ definition }) => definitionFor(formOf(door, visit), kind, definition)),
    ),
    ...(cursor === undefined ? {} : { nextCursor: encodeJson(door.seal.seal('cursor', cursor)) }),
    ...notes,
  })
}

/** A page as it was written, and where its members lie. */
interface Page {
  readonly bytes: Uint8Array
  readonly members: readonly Member[]
  readonly form: KeptForm
}

/** Pages of one door by the very items that they show: who lists those again gets them again. */
interface KeptPages {
  bytes: number
  byItems: WeakMap<readonly ListedItem[], Map<string, Page>>
}

/** What is kept of pages at one door. Beyond it all are written anew. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024
const keptPages = new WeakMap<Door, KeptPages>()

function keptPage(
  door: Door,
  items: readonly ListedItem[],
  key: string,
  write: () => Uint8Array,
): Page {
  let kept = keptPages.get(door)
  if (kept === undefined || kept.bytes > MAX_KEPT_BYTES) {
    kept = { bytes: 0, byItems: new WeakMap() }
    keptPages.set(door, kept)
  }
  let pages = kept.byItems.get(items)
  if (pages === undefined) {
    pages = new Map()
    kept.byItems.set(items, pages)
  }
  const known = pages.get(key)
  if (known !== undefined) return known
  const bytes = write()
  const page = { bytes, members: scanObject(bytes, undefined, { validated: true }), form: {} }
  // As it is, and as an era makes it.
  kept.bytes += 2 * bytes.length
  pages.set(key, page)
  return page
}

function notListed({ allFailed, missing, stale = [] }: Listing): Answer {
  const reasons = [
    ...missing.map(({ peer, reason }) => `${peer}: ${reason}`),
    ...stale.map(({ peer }) => `${peer}: still starting`),
  ].join('; ')
  const what = allFailed
    ? `no peer could be listed: ${reasons}`
    : `not every peer could be listed, and \`lists: strict\` wants all of them: ${reasons}`
  return ourError(RPC_ERRORS.internal, what, { [MISSING_META]: missing })
}

/** What a caller should know of a list beside its items. */
function notesOn({ missing, stale = [] }: Listing): { readonly _meta?: Uint8Array } {
  if (missing.length === 0 && stale.length === 0) return {}
  return {
    _meta: encodeJson({
      ...(missing.length === 0 ? {} : { [MISSING_META]: missing }),
      ...(stale.length === 0 ? {} : { [STALE_META]: stale }),
    }),
  }
}

/** The name to continue after; undefined for a first page. */
function readCursor(door: Door, visit: Visit, kind: ListKind): string | Answer | undefined {
  const member = visit.members.find(({ key }) => key === 'cursor')
  if (member === undefined || member.type === 'null') return undefined
  const text = stringParam(visit, 'cursor')
  const cursor =
    text === undefined ? undefined : (door.seal.open('cursor', text) as Cursor | undefined)
  const ours = cursor?.kind === kind && cursor.principal === visit.principal.id
  return ours ? cursor.after : badParams('invalid cursor: start over without it')
}

function shownItems(
  door: Door,
  visit: Visit,
  kind: ListKind,
  listing: Listing,
): readonly ListedItem[] {
  if (kind !== 'tool') return listing.items
  // Callers over modern HTTP have to drop a tool with unusable annotations; one that is listed can be called.
  const strict = visit.era === 'modern' && visit.headers !== undefined
  const items = strict ? callableOf(listing.items) : listing.items
  return showsTaskTools(door, visit, listing) ? [...items, ...TASK_TOOLS] : items
}

/** Whoever may be given a handle in place of a result, and has no other way to what it names. */
function showsTaskTools({ ports }: Door, { era }: Visit, { longWork }: Listing): boolean {
  if (ports.delegation === undefined) return false
  return ports.delegation.isListed() || (era === 'legacy' && longWork === true)
}

const callable = new WeakMap<readonly ListedItem[], readonly ListedItem[]>()

/** Those without unusable annotations. */
function callableOf(items: readonly ListedItem[]): readonly ListedItem[] {
  const known = callable.get(items)
  if (known !== undefined) return known
  const fit = items.filter(({ definition }) => paramHeadersOf(definition).ok)
  callable.set(items, fit)
  return fit
}

/** How definitions are shown: as they are, to legacy callers, or to those whose revision has tasks that are served here. */
type Form = 'modern' | 'legacy' | 'legacy_tasks'

function formOf(door: Door, { era, revision }: Visit): Form {
  if (era === 'modern') return 'modern'
  return servesLegacyTasks(door, revision) ? 'legacy_tasks' : 'legacy'
}

const adapted = {
  modern: new WeakMap<JsonText, Uint8Array>(),
  legacy: new WeakMap<JsonText, Uint8Array>(),
  legacy_tasks: new WeakMap<JsonText, Uint8Array>(),
} as const satisfies Record<Form, WeakMap<JsonText, Uint8Array>>

const OUTPUT_SCHEMA = Buffer.from('"outputSchema"')

/**
 * Legacy callers reject an output schema whose root is no object, and the whole list with it. Support of tasks is shown where
 * there are such tasks.
 */
function definitionFor(form: Form, kind: ListKind, definition: JsonText): Uint8Array {
  const { bytes } = definition
  if (kind !== 'tool') return bytes
  const hasSchema = form !== 'modern' && mayHold(bytes, OUTPUT_SCHEMA)
  const hasSupport = mayHold(bytes, TASK_SUPPORT)
  if (!hasSchema && !hasSupport) return bytes
  const known = adapted[form].get(definition)
  if (known !== undefined) return known
  const value = definition.value()
  const schema = isObject(value) ? value['outputSchema'] : undefined
  const fits =
    !hasSchema || schema === undefined || (isObject(schema) && schema['type'] === 'object')
  const made = setMembers(bytes, undefined, {
    ...(fits ? {} : { outputSchema: undefined }),
    ...(hasSupport ? shownSupport(definition, form === 'legacy_tasks') : {}),
  })
  adapted[form].set(definition, made)
  return made
}

/** A JSON array of raw values. */
export function arrayOf(values: readonly Uint8Array[]): Uint8Array {
  const parts = values.flatMap((value, index) => (index === 0 ? [value] : [COMMA, value]))
  return concat([encodeArrayEdge('['), ...parts, encodeArrayEdge(']')])
}

function encodeArrayEdge(edge: '[' | ']'): Uint8Array {
  return new TextEncoder().encode(edge)
}

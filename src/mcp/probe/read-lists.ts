/**
 * What a server lists, read page by page to its end or to a bound, and what the pages themselves show.
 *
 * @source MCP 2026-07-28, server, tools, resources, prompts and pagination.
 */
import { isObject } from '../../core/words/is-object.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { Findings } from './findings.ts'
import { sayReply, type Asking, type Reply } from './raw.ts'
import type { ListRead } from './report.ts'

export type ListKind = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

export interface ReadList {
  readonly kind: ListKind
  readonly read: ListRead
  readonly items: readonly Readonly<Record<string, unknown>>[]
}

interface ListOf {
  readonly kind: ListKind
  readonly method: string
  readonly capability: string
  /** What names an item. */
  readonly key: string
  /** A server may leave the method out. */
  readonly optional?: boolean
}

const LISTS: readonly ListOf[] = [
  { kind: 'tools', method: 'tools/list', capability: 'tools', key: 'name' },
  { kind: 'resources', method: 'resources/list', capability: 'resources', key: 'uri' },
  {
    kind: 'resourceTemplates',
    method: 'resources/templates/list',
    capability: 'resources',
    key: 'uriTemplate',
    optional: true,
  },
  { kind: 'prompts', method: 'prompts/list', capability: 'prompts', key: 'name' },
]

const MOST_PAGES = 50
const MOST_ITEMS = 5_000
const MOST_NAMES = 20
/** No server gives such a cursor. */
const INVENTED = 'comity-probe-no-such-cursor'

/** Reads all of them. @param capabilities what it advertises in this revision; undefined where it did not say. */
export async function readLists(
  asking: Asking,
  capabilities: Readonly<Record<string, unknown>> | undefined,
  findings: Findings,
): Promise<readonly ReadList[]> {
  const lists: ReadList[] = []
  for (const list of LISTS) {
    const first = await asking.ask(list.method)
    if (!isObject(capabilities?.[list.capability]) && first.kind !== 'result') continue
    if (capabilities !== undefined && !isObject(capabilities[list.capability])) {
      findings.add('method.not-advertised', sayReply(first), `${list.method} ${asking.revision}`)
    }
    const absent = first.kind === 'error' && first.code === RPC_ERRORS.methodNotFound
    if (absent && list.optional === true) continue
    lists.push(await new Pages(asking, list, findings).read(first))
  }
  await askAgain(asking, lists[0], findings)
  return lists
}

class Pages {
  readonly #asking: Asking
  readonly #list: ListOf
  readonly #findings: Findings
  readonly #place: string
  readonly #items: Readonly<Record<string, unknown>>[] = []
  readonly #cursors = new Set<string>()
  #pages = 0
  #scope: unknown
  #lastPage = ''

  constructor(asking: Asking, list: ListOf, findings: Findings) {
    this.#asking = asking
    this.#list = list
    this.#findings = findings
    this.#place = `${list.method} ${asking.revision}`
  }

  async read(first: Reply): Promise<ReadList> {
    let reply = first
    for (;;) {
      const next = this.#take(reply)
      if (typeof next !== 'string') return this.#done(next?.incomplete)
      if (this.#pages >= MOST_PAGES) return this.#done(`more than ${MOST_PAGES} pages`)
      if (this.#items.length >= MOST_ITEMS) return this.#done(`more than ${MOST_ITEMS} items`)
      reply = await this.#asking.ask(this.#list.method, { cursor: next })
    }
  }

  /** @returns the cursor to go on with; undefined at the end. */
  #take(reply: Reply): string | { readonly incomplete: string } | undefined {
    if (reply.kind !== 'result') return this.#refused(reply)
    const { [this.#list.kind]: items, nextCursor: next, cacheScope } = reply.result
    if (!Array.isArray(items)) return this.#bad(`no list in ${this.#list.kind}`)
    const page = JSON.stringify(items)
    if (items.length > 0 && page === this.#lastPage) return this.#stuck()
    this.#pages += 1
    this.#lastPage = page
    if (this.#pages === 1) this.#scope = cacheScope
    else if (cacheScope !== this.#scope) {
      this.#findings.add('cache.scope-differs', undefined, this.#place)
    }
    for (const item of items as readonly unknown[]) {
      if (isObject(item)) this.#items.push(item)
      else this.#findings.add('list.shape', 'an item that is no object', this.#place)
    }
    if (next === undefined || next === null) return undefined
    if (typeof next !== 'string') return this.#bad('a nextCursor that is no string')
    if (this.#cursors.has(next)) return this.#stuck()
    this.#cursors.add(next)
    return next
  }

  #stuck(): { readonly incomplete: string } {
    this.#findings.add('list.cursor-ignored', `after page ${this.#pages}`, this.#place)
    return { incomplete: 'its cursors do not move on' }
  }

  #refused(reply: Reply): { readonly incomplete: string } {
    const said = sayReply(reply)
    const isCursor = this.#pages > 0 && reply.kind === 'error'
    this.#findings.add(isCursor ? 'list.cursor-refused' : 'list.shape', said, this.#place)
    return { incomplete: said }
  }

  #bad(what: string): { readonly incomplete: string } {
    this.#findings.add('list.shape', what, this.#place)
    return { incomplete: what }
  }

  #done(incomplete: string | undefined): ReadList {
    const { kind, key, method } = this.#list
    const names = this.#items.slice(0, MOST_NAMES).map((item) => nameOf(item, key))
    return {
      kind,
      items: this.#items,
      read: {
        method,
        revision: this.#asking.revision,
        items: this.#items.length,
        pages: this.#pages,
        ...(incomplete === undefined ? {} : { incomplete }),
        names,
      },
    }
  }
}

/** The first page once more, and one that nobody gave a cursor for. */
async function askAgain(
  asking: Asking,
  list: ReadList | undefined,
  findings: Findings,
): Promise<void> {
  if (list === undefined || list.read.pages === 0) return
  const { method } = list.read
  const key = list.kind === 'tools' || list.kind === 'prompts' ? 'name' : 'uri'
  const place = `${method} ${asking.revision}`
  const again = await asking.ask(method)
  if (again.kind === 'result' && Array.isArray(again.result[list.kind])) {
    const items = again.result[list.kind] as readonly unknown[]
    const now = items.map((item) => nameOf(item, key))
    const before = list.items.slice(0, now.length).map((item) => nameOf(item, key))
    const same = now.toSorted().join('\n') === before.toSorted().join('\n')
    if (same && now.join('\n') !== before.join('\n')) findings.add('list.order', undefined, place)
  }
  const invented = await asking.ask(method, { cursor: INVENTED })
  if (invented.kind === 'result') findings.add('list.cursor-invented', undefined, place)
}

function nameOf(item: unknown, key: string): string {
  const name = isObject(item) ? item[key] : undefined
  return typeof name === 'string' ? name.slice(0, 200) : ''
}

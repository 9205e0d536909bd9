/**
 * Texts that the entries of many calls share (a route, a decision, what a peer declared) stand in the store once. In stored
 * facts a mark stands for each; the hash of an entry is that of the whole text, so an exchanged text is found as an edit is.
 *
 * Facts are JSON, which holds no raw control characters, so a mark cannot be said by anybody else.
 */
import type { DatabaseSync } from 'node:sqlite'

const BEGIN = '\u0001'
const END = '\u0002'
/** Shorter ones cost less than their mark. */
const MIN_LENGTH = 32
/** Longest text that is shared: facts that hold several must keep to their bound. */
export const MAX_SHARED_LENGTH = 2048
/** Most that one process knows; what comes beyond is written out. */
const MAX_SHARED = 4096
/** Of those seen once, how many are remembered. */
const MAX_ONCE = 256
/** Texts of earlier runs that are looked for again. */
const MAX_LOADED = 1024

/** A text, and the number that marks it. */
export type SharedText = readonly [id: number, text: string]

/** What texts this process shares. A text is shared from its second time on: what only one call says is said there. */
export class SharedTexts {
  readonly #marks = new Map<string, string>()
  #once = new Set<string>()
  #last: number | undefined
  #unsent: SharedText[] = []

  /** Begins to share, with what is in the store already. */
  load(db: DatabaseSync): void {
    const rows = db.prepare(`SELECT id, text FROM texts ORDER BY id DESC LIMIT ${MAX_LOADED}`).all()
    for (const { id, text } of rows) this.#marks.set(String(text), markOf(Number(id)))
    this.#last = Number(rows[0]?.['id'] ?? 0)
  }

  /** The mark of a text, or the text. */
  readonly share = (text: string): string => {
    const mark = this.#marks.get(text)
    if (mark !== undefined) return mark
    if (this.#last === undefined || text.length < MIN_LENGTH || text.length > MAX_SHARED_LENGTH)
      return text
    if (!this.#once.has(text)) {
      if (this.#once.size >= MAX_ONCE) this.#once = new Set()
      this.#once.add(text)
      return text
    }
    if (this.#marks.size >= MAX_SHARED) return text
    this.#last += 1
    const made = markOf(this.#last)
    this.#marks.set(text, made)
    this.#unsent.push([this.#last, text])
    return made
  }

  /** Those that the writer does not know yet: they go with the batch that first says their marks, or before it. */
  take(): readonly SharedText[] {
    const unsent = this.#unsent
    if (unsent.length > 0) this.#unsent = []
    return unsent
  }
}

function markOf(id: number): string {
  return `${BEGIN}${id}${END}`
}

/** Facts with their texts in place. What is not there any more is left as its mark, and so found by the hash. */
export function expandText(facts: string, find: (id: number) => string | undefined): string {
  let begin = facts.indexOf(BEGIN)
  if (begin < 0) return facts
  let whole = ''
  let at = 0
  while (begin >= 0) {
    const end = facts.indexOf(END, begin)
    if (end < 0) break
    const text = find(Number(facts.slice(begin + 1, end)))
    whole += facts.slice(at, begin) + (text ?? facts.slice(begin, end + 1))
    at = end + 1
    begin = facts.indexOf(BEGIN, at)
  }
  return whole + facts.slice(at)
}

const readers = new WeakMap<DatabaseSync, (id: number) => string | undefined>()

/** Finds shared texts in a store; remembered for its connection. */
export function textsOf(db: DatabaseSync): (id: number) => string | undefined {
  let find = readers.get(db)
  if (find === undefined) readers.set(db, (find = createFind(db)))
  return find
}

function createFind(db: DatabaseSync): (id: number) => string | undefined {
  const known = new Map<number, string>()
  return (id) => {
    let text = known.get(id)
    if (text !== undefined || !Number.isSafeInteger(id)) return text
    const row = db.prepare('SELECT text FROM texts WHERE id = :id').get({ id })
    if (row === undefined) return undefined
    text = String(row['text'])
    if (known.size < MAX_SHARED) known.set(id, text)
    return text
  }
}

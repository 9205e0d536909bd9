/**
 * Headers: what a document says of itself (title, version, readers).
 *
 * Front matter in Markdown, top-level keys in YAML and JSON, `meta` elements in HTML, nothing in plain text and declarations.
 * A header that cannot be read may hide a `readers` list: such a document is left out, never served to all.
 */
import { isAlias, isMap, isScalar, parseAllDocuments } from 'yaml'
import type { Document as YamlDocument, Node } from 'yaml'

/** The formats served, by what their files end with. */
export type Format = 'markdown' | 'text' | 'yaml' | 'json' | 'html' | 'typescript'

/** What a document says of itself. Absent is not said. */
export interface Header {
  readonly title?: string
  readonly version?: string
  readonly readers?: readonly string[]
}

/** Why a document cannot be served. */
export interface Unreadable {
  readonly reason: string
}

/** Above this size YAML is not parsed whole (it takes seconds and hundreds of MB), only its top-level keys. */
const MAX_WHOLE_YAML = 1_048_576
const MAX_FRONT_MATTER = 65_536
const MAX_READERS = 1_000
const MAX_TITLE = 300
const KEYS = ['title', 'version', 'readers'] as const

/** Reads the header of a document of this format. HTML's stands in its `meta` elements. */
export function parseHeader(format: Exclude<Format, 'html'>, text: string): Header | Unreadable {
  const content = text.startsWith('\uFEFF') ? text.slice(1) : text
  switch (format) {
    case 'text':
    case 'typescript':
      return {}
    case 'markdown':
      return parseFrontMatter(content)
    case 'yaml':
      return content.length > MAX_WHOLE_YAML
        ? parseYaml(topLevelKeys(content), 'YAML', content)
        : parseYaml(content, 'YAML')
    case 'json':
      return parseJson(content)
  }
}

function parseFrontMatter(text: string): Header | Unreadable {
  const opening = /^---[ \t]*\r?\n/u.exec(text)
  if (opening === null) return {}
  const closing = /^(?:---|\.\.\.)[ \t]*\r?$/mu.exec(
    text.slice(opening[0].length, opening[0].length + MAX_FRONT_MATTER),
  )
  // Without its end the opening is a ruler, unless what follows looks like a list of readers.
  if (closing === null) {
    return /^readers\s*:/mu.test(text) ? { reason: 'its front matter has no closing "---"' } : {}
  }
  const content = text.slice(opening[0].length, opening[0].length + closing.index)
  return parseYaml(content, 'front matter')
}

function parseYaml(content: string, what: string, whole = content): Header | Unreadable {
  const [document] = parseAllDocuments(content, { logLevel: 'silent' })
  if (document === undefined) return {}
  if (document.errors.length > 0) return unlessReaders(whole, `its ${what} is not valid YAML`)
  if (!isMap(document.contents)) return {}
  const said: Record<string, unknown> = {}
  for (const key of KEYS) {
    if (!document.contents.has(key)) continue
    said[key] = plainValue(document, document.contents.get(key, true) as Node | null)
  }
  return headerOf(said)
}

/** A scalar as it was written when it is a number: `1.10` is a version, `1.1` another. */
function plainValue(document: YamlDocument, node: Node | null): unknown {
  const target = isAlias(node) ? node.resolve(document) : node
  if (target === undefined || target === null) return null
  if (isScalar(target) && typeof target.value === 'number') return target.source ?? target.value
  return target.toJS(document)
}

/** The lines of the keys that matter: each from its own line to the next one that begins a key. */
function topLevelKeys(content: string): string {
  const sections: string[] = []
  let taking = false
  for (const line of content.split('\n')) {
    if (/^(?:---|\.\.\.)/u.test(line) && sections.length > 0) break
    if (/^["']?(?:title|version|readers)["']?\s*:/u.test(line)) taking = true
    else if (/^[^\s#-]/u.test(line)) taking = false
    if (taking) sections.push(line)
  }
  if (sections.length === 0 && /^\s*[{[]/u.test(content)) return content.slice(0, MAX_WHOLE_YAML)
  return sections.join('\n')
}

function parseJson(content: string): Header | Unreadable {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    return unlessReaders(content, 'it is not valid JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return headerOf(value as Record<string, unknown>)
}

function unlessReaders(content: string, reason: string): Header | Unreadable {
  return content.includes('readers') ? { reason: `${reason} and it may name readers` } : {}
}

/**
 * The header in the `meta` elements of HTML: `version`, and `readers` separated by commas.
 *
 * Several lists of readers are all in force, wherever in the file they stand.
 */
export function headerOfMeta(
  title: string | undefined,
  meta: readonly { readonly name: string; readonly content: string }[],
): Header | Unreadable {
  const version = meta.find(({ name }) => name === 'version')?.content
  const lists = meta
    .filter(({ name }) => name === 'readers')
    .map(({ content }) => content.split(',').flatMap((name) => name.trim() || []))
  const [first, ...others] = lists
  const readers = first?.filter((name) => others.every((list) => list.includes(name)))
  return headerOf({
    ...(title === undefined ? {} : { title }),
    ...(version === undefined ? {} : { version }),
    ...(readers === undefined ? {} : { readers }),
  })
}

function headerOf(said: Readonly<Record<string, unknown>>): Header | Unreadable {
  const readers = Object.hasOwn(said, 'readers') ? parseReaders(said.readers) : undefined
  if (readers !== undefined && 'reason' in readers) return readers
  const version = typeof said.version === 'number' ? String(said.version) : said.version
  return {
    ...(typeof said.title === 'string' && said.title.trim() !== ''
      ? {
          title: said.title
            .trim()
            .replaceAll(/[\s\p{Cc}]+/gu, ' ')
            .slice(0, MAX_TITLE),
        }
      : {}),
    ...(typeof version === 'string' ? { version } : {}),
    ...(readers === undefined ? {} : { readers: readers.names }),
  }
}

/** A list of names, or one name. An empty list is nobody; anything else cannot be understood. */
function parseReaders(value: unknown): { readonly names: readonly string[] } | Unreadable {
  const names: unknown[] = Array.isArray(value) ? value : [value]
  if (names.length > MAX_READERS) {
    return { reason: `its readers: expected at most ${MAX_READERS} names, got ${names.length}` }
  }
  const isName = (name: unknown): name is string => typeof name === 'string' && name !== ''
  return names.every(isName)
    ? { names }
    : { reason: 'its readers: expected a list of names, like "readers: [alice, bob]"' }
}

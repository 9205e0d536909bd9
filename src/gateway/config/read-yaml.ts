/**
 * YAML text to a plain value, with the line of every key.
 *
 * The parser's own messages quote the source, which may be a secret: they are replaced by ours, by code.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import type { Document, ErrorCode, YAMLError, YAMLWarning } from 'yaml'
import type { ConfigPath, Mistake } from './mistakes.ts'

export interface YamlText {
  readonly value: unknown
  /** Line of the key or list item, else of the nearest one above it that exists. */
  lineOf(path: ConfigPath): number | undefined
  /** Keys of a mapping in the order of the file; a plain object would move keys that look like numbers. */
  keysOf(path: ConfigPath): readonly string[]
}

const MAX_ALIASES = 100
const TOO_MANY_ALIASES = `expected at most ${MAX_ALIASES} uses of aliases (*name)`
const NO_ANCHOR = 'an alias (*name) has no anchor (&name) above it; quote text that begins with *'

const SYNTAX: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: 'this key stands twice in one mapping',
  BAD_INDENT: 'the indentation does not fit what stands above',
  TAB_AS_INDENT: 'a tab is used for indentation; YAML takes spaces only',
  MISSING_CHAR: 'a closing quote, bracket, brace or colon is missing',
  TAG_RESOLVE_FAILED: 'a tag (!...) is used; expected a plain value, quoted if it begins with !',
  BAD_ALIAS: NO_ANCHOR,
  MULTIPLE_DOCS: 'a second document begins here (---); expected one',
}

/** @returns the value and where its keys stand, or every syntax mistake. */
export function readYaml(text: string): YamlText | { readonly mistakes: readonly Mistake[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.2',
    prettyErrors: false,
    uniqueKeys: true,
    lineCounter: lines,
    // `silent` would let a second document through.
    logLevel: 'error',
  })
  const faults = sayFaults([...document.errors, ...document.warnings], lines)
  if (faults.length > 0) return { mistakes: faults }
  const lineAt = (offset: number | undefined): number | undefined =>
    offset === undefined ? undefined : lines.linePos(offset).line
  const refused = [...checkAliases(document, lineAt), ...checkKeys(document, lineAt)]
  if (refused.length > 0) return { mistakes: refused }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    // Few aliases of aliases can still multiply.
    return { mistakes: [{ path: [], message: TOO_MANY_ALIASES }] }
  }
  return {
    value,
    lineOf: (path) => lineAt(offsetOf(document, path)),
    keysOf: (path) => {
      const node = nodeAt(document, path)
      return isMap(node) ? node.items.map((pair) => keyText(pair.key)) : []
    },
  }
}

/** `__proto__` is no key of a plain object: what reads it later would miss it. */
function checkKeys(
  document: Document,
  lineAt: (offset: number | undefined) => number | undefined,
): readonly Mistake[] {
  const mistakes: Mistake[] = []
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || key.value !== '__proto__') return
      const line = lineAt(key.range?.[0])
      const message = 'a key cannot be called __proto__; choose another name'
      mistakes.push({ path: [], ...(line === undefined ? {} : { line }), message })
    },
  })
  return mistakes
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key)
}

/** One a line: what follows on the same line is most often the same mistake again. */
function sayFaults(
  faults: readonly (YAMLError | YAMLWarning)[],
  lines: LineCounter,
): readonly Mistake[] {
  const byLine = new Map<number, Mistake>()
  for (const { code, pos } of faults) {
    if (code === 'RESOURCE_EXHAUSTION') return [{ path: [], message: 'nested too deeply' }]
    const { line } = lines.linePos(pos[0])
    const what =
      SYNTAX[code] ??
      `this does not fit here (${code.toLowerCase().replaceAll('_', ' ')}); text with : # { } [ ] * & ! needs quotes`
    if (!byLine.has(line)) byLine.set(line, { path: [], line, message: `not valid YAML: ${what}` })
  }
  return [...byLine.values()]
}

/** Mistakes in aliases: too many, standing for nothing, or for what they are inside of. The parser notices late or never. */
function checkAliases(
  document: Document.Parsed,
  lineAt: (offset: number | undefined) => number | undefined,
): readonly Mistake[] {
  const mistakes: Mistake[] = []
  let count = 0
  const add = (node: unknown, message: string): void => {
    const line = lineAt(startOf(node))
    mistakes.push({ path: [], message, ...(line === undefined ? {} : { line }) })
  }
  visit(document, {
    Alias: (_key, alias, parents) => {
      count += 1
      if (count > MAX_ALIASES) {
        // Resolving walks the document: many aliases would make that quadratic.
        add(alias, TOO_MANY_ALIASES)
        return visit.BREAK
      }
      const node: unknown = alias.resolve(document)
      if (node === undefined) add(alias, `not valid YAML: ${NO_ANCHOR}`)
      else if (parents.some((parent) => parent === node)) {
        add(alias, 'an alias (*name) stands inside what it names')
      }
      return undefined
    },
  })
  return mistakes
}

function resolved(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node
}

function nodeAt(document: Document, path: ConfigPath): unknown {
  let node: unknown = document.contents
  for (const step of path) {
    if (isMap(node)) node = node.items.find((pair) => keyText(pair.key) === String(step))?.value
    else if (isSeq(node)) node = node.items[Number(step)]
    else return undefined
    node = resolved(node, document)
  }
  return node
}

function offsetOf(document: Document, path: ConfigPath): number | undefined {
  let node: unknown = document.contents
  let offset: number | undefined
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => keyText(item.key) === String(step))
      if (pair === undefined) break
      offset = startOf(pair.key) ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      const item = node.items[Number(step)]
      if (item === undefined) break
      offset = startOf(item) ?? offset
      node = item
    } else break
    node = resolved(node, document)
  }
  return offset
}

function startOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined
  return Array.isArray(node.range) && typeof node.range[0] === 'number' ? node.range[0] : undefined
}

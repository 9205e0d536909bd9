/**
 * Does a text that is not JSON look as if it held a citation? Pure.
 *
 * For what is left of a part when its JSON is taken out: JSON with comments or single quotes, YAML, XML, tables, escaped or
 * highlighted JSON. It is not read, only noticed: two names of a citation in the place of keys are enough.
 */

/** What a citation is made of. */
export const CITATION_NAMES = ['document', 'lines', 'quote', 'digest'] as const
export type CitationName = (typeof CITATION_NAMES)[number]

const NAMES = new RegExp(CITATION_NAMES.join('|'), 'g')
/** How far around a name is looked at. */
const WINDOW = 32

/** The name that a key stands for to a reader's eye: `Quote`, `"quo\u200Bte"`, `quоte` with a foreign o. */
export function nameOfKey(key: string): CitationName | undefined {
  // A longer key is no name in whatever spelling, and is not worth the reading.
  if (key.length > 200) return undefined
  const plain = plainText(key).replaceAll(/[^\p{L}\p{N}]/gu, '')
  return CITATION_NAMES.find((name) => name === plain)
}

/** What a text that is not JSON gives away. */
export interface Signs {
  /** Names in the place of keys, of columns or of elements. */
  readonly names: readonly CitationName[]
  /** A link that carries a text of its own (`data:`). */
  readonly inlineFile: boolean
}

/** Looks at a text as a reader would see it, escapes undone. */
export function findSigns(text: string): Signs {
  const plain = plainText(text)
  const names = new Set<CitationName>()
  // Each shows what another hides: a comment may part a key from its colon, or be the place where the citation is.
  for (const variant of new Set([plain, withoutTags(plain), withoutComments(plain)])) {
    for (const { 0: hit, index } of variant.matchAll(NAMES)) {
      const name = hit as CitationName
      if (!names.has(name) && isKey(variant, index, index + name.length)) names.add(name)
      if (names.size === CITATION_NAMES.length) break
    }
  }
  return { names: [...names], inlineFile: INLINE_FILE.test(plain) }
}

const INLINE_FILE = /\bdata:(?:text\/|application\/(?:[\w.-]+\+)?json|;base64|,\S)/

const WRAPPED_BEFORE = /["'`*_“”‘’«]+$/u
const WRAPPED_AFTER = /^["'`*_“”‘’»]+/u
/** Where a key may begin when nothing wraps it: in prose a word stands before it. */
const BEGINS = /(?:^|[\n{},[\];(|<>?!&•])[\s\d.)>*+#-]*$/u

function isKey(text: string, start: number, end: number): boolean {
  const left = text.slice(Math.max(0, start - WINDOW), start)
  const right = text.slice(end, end + WINDOW)
  const before = left.replace(WRAPPED_BEFORE, '')
  const after = right.replace(WRAPPED_AFTER, '')
  if (/[\p{L}\p{N}_-]$/u.test(before) || /^[\p{L}\p{N}_-]/u.test(after)) return false
  if (/^\s?=(?!=)/.test(after)) return true
  const wrapped = before.length < left.length && after.length < right.length
  if (/^\s?:(?!:)/.test(after) && (wrapped || BEGINS.test(before))) return true
  if (/\|\s?$/.test(before) && /^\s?\|/.test(after)) return true
  if (/<\/?$/.test(before) && /^[\s/>]/.test(after)) return true
  if (/>\s?$/.test(before) && /^\s?</.test(after)) return true
  return isColumn(before, after)
}

/** A cell in a row of cells, with nothing but a separator around it. */
function isColumn(before: string, after: string): boolean {
  const separated = /[,;\t]$/.test(before) || /^[,;\t]/.test(after)
  return separated && /(?:^|[,;\t\n])$/.test(before) && /^(?:$|[,;\t\n])/.test(after)
}

const ESCAPED =
  /\\u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|&(\w{2,8});/gi

const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  colon: ':',
  equals: '=',
  comma: ',',
  lcub: '{',
  lbrace: '{',
  lt: '<',
  gt: '>',
  amp: '&',
  nbsp: ' ',
  vert: '|',
  zwnj: '',
  shy: '',
}

/** Letters of other scripts that look like those of the names. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  о: 'o',
  ο: 'o',
  е: 'e',
  ҽ: 'e',
  і: 'i',
  ι: 'i',
  с: 'c',
  ѕ: 's',
  т: 't',
  τ: 't',
  ԛ: 'q',
  ԁ: 'd',
  м: 'm',
  п: 'n',
  υ: 'u',
  ɡ: 'g',
  ӏ: 'l',
  '։': ':',
  '꞉': ':',
  '∶': ':',
}

/** The text as it meets the eye: escapes undone, in small letters, nothing invisible, runs of space as one. */
function plainText(text: string): string {
  let plain = text
  // An escape may stand in an escape; each round shortens the text, and three are more than anyone renders.
  for (let round = 0; round < 3; round += 1) {
    const undone = plain.replace(ESCAPED, unescape)
    if (undone === plain) break
    plain = undone
  }
  return plain
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/\r\n?|[\u0085\u2028\u2029\v\f]/g, '\n')
    .replaceAll(/[\p{Cf}\\]|[^\P{Cc}\n\t]/gu, '')
    .replaceAll(/[^\p{ASCII}]/gu, (letter) => LOOKALIKES[letter] ?? letter)
    .replaceAll(/\s+/gu, (run) => (run.includes('\n') ? '\n' : run.includes('\t') ? '\t' : ' '))
}

function unescape(all: string, ...groups: readonly (string | undefined)[]): string {
  const [four, braced, two, hex, decimal, entity] = groups
  if (entity !== undefined) return ENTITIES[entity.toLowerCase()] ?? all
  const digits = four ?? braced ?? two ?? hex
  const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16)
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : all
}

function withoutTags(text: string): string {
  return text.replaceAll(/<[^<>]*>/g, '')
}

/** By hand: a pattern would look for the end of each comment anew where none ends. */
function withoutComments(text: string): string {
  const kept: string[] = []
  let at = 0
  for (;;) {
    const start = text.indexOf('/*', at)
    const end = start < 0 ? -1 : text.indexOf('*/', start + 2)
    if (end < 0) break
    kept.push(text.slice(at, start))
    at = end + 2
  }
  kept.push(text.slice(at))
  return kept
    .join('')
    .replaceAll(/\/\/[^\n]*/g, '')
    .replaceAll(/\s+/gu, (run) => (run.includes('\n') ? '\n' : ' '))
}

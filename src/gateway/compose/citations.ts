/**
 * Finding citations in what an agent delivered. Pure.
 *
 * Every part is searched by its content, whatever its type says. A JSON object with two or more of document, lines, quote and
 * digest, wherever it stands, is a citation or a fault; what looks like one and is not JSON is a fault; so is what cannot be
 * searched, and a marker such as [c12] that no citation has as its id. Prose that names a source in its own words is not found.
 */
import type { Artifact } from '../../core/words/artifact.ts'
import { CITATION_NAMES, type CitationName, findSigns, nameOfKey } from './citation-words.ts'
import { type Piece, readPieces } from './part-text.ts'
import { type JsonObject, type JsonValue, findObjects, readJson } from './strict-json.ts'

export interface Citation {
  readonly document: string
  readonly version?: string
  readonly lines: { readonly start: number; readonly end: number }
  readonly quote: string
  readonly digest: string
}

/** A document named with its digest and nothing said of its content, as in a list of sources. */
export interface Reference {
  readonly document: string
  readonly version?: string
  readonly digest: string
}

export interface Found {
  /** Each different citation once. */
  readonly citations: readonly { readonly citation: Citation; readonly where: string }[]
  /** Those that no citation covers. */
  readonly references: readonly { readonly reference: Reference; readonly where: string }[]
  /** Faults of the artifacts themselves, the first of them. */
  readonly faults: readonly string[]
}

/** More than this in one delivery is not read further. */
export const MAX_CITATIONS = 20_000

const MAX_FAULTS = 100
/** Text in JSON in text in JSON: honest ones have one level, or two. */
const MAX_NESTING = 8

/** What is collected over all artifacts. */
interface Collection {
  readonly citations: Map<string, { readonly citation: Citation; readonly where: string }>
  readonly references: Map<string, { readonly reference: Reference; readonly where: string }>
  readonly faults: Set<string>
  readonly ids: Set<string>
  /** A marker and the artifact that it stands in first. */
  readonly markers: Map<string, string>
}

/** Searches a whole delivery. */
export function findCitations(artifacts: readonly Artifact[]): Found {
  const found: Collection = {
    citations: new Map(),
    references: new Map(),
    faults: new Set(),
    ids: new Set(),
    markers: new Map(),
  }
  for (const artifact of artifacts) searchArtifact(artifact, found)
  for (const [id, where] of found.markers) {
    if (!found.ids.has(id)) addFault(found, where, `the marker [${id}] stands for no citation`)
  }
  const faults = [...found.faults]
  const count = found.citations.size + found.references.size
  // First, so that it is among those told.
  if (count > MAX_CITATIONS)
    faults.unshift(`more than ${MAX_CITATIONS} citations, at most ${MAX_CITATIONS} are checked`)
  return {
    citations: [...found.citations.values()].slice(0, MAX_CITATIONS),
    references: openReferences(found).slice(0, MAX_CITATIONS),
    faults,
  }
}

/** A citation of the same document with the same digest looks it up already. */
function openReferences({ citations, references }: Collection): Found['references'] {
  const cited = new Set([...citations.values()].map(({ citation }) => keyOfSource(citation)))
  return [...references.values()].filter(({ reference }) => !cited.has(keyOfSource(reference)))
}

function keyOfSource({ document, version, digest }: Reference): string {
  return JSON.stringify([document, version, digest])
}

function addFault({ faults }: Collection, where: string, said: string): void {
  if (faults.size < MAX_FAULTS) faults.add(`${where}: ${said}`)
}

/** Alone and joined: parts are pieces of one text for one reader, and texts of their own for another. */
function searchArtifact(artifact: Artifact, found: Collection): void {
  const where = artifact.name ?? artifact.artifactId
  const { pieces, faults } = readPieces(artifact)
  for (const fault of faults) addFault(found, where, fault)
  readStatedJson(pieces, where, found)
  const joined = pieces.map(({ text }) => text).join('')
  const taken: Span[] = []
  let offset = 0
  let fault: string | undefined
  for (const { text } of pieces) {
    const part = takeObjects(text, where, found, 0)
    for (const { start, end } of part.spans)
      taken.push({ start: start + offset, end: end + offset })
    offset += text.length
    fault ??= part.fault
  }
  if (pieces.length > 1) {
    const whole = takeObjects(joined, where, found, 0)
    for (const span of whole.spans) taken.push(span)
    // Where parts are joined their own ends are no fault.
    fault = whole.fault
  }
  searchRest(cutOut(joined, taken), fault, where, found)
}

/** What says that it is JSON is JSON: each piece, or all of them together when they came as chunks. */
function readStatedJson(pieces: readonly Piece[], where: string, found: Collection): void {
  const texts = pieces.flatMap(({ text, isJson }) => (isJson ? [text] : []))
  if (texts.length === 0) return
  const faults = readAll(texts, where, found)
  if (faults.length === 0) return
  const together = texts.length > 1 ? readAll([texts.join('')], where, found) : faults
  if (together.length > 0) addFault(found, where, `not the JSON it says it is (${faults[0] ?? ''})`)
}

function readAll(texts: readonly string[], where: string, found: Collection): readonly string[] {
  return texts.flatMap((text) => {
    const read = readJson(text)
    if ('fault' in read) return [read.fault]
    collect(read.value, where, found, 0)
    return []
  })
}

interface Span {
  readonly start: number
  readonly end: number
}

function takeObjects(
  text: string,
  where: string,
  found: Collection,
  nesting: number,
): { readonly spans: readonly Span[]; readonly fault: string | undefined } {
  const { objects, fault } = findObjects(text)
  for (const { value } of objects) collect(value, where, found, nesting)
  return { spans: objects, fault }
}

function searchText(text: string, where: string, found: Collection, nesting: number): void {
  if (text.length < MIN_TEXT) return
  if (nesting > MAX_NESTING) {
    if (text.includes('{'))
      addFault(found, where, `text in JSON in text, more than ${MAX_NESTING} levels deep`)
    return
  }
  const { spans, fault } = takeObjects(text, where, found, nesting)
  searchRest(cutOut(text, spans), fault, where, found)
}

/** The shortest text with a marker in it. */
const MIN_TEXT = '[c1]'.length
const MARKER = /\[(c\d{1,9})\](?!\()/giu

/** What is left when the JSON is taken out. */
function searchRest(
  rest: string,
  fault: string | undefined,
  where: string,
  found: Collection,
): void {
  for (const { 1: id } of rest.matchAll(MARKER)) {
    const marker = (id ?? '').toLowerCase()
    if (!found.markers.has(marker)) found.markers.set(marker, where)
  }
  const { names, inlineFile } = findSigns(rest)
  if (inlineFile) addFault(found, where, 'a data: link is not searched; deliver it as an artifact')
  if (names.length > 1) {
    const why = fault === undefined ? '' : ` (${fault})`
    addFault(
      found,
      where,
      `what looks like a citation (${names.join(', ')}) is not a JSON object that can be read${why}`,
    )
  }
}

function cutOut(text: string, spans: readonly Span[]): string {
  const kept: string[] = []
  let at = 0
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    if (start > at) kept.push(text.slice(at, start))
    at = Math.max(at, end)
  }
  kept.push(text.slice(at))
  return kept.join(' {} ')
}

/** Every object in a value, and every text in it but the quotes of citations: those are compared with the document. */
function collect(value: JsonValue, where: string, found: Collection, nesting: number): void {
  const rest: JsonValue[] = [value]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') {
      searchText(next, where, found, nesting + 1)
    } else if (next instanceof Map) {
      const cited = collectObject(next as JsonObject, where, found)
      for (const [key, member] of next as JsonObject) {
        if (key.length > MAX_KEY) searchText(key, where, found, nesting + 1)
        if (!cited || key !== 'quote') rest.push(member)
      }
    } else if (isList(next)) {
      const lines = next.filter((item) => typeof item === 'string')
      // Lines of one text, as notebooks keep them.
      if (lines.length > 1 && lines.length === next.length)
        searchLines(lines, where, found, nesting)
      else for (const item of next) rest.push(item)
    }
  }
}

/** A longer key is a text. */
const MAX_KEY = 20

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function searchLines(
  lines: readonly string[],
  where: string,
  found: Collection,
  nesting: number,
): void {
  const columns = new Set(lines.map(nameOfKey).filter((name) => name !== undefined))
  if (columns.size > 2)
    addFault(found, where, `columns named ${[...columns].join(', ')}: citations are JSON objects`)
  searchText(lines.join(''), where, found, nesting + 1)
  searchText(lines.join('\n'), where, found, nesting + 1)
}

/** @returns whether it is a citation whose quote will be compared. */
function collectObject(value: JsonObject, where: string, found: Collection): boolean {
  const names: CitationName[] = []
  for (const key of value.keys()) {
    const name = nameOfKey(key)
    if (name !== undefined) names.push(name)
  }
  if (new Set(names).size < 2) return false
  const read = names.every((name) => value.has(name)) ? parseCitation(value, names) : undefined
  if (read === undefined) {
    const keys = JSON.stringify([...value.keys()]).slice(0, 160)
    addFault(
      found,
      where,
      `a citation needs document, lines { start, end }, quote and digest, each once and no version but a text; this one is ${keys}`,
    )
    return false
  }
  const key = JSON.stringify(read)
  const full = found.citations.size + found.references.size > MAX_CITATIONS
  if (isCitation(read)) {
    if (!full && !found.citations.has(key)) found.citations.set(key, { citation: read, where })
    const id = value.get('id')
    if (typeof id === 'string') found.ids.add(id.toLowerCase())
    return true
  }
  if (!full && !found.references.has(key)) found.references.set(key, { reference: read, where })
  return false
}

function isCitation(read: Citation | Reference): read is Citation {
  return 'lines' in read
}

const REFERENCE_KEYS: ReadonlySet<string> = new Set(['document', 'version', 'digest'])

function parseCitation(
  value: JsonObject,
  names: readonly CitationName[],
): Citation | Reference | undefined {
  const document = value.get('document')
  const version = value.get('version')
  const quote = value.get('quote')
  const digest = value.get('digest')
  if (typeof document !== 'string' || typeof digest !== 'string') return undefined
  if (version !== undefined && typeof version !== 'string') return undefined
  const source = { document, ...(version === undefined ? {} : { version }) }
  if ([...value.keys()].every((key) => REFERENCE_KEYS.has(key))) return { ...source, digest }
  const lines = parseLines(value.get('lines'))
  // A second key that reads the same, such as `Quote`, says something that nobody checks.
  if (typeof quote !== 'string' || lines === undefined || names.length > CITATION_NAMES.length)
    return undefined
  return { ...source, lines, quote, digest }
}

function parseLines(value: JsonValue | undefined): Citation['lines'] | undefined {
  if (!(value instanceof Map) || value.size !== 2) return undefined
  const lines = value as JsonObject
  const start = lines.get('start')
  const end = lines.get('end')
  return isLine(start) && isLine(end) ? { start, end } : undefined
}

function isLine(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value)
}

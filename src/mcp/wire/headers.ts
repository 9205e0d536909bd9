/**
 * The HTTP headers that mirror a modern message: how they are written, read and compared.
 *
 * A body is what counts; headers only repeat it, and a difference is refused (-32020) by whoever
 * processes the body. Which status goes with that is the door's decision.
 *
 * @source MCP 2026-07-28, transports, Streamable HTTP, "Request headers" and `x-mcp-header`.
 */
import { canonicalNumber } from './canonical-number.ts'
import { MCP_HEADERS } from './rev-2026-07-28.ts'

/** Header values by lower-case name, as Node gives them. */
export type HeaderBag = Readonly<Record<string, string | readonly string[] | undefined>>

/** One annotated argument of a tool. */
export interface ParamHeader {
  /** The full header name, as sent. */
  readonly header: string
  /** Keys from the arguments' root. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** The annotations of a tool's schema, or why the tool must be left out. */
export type ParamHeaders =
  | { readonly ok: true; readonly headers: readonly ParamHeader[] }
  | { readonly ok: false; readonly reason: string }

/** What a body says, for the headers to repeat. */
export interface MirroredBody {
  readonly protocolVersion: string
  readonly method: string
  /** params.name, params.uri or params.taskId, by method; absent for other methods. */
  readonly name?: string | undefined
}

const SENTINEL_START = '=?base64?'
const SENTINEL_END = '?='
const SENTINEL_FIRST = SENTINEL_START.charCodeAt(0)
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** A text as header value: itself when plain ASCII, else the base64 sentinel. */
export function encodeHeaderValue(value: string): string {
  const plain = /^[\x20-\x7e]*$/.test(value) && value.trim() === value
  const alike = value.startsWith(SENTINEL_START) && value.endsWith(SENTINEL_END)
  if (plain && !alike) return value
  return `${SENTINEL_START}${Buffer.from(value, 'utf8').toString('base64')}${SENTINEL_END}`
}

/** The text of a header value. @returns undefined when it is malformed (characters or base64). */
export function decodeHeaderValue(raw: string): string | undefined {
  if (isPlain(raw)) return raw
  const value = raw.replace(/^[ \t]+|[ \t]+$/g, '')
  if (!/^[\x20-\x7e]*$/.test(value)) return undefined
  if (!value.startsWith(SENTINEL_START) || !value.endsWith(SENTINEL_END)) return value
  const base64 = value.slice(SENTINEL_START.length, -SENTINEL_END.length)
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) {
    return undefined
  }
  try {
    const bytes = Buffer.from(base64, 'base64')
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Visible ASCII, spaces between, and nothing that may be a sentinel: nearly all of them, and they say what they are. */
function isPlain(value: string): boolean {
  const last = value.length - 1
  if (last < 0) return true
  if (value.charCodeAt(0) === 0x20 || value.charCodeAt(last) === 0x20) return false
  if (value.charCodeAt(0) === SENTINEL_FIRST) return false
  for (let at = 0; at <= last; at += 1) {
    const code = value.charCodeAt(at)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

/** The standard headers for a body. */
export function mirrorHeaders(body: MirroredBody): Record<string, string> {
  return {
    [MCP_HEADERS.protocolVersion]: body.protocolVersion,
    [MCP_HEADERS.method]: encodeHeaderValue(body.method),
    ...(body.name === undefined ? {} : { [MCP_HEADERS.name]: encodeHeaderValue(body.name) }),
  }
}

/** Compares the standard headers with the body. @returns what is wrong; undefined when they agree. */
export function checkMirrorHeaders(headers: HeaderBag, body: MirroredBody): string | undefined {
  return (
    checkOne(headers, MCP_HEADERS.protocolVersion, body.protocolVersion) ??
    checkOne(headers, MCP_HEADERS.method, body.method) ??
    (body.name === undefined ? undefined : checkOne(headers, MCP_HEADERS.name, body.name))
  )
}

/**
 * Reads the `x-mcp-header` annotations of a tool.
 *
 * An annotation counts wherever it stands in the schema, and is valid only on a path made of
 * `properties` alone: one under items, `$ref` or a composition makes the tool unusable over HTTP.
 *
 * @param inputSchema the parsed schema, not validated.
 */
export function readParamHeaders(inputSchema: unknown): ParamHeaders {
  const found: ParamHeader[] = []
  const names = new Set<string>()
  const reason = collect(inputSchema, [], true, found, names, 0)
  return reason === undefined ? { ok: true, headers: found } : { ok: false, reason }
}

/** The `Mcp-Param-*` headers of one call. @param args the parsed arguments. */
export function paramHeaderValues(
  annotations: readonly ParamHeader[],
  args: unknown,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const annotation of annotations) {
    const text = argumentText(annotation, args)
    if (text !== undefined) headers[annotation.header] = encodeHeaderValue(text)
  }
  return headers
}

/** Compares `Mcp-Param-*` headers with the arguments. @returns what is wrong, if anything. */
export function checkParamHeaders(
  annotations: readonly ParamHeader[],
  args: unknown,
  headers: HeaderBag,
): string | undefined {
  for (const annotation of annotations) {
    const expected = argumentText(annotation, args)
    const raw = headers[annotation.header.toLowerCase()]
    if (expected === undefined) {
      if (raw === undefined) continue
      return `header ${annotation.header} has no counterpart in the arguments`
    }
    const problem = checkOne(headers, annotation.header, expected, annotation.type === 'integer')
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The names that every request is looked through for. */
const LOWER_NAMES: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.values(MCP_HEADERS).map((name) => [name, name.toLowerCase()]),
)

function checkOne(
  headers: HeaderBag,
  name: string,
  expected: string,
  numeric = false,
): string | undefined {
  const raw = headers[LOWER_NAMES[name] ?? name.toLowerCase()]
  if (raw === undefined) return `header ${name} is missing`
  if (typeof raw !== 'string') return `header ${name} must be sent once`
  const value = decodeHeaderValue(raw)
  if (value === undefined) return `header ${name} is malformed`
  const same = value === expected || (numeric && isSameNumber(value, expected))
  return same ? undefined : `header ${name} does not match the body`
}

/** Exact, and only what is a number in JSON: other readers take `0x2a` or `042` for something else. */
function isSameNumber(value: string, expected: string): boolean {
  return JSON_NUMBER.test(value) && lexemeOf(value) === lexemeOf(expected)
}

function lexemeOf(number: string): string {
  const bytes = Buffer.from(number, 'latin1')
  return Buffer.from(canonicalNumber(bytes, { start: 0, end: bytes.length })).toString('latin1')
}

/** @source `x-mcp-header`: null or absent omits the header; integers decimal; booleans as words. */
function argumentText(annotation: ParamHeader, args: unknown): string | undefined {
  let value: unknown = args
  for (const key of annotation.path) value = ownValue(value, key)
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  return undefined
}

function ownValue(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}

const MAX_SCHEMA_DEPTH = 128

function collect(
  schema: unknown,
  path: readonly string[],
  reachable: boolean,
  found: ParamHeader[],
  names: Set<string>,
  depth: number,
): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  if (depth > MAX_SCHEMA_DEPTH) return `schema is nested deeper than ${MAX_SCHEMA_DEPTH}`
  const annotation = Array.isArray(schema) ? undefined : ownValue(schema, 'x-mcp-header')
  if (annotation !== undefined) {
    const problem = addAnnotation(schema, annotation, path, reachable, found, names)
    if (problem !== undefined) return problem
  }
  for (const [keyword, inner] of Object.entries(schema)) {
    if (DATA_KEYWORDS.has(keyword)) continue
    const problem =
      keyword === 'properties' && !Array.isArray(schema)
        ? collectProperties(inner, path, reachable, found, names, depth)
        : collect(inner, path, false, found, names, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Keywords that hold data: an `x-mcp-header` key inside of them annotates nothing. */
const DATA_KEYWORDS = new Set(['const', 'enum', 'default', 'examples', 'x-mcp-header'])

function collectProperties(
  properties: unknown,
  path: readonly string[],
  reachable: boolean,
  found: ParamHeader[],
  names: Set<string>,
  depth: number,
): string | undefined {
  if (typeof properties !== 'object' || properties === null) return undefined
  for (const [key, schema] of Object.entries(properties)) {
    const problem = collect(schema, [...path, key], reachable, found, names, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function addAnnotation(
  schema: object,
  annotation: unknown,
  path: readonly string[],
  reachable: boolean,
  found: ParamHeader[],
  names: Set<string>,
): string | undefined {
  const at = `x-mcp-header at /${path.join('/')}`
  if (typeof annotation !== 'string' || !TOKEN.test(annotation)) {
    return `${at} must be a non-empty header token`
  }
  if (!reachable || path.length === 0) return `${at} must lie under properties only`
  const type = ownValue(schema, 'type')
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
    return `${at} must be on a string, integer or boolean`
  }
  const lower = annotation.toLowerCase()
  if (names.has(lower)) return `${at} repeats the header name of another argument`
  names.add(lower)
  found.push({ header: `${MCP_HEADERS.paramPrefix}${annotation}`, path, type })
  return undefined
}

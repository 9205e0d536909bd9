/**
 * Reads single values: strings, numbers, base64, times, enum names, free JSON, each within its limit.
 *
 * Messages say what was expected and what kind of thing came, never the value: it may be a secret.
 * Enum names are quoted, shortened, because the 0.3 form of a name is the usual mistake.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Kind } from './fields.ts'
import { ROLES, TASK_STATES } from './rev-1-0.ts'

/** One thing wrong, and where. `path` is empty for the value itself. */
export interface Violation {
  readonly path: string
  readonly message: string
}

/** Bounds of one reading. */
export interface ReadLimits {
  /** Parts in one message or artifact. Default 1000. */
  readonly maxParts: number
  /** Decoded bytes of all `raw` parts of one message or artifact. Default 32 MiB. */
  readonly maxRawBytes: number
  /** UTF-16 units of one text, url or other string. Default 16 Mi. */
  readonly maxStringLength: number
  /** Nesting of `data`, `metadata` and the like. Default 100, as ProtoJSON parsers have. */
  readonly maxDepth: number
  /** Elements of any other list or map. Default 10 000. */
  readonly maxItems: number
  /**
   * What an absent REQUIRED list or map, or empty parts, mean. Emitters drop empty lists, so replies are read
   * with `allow` (absent becomes empty); requests are read with `refuse`, the default.
   */
  readonly emptyLists: 'refuse' | 'allow'
  /** `allow` in replies: an agent that says so does not know what became of its task. */
  readonly unspecifiedState: 'refuse' | 'allow'
}

/** The default bounds. */
export const READ_LIMITS: ReadLimits = {
  maxParts: 1000,
  maxRawBytes: 32 * 1024 * 1024,
  maxStringLength: 16 * 1024 * 1024,
  maxDepth: 100,
  maxItems: 10_000,
  emptyLists: 'refuse',
  unspecifiedState: 'refuse',
}

/** How what a peer answered is read: with what emitters leave out, and with what they do not know. */
export const REPLY_LIMITS = {
  emptyLists: 'allow',
  unspecifiedState: 'allow',
} as const satisfies Partial<ReadLimits>

const MAX_VIOLATIONS = 50
type Scalar = Exclude<Kind, { readonly message: unknown }>

/** The state of one reading; it lives for one call of `readWire`. */
export interface Reading {
  readonly limits: ReadLimits
  readonly violations: Violation[]
}

/** Notes one violation; what is read is then nothing. */
export function refuse(reading: Reading, path: string, message: string): undefined {
  if (reading.violations.length < MAX_VIOLATIONS) reading.violations.push({ path, message })
  return undefined
}

/** Reads a value that is no message: a scalar, an enum name, or JSON that is passed through. */
export function readScalar(reading: Reading, kind: Scalar, value: unknown, path: string): unknown {
  if (typeof kind === 'object') return readEnum(reading, kind.enum, value, path)
  switch (kind) {
    case 'string':
      return readString(reading, value, path)
    case 'bytes':
      return readBase64(reading, value, path)
    case 'timestamp':
      return readTimestamp(reading, value, path)
    case 'bool':
      if (typeof value === 'boolean') return value
      return refuse(reading, path, `expected true or false, got ${describe(value)}`)
    case 'int32':
      return readInteger(reading, value, path)
    case 'struct':
      if (!isObject(value)) {
        return refuse(reading, path, `expected an object, got ${describe(value)}`)
      }
      return readJson(reading, value, path)
    case 'value':
      return readJson(reading, value, path)
  }
}

function readString(reading: Reading, value: unknown, path: string): unknown {
  if (typeof value !== 'string') {
    return refuse(reading, path, `expected a string, got ${describe(value)}`)
  }
  if (value.length > reading.limits.maxStringLength) {
    const limit = reading.limits.maxStringLength
    return refuse(reading, path, `longer than ${limit} characters (${value.length})`)
  }
  return value
}

function readBase64(reading: Reading, value: unknown, path: string): unknown {
  if (typeof value !== 'string') {
    return refuse(reading, path, `expected base64 in a string, got ${describe(value)}`)
  }
  // The size is checked before the alphabet: no scan over what will be refused anyway.
  if (decodedLength(value) > reading.limits.maxRawBytes) {
    return refuse(reading, path, tooManyBytes(reading.limits))
  }
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(value) || value.replace(/=+$/, '').length % 4 === 1) {
    return refuse(reading, path, 'not base64 (standard or URL alphabet)')
  }
  return value
}

/** ProtoJSON parsers take any offset; the protocol asks writers for UTC. @source A2A 1.0, 5.6.1 */
function readTimestamp(reading: Reading, value: unknown, path: string): unknown {
  const form = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/
  if (typeof value !== 'string' || !form.test(value) || Number.isNaN(Date.parse(value))) {
    const got = typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : describe(value)
    return refuse(reading, path, `expected a time such as 2026-01-31T12:00:00.000Z, got ${got}`)
  }
  return value
}

function readInteger(reading: Reading, value: unknown, path: string): unknown {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || Math.abs(number) > 0x7fffffff) {
    return refuse(reading, path, `expected a whole number, got ${describe(value)}`)
  }
  return number
}

function readEnum(
  reading: Reading,
  kind: 'TaskState' | 'Role',
  value: unknown,
  path: string,
): unknown {
  const names: readonly string[] = kind === 'TaskState' ? TASK_STATES : ROLES
  if (typeof value === 'string' && names.includes(value)) return value
  const prefix = kind === 'TaskState' ? 'TASK_STATE_' : 'ROLE_'
  if (typeof value === 'string') {
    const modern = prefix + value.toUpperCase().replaceAll('-', '_')
    if (names.includes(modern)) {
      return refuse(reading, path, `"${value}" is the 0.3 form; A2A 1.0 writes ${modern}`)
    }
  }
  const got = typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : describe(value)
  return refuse(reading, path, `expected one of ${names.slice(1).join(', ')}; got ${got}`)
}

function readJson(reading: Reading, value: unknown, path: string): unknown {
  if (isDeeper(value, reading.limits.maxDepth)) {
    return refuse(reading, path, `nested deeper than ${reading.limits.maxDepth} levels`)
  }
  return value
}

/** True when a value nests deeper than `depth`; recursion itself is bounded by it. */
function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  return Object.values(value).some((item) => isDeeper(item, depth - 1))
}

/** What to do when raw parts are too many bytes. */
export function tooManyBytes(limits: ReadLimits): string {
  return `raw parts hold more than ${limits.maxRawBytes} bytes; send larger files in appended chunks or as a url`
}

/** Bytes that a base64 text stands for. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** The kind of a value, never the value: what came may be a secret. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

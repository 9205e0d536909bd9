/**
 * Reads unknown JSON into the typed view, following the field table.
 *
 * All violations are collected, each with its path, so that a sender is told once. Unknown members
 * are passed over; 0.3 forms are refused by name, since a message half in each revision would be
 * understood differently by each reader. Nothing here touches the network or decodes bytes.
 */
import { isObject } from '../../core/words/is-object.ts'
import { type Field, type Kind, type MessageName, SHAPES } from './fields.ts'
import {
  decodedLength,
  describe,
  type Reading,
  type ReadLimits,
  readScalar,
  refuse,
  tooManyBytes,
  type Violation,
} from './read-value.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Reads one value as the named message.
 *
 * @returns the typed view when nothing was wrong, else every violation (at most 50).
 */
export function readWire(
  name: MessageName,
  value: unknown,
  limits: ReadLimits,
): { readonly value: unknown; readonly violations: readonly Violation[] } {
  const reading: Reading = { limits, violations: [] }
  return { value: readMessage(reading, name, value, ''), violations: reading.violations }
}

function readMessage(reading: Reading, name: MessageName, value: unknown, path: string): unknown {
  if (!isObject(value)) {
    return refuse(reading, path, `expected an object (${name}), got ${describe(value)}`)
  }
  const shape = SHAPES[name]
  if (shape.refusesKind && Object.hasOwn(value, 'kind')) {
    refuse(reading, join(path, 'kind'), kindMessage(name, value['kind']))
  }
  const view: Record<string, unknown> = {}
  const set: string[] = []
  for (const field of shape.fields) {
    const at = join(path, field.json)
    const given = pick(reading, value, field, at)
    if (given === ABSENT) {
      if (field.required) readAbsent(reading, name, field, view, at)
      continue
    }
    if (field.presence === 'oneof') set.push(field.json)
    const read = readField(reading, name, field, given, at)
    if (read !== undefined || field.kind === 'value') view[field.json] = read
  }
  checkOneof(reading, name, set, path)
  if (name === 'Message' || name === 'Artifact') checkRawBytes(reading, view['parts'], path)
  return view
}

const ABSENT = Symbol('absent')

/** The member under either of its names. `null` is unset, except where null is a value. */
function pick(reading: Reading, value: Json, field: Field, path: string): unknown {
  const camel = Object.hasOwn(value, field.json)
  const snake = field.alias !== field.json && Object.hasOwn(value, field.alias)
  if (camel && snake) {
    refuse(reading, path, `given twice, as ${field.json} and as ${field.alias}; send one`)
  }
  if (!camel && !snake) return ABSENT
  const given = value[camel ? field.json : field.alias]
  return given === null && field.kind !== 'value' ? ABSENT : given
}

function readAbsent(
  reading: Reading,
  name: MessageName,
  field: Field,
  view: Record<string, unknown>,
  path: string,
): void {
  const many = field.presence === 'repeated' || field.presence === 'map'
  if (many && reading.limits.emptyLists === 'allow') {
    view[field.json] = field.presence === 'map' ? {} : []
    return
  }
  refuse(reading, path, `required by ${name} and missing`)
}

function readField(
  reading: Reading,
  name: MessageName,
  field: Field,
  given: unknown,
  path: string,
): unknown {
  if (field.presence === 'repeated') return readList(reading, name, field, given, path)
  if (field.presence === 'map') return readMap(reading, field, given, path)
  const read = readValue(reading, field.kind, given, path)
  const { unspecifiedState } = reading.limits
  if (field.required && read === 'TASK_STATE_UNSPECIFIED' && unspecifiedState === 'refuse') {
    return refuse(reading, path, 'TASK_STATE_UNSPECIFIED is no state; say which one')
  }
  if (field.required && read === 'ROLE_UNSPECIFIED') {
    return refuse(reading, path, 'ROLE_UNSPECIFIED is no role; say ROLE_USER or ROLE_AGENT')
  }
  return read
}

function readList(
  reading: Reading,
  name: MessageName,
  field: Field,
  given: unknown,
  path: string,
): unknown {
  if (!Array.isArray(given)) {
    return refuse(reading, path, `expected an array, got ${describe(given)}`)
  }
  const isParts = field.json === 'parts'
  if (isParts && given.length === 0 && reading.limits.emptyLists === 'refuse') {
    return refuse(reading, path, `${name} needs at least one part`)
  }
  const limit = isParts ? reading.limits.maxParts : reading.limits.maxItems
  if (given.length > limit) {
    return refuse(reading, path, `at most ${limit} elements are taken, got ${given.length}`)
  }
  return given.map((item, index) => readValue(reading, field.kind, item, `${path}[${index}]`))
}

function readMap(reading: Reading, field: Field, given: unknown, path: string): unknown {
  if (!isObject(given)) {
    return refuse(reading, path, `expected an object, got ${describe(given)}`)
  }
  const entries = Object.entries(given)
  if (entries.length > reading.limits.maxItems) {
    return refuse(reading, path, `at most ${reading.limits.maxItems} entries are taken`)
  }
  return Object.fromEntries(
    entries.map(([key, item]) => [key, readValue(reading, field.kind, item, join(path, key))]),
  )
}

function readValue(reading: Reading, kind: Kind, value: unknown, path: string): unknown {
  if (typeof kind === 'object' && 'message' in kind) {
    return readMessage(reading, kind.message, value, path)
  }
  return readScalar(reading, kind, value, path)
}

function checkOneof(
  reading: Reading,
  name: MessageName,
  set: readonly string[],
  path: string,
): void {
  const rule = SHAPES[name].oneof
  if (rule === undefined || set.length === 1) return
  const members = SHAPES[name].fields.filter((field) => field.presence === 'oneof')
  const names = members.map((field) => field.json).join(', ')
  if (set.length > 1) {
    refuse(reading, path, `${name} takes one of ${names}; got ${set.join(' and ')}`)
  } else if (rule === 'exactly_one') {
    refuse(reading, path, `${name} needs exactly one of ${names}; none is there`)
  }
}

/** Each raw part alone may fit while the message does not. */
function checkRawBytes(reading: Reading, parts: unknown, path: string): void {
  if (!Array.isArray(parts)) return
  let total = 0
  for (const part of parts as readonly unknown[]) {
    if (isObject(part) && typeof part['raw'] === 'string') total += decodedLength(part['raw'])
  }
  if (total > reading.limits.maxRawBytes) {
    refuse(reading, join(path, 'parts'), tooManyBytes(reading.limits))
  }
}

function kindMessage(name: MessageName, kind: unknown): string {
  const said = typeof kind === 'string' ? ` ("${kind.slice(0, 40)}")` : ''
  return `\`kind\`${said} is the 0.3 form; in A2A 1.0 a ${name} has none: the member's name says what it holds`
}

function join(path: string, name: string): string {
  const step = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name.slice(0, 80))
  return path === '' ? step : `${path}.${step}`
}

/**
 * Writes a typed value as the plain JSON object that goes on the wire, following the field table.
 *
 * Only members of the table leave: a stray member of a richer object (ours, or a 0.3 one) can never
 * slip into a message. What is set is written even when it is the default, because presence carries
 * meaning in parts, in list replies and under signatures; what is absent stays absent.
 */
import { type Field, type Kind, type MessageName, SHAPES } from './fields.ts'

/**
 * Encodes one message.
 *
 * @throws TypeError when a REQUIRED member is missing: a fault of ours, never of a peer.
 */
export function writeWire(name: MessageName, value: object): Record<string, unknown> {
  const source = value as Readonly<Record<string, unknown>>
  const written: Record<string, unknown> = {}
  for (const field of SHAPES[name].fields) {
    const given = Object.hasOwn(source, field.json) ? source[field.json] : undefined
    if (given === undefined) {
      if (field.required) throw new TypeError(`${name}.${field.json} is required and was not set`)
      continue
    }
    written[field.json] = writeField(field, given)
  }
  return written
}

function writeField(field: Field, given: unknown): unknown {
  if (field.presence === 'repeated') {
    return (given as readonly unknown[]).map((item) => writeValue(field.kind, item))
  }
  if (field.presence === 'map') {
    const entries = Object.entries(given as Readonly<Record<string, unknown>>)
    return Object.fromEntries(entries.map(([key, item]) => [key, writeValue(field.kind, item)]))
  }
  return writeValue(field.kind, given)
}

function writeValue(kind: Kind, given: unknown): unknown {
  if (typeof kind === 'object' && 'message' in kind) {
    return writeWire(kind.message, given as object)
  }
  return given
}

import * as sdk from '@a2a-js/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeWire, parseWire } from './codec.ts'
import { type Field, type Kind, type MessageName, SHAPES } from './fields.ts'
import { ROLES, TASK_STATES } from './rev-1-0.ts'

interface Codec {
  fromJSON(value: unknown): object
  toJSON(value: object): unknown
}
/** Generated codecs of the official SDK: an independent reading of the same protocol definition. */
const CODECS = sdk as unknown as Readonly<Record<string, Codec>>
/** What the SDK calls the group of which one member is set. */
const GROUPS: Partial<Record<MessageName, string>> = {
  Part: 'content',
  SendMessageResponse: 'payload',
  StreamResponse: 'payload',
  SecurityScheme: 'scheme',
  OAuthFlows: 'flow',
}
const NAMES = Object.keys(SHAPES) as MessageName[]

/** Values that are not the default: the SDK drops defaults, which is not what is compared here. */
function valueOf(kind: Kind, depth: number): fc.Arbitrary<unknown> {
  if (typeof kind === 'object') {
    if ('message' in kind) return messageOf(kind.message, depth + 1)
    return fc.constantFrom(...(kind.enum === 'Role' ? ROLES : TASK_STATES).slice(1))
  }
  switch (kind) {
    case 'string':
      return fc.string({ minLength: 1, maxLength: 8 })
    case 'bool':
      return fc.constant(true)
    case 'int32':
      return fc.integer({ min: 1, max: 1000 })
    case 'bytes':
      return fc
        .uint8Array({ minLength: 1, maxLength: 9 })
        .map((bytes) => Buffer.from(bytes).toString('base64'))
    case 'timestamp':
      return fc.constant('2026-01-31T12:00:00.123Z')
    case 'struct':
      return fc.constant({ a: 1, b: [true, { c: 'd' }] })
    case 'value':
      return fc.constantFrom(1, 'x', false, [1, [2]], { deep: { er: 1 } })
  }
}

function fieldOf(field: Field, depth: number): fc.Arbitrary<unknown> {
  const one = valueOf(field.kind, depth)
  if (field.presence === 'repeated') return fc.array(one, { minLength: 1, maxLength: 2 })
  if (field.presence === 'map') return one.map((item) => ({ key: item }))
  return one
}

function messageOf(name: MessageName, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const { fields } = SHAPES[name]
  const plain = fields.filter((field) => field.presence !== 'oneof')
  const group = fields.filter((field) => field.presence === 'oneof')
  const required = plain.filter((field) => field.required || depth < 3)
  const base = fc.record(
    Object.fromEntries(required.map((field) => [field.json, fieldOf(field, depth)])),
  )
  if (group.length === 0) return base
  const member = fc.oneof(
    ...group.map((field) => fieldOf(field, depth).map((item) => ({ [field.json]: item }))),
  )
  return fc.tuple(base, member).map(([rest, chosen]) => ({ ...rest, ...chosen }))
}

describe('the field table against the official SDK', () => {
  it.each(NAMES)('%s has the fields the protocol definition has', (name) => {
    const codec = CODECS[name]
    expect(codec, `${name} is no message of the SDK`).toBeDefined()
    const theirs = Object.keys(codec!.fromJSON({})).filter((key) => key !== GROUPS[name])
    const ours = SHAPES[name].fields
      .filter((field) => field.presence !== 'oneof')
      .map((field) => field.json)
    // The SDK's object leaves out nothing but the members of a group, which stand under one name.
    expect(ours.toSorted()).toEqual(theirs.toSorted())
  })

  it.each(NAMES)('%s reads and writes as the SDK does', (name) => {
    fc.assert(
      fc.property(messageOf(name, 0), (message) => {
        const parsed = parseWire(name, message)
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.violations))
        const written = encodeWire(name, parsed.value)
        expect(written).toEqual(message)
        const codec = CODECS[name]!
        expect(codec.toJSON(codec.fromJSON(written))).toEqual(message)
      }),
      { numRuns: 25 },
    )
  })

  it('knows each field by its name in the definition too', () => {
    const alias = (message: MessageName, json: string): string | undefined =>
      SHAPES[message].fields.find((field) => field.json === json)?.alias
    expect(alias('Message', 'referenceTaskIds')).toBe('reference_task_ids')
    expect(alias('OAuth2SecurityScheme', 'oauth2MetadataUrl')).toBe('oauth2_metadata_url')
    expect(alias('TaskArtifactUpdateEvent', 'lastChunk')).toBe('last_chunk')
  })
})

/** What each model API says of a tool as it is. */
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { judgeForModels, MODEL_APIS } from './model-schemas.ts'
import { externalReference, isRecursive, partsOf } from './schema-walk.ts'

const closed = (properties: object): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const toolsOf = (file: string): readonly { name: string; inputSchema: unknown }[] => {
  const text = readFileSync(join(import.meta.dirname, '../../../test/cases', file), 'utf8')
  return (JSON.parse(text) as { given: { tools: { name: string; inputSchema: unknown }[] } }).given
    .tools
}

/** `api: reasons` of one tool. */
function reasonsOf(inputSchema: unknown, name = 'tool'): Record<string, readonly string[]> {
  return Object.fromEntries(
    judgeForModels(name, inputSchema).map(({ api, reasons }) => [
      api,
      reasons.map(({ at, why }) => (at === '' ? why : `${at}: ${why}`)),
    ]),
  )
}

test('a closed schema of plain types is taken as it is by all but Gemini, which has no additionalProperties', () => {
  expect(reasonsOf(closed({ text: { type: 'string' } }))).toEqual({
    gemini: ['additionalProperties is not supported'],
  })
  expect(
    reasonsOf({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }),
  ).toEqual({
    'anthropic-strict': ['additionalProperties must be false'],
    'openai-strict': ['additionalProperties must be false'],
  })
})

test('names: 64 of letters, digits, _ and -; dots are for Gemini alone', () => {
  const named = (name: string): string[] =>
    Object.keys(reasonsOf({ type: 'object', additionalProperties: false }, name))
  expect(named('files.read')).toEqual([
    'anthropic',
    'openai',
    'anthropic-strict',
    'openai-strict',
    'gemini',
  ])
  expect(reasonsOf({ type: 'object' }, 'files.read')['gemini']).toBeUndefined()
  expect(named('x'.repeat(65)).length).toBe(5)
  expect(reasonsOf({ type: 'object' }, '7zip')).not.toHaveProperty('anthropic')
  expect(reasonsOf({ type: 'object' }, '7zip')['gemini']?.[0]).toContain('the name does not match')
})

test('C05: which tools a model API refuses for what stands at the root, and that the rest are taken', () => {
  const refused = toolsOf('C05-schema-top-level-anyof.json').map(({ name, inputSchema }) => [
    name,
    reasonsOf(inputSchema, name)['anthropic'] ?? [],
    reasonsOf(inputSchema, name)['openai'] ?? [],
  ])
  expect(refused).toEqual([
    ['plain', [], []],
    ['attach', ['anyOf may not stand at the root'], ['anyOf may not stand at the root']],
    ['cond', ['allOf may not stand at the root'], ['allOf may not stand at the root']],
  ])
})

test('C01: names with dots, slashes, spaces and letters of other alphabets are told one by one', () => {
  const tools = toolsOf('C01-names-dots-slashes-unicode.json')
  const taken = tools.filter(({ name, inputSchema }) => !('openai' in reasonsOf(inputSchema, name)))
  expect(taken.map(({ name }) => name)).toEqual(
    tools.map(({ name }) => name).filter((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)),
  )
  expect(taken.length).toBeLessThan(tools.length)
})

test.each(['anyOf', 'oneOf', 'allOf'])(
  '%s at the root is refused, below it not by the plain APIs',
  (keyword) => {
    const at = reasonsOf({ type: 'object', [keyword]: [{ required: ['a'] }] })
    expect(at['anthropic']).toEqual([`${keyword} may not stand at the root`])
    expect(at['openai']).toEqual([`${keyword} may not stand at the root`])
    const below = reasonsOf({
      type: 'object',
      properties: { a: { [keyword]: [{ type: 'string' }] } },
    })
    expect(below['anthropic']).toBeUndefined()
    expect(below['openai']).toBeUndefined()
    expect(below['openai-strict']?.some((why) => why.includes(keyword))).toBe(keyword !== 'anyOf')
  },
)

test('a root that is no object, a reference outside and an array that says nothing', () => {
  for (const { id } of MODEL_APIS) {
    expect(reasonsOf({ type: 'array', items: {} })[id]?.[0]).toBe(
      'the root must have type "object"',
    )
    const outside = reasonsOf({
      type: 'object',
      properties: { a: { $ref: 'https://x.example/a' } },
    })
    expect(outside[id]?.join()).toContain('https://x.example/a')
  }
  expect(reasonsOf({ type: 'object', properties: { a: { type: 'array' } } })['openai']).toEqual([
    '/properties/a: an array must say its items',
  ])
})

test('strict OpenAI: every property required, known keywords and formats, ten levels', () => {
  const optional = {
    ...closed({ a: { type: 'string', minLength: 1, format: 'uri' }, b: {} }),
    required: ['a'],
  }
  expect(reasonsOf(optional)['openai-strict']).toEqual([
    'all properties must be required; not so: b',
    '/properties/a: minLength is not supported',
    '/properties/a: format "uri" is not supported',
  ])
  const deep = (levels: number): object =>
    levels === 0 ? { type: 'string' } : closed({ a: deep(levels - 1) })
  expect(reasonsOf(deep(10))['openai-strict']).toBeUndefined()
  expect(reasonsOf(deep(11))['openai-strict']).toEqual(['11 levels of nesting; at most 10'])
})

test('strict Anthropic: no recursion, no numeric bounds', () => {
  const tree = { ...closed({ left: { $ref: '#' } }) }
  expect(reasonsOf(tree)['anthropic-strict']).toEqual(['recursive schemas are not supported'])
  expect(reasonsOf(closed({ a: { type: 'integer', minimum: 1 } }))['anthropic-strict']).toEqual([
    '/properties/a: minimum is not supported',
  ])
  expect(
    reasonsOf(closed({ a: { type: 'array', items: {}, minItems: 2 } }))['anthropic-strict'],
  ).toEqual(['/properties/a: minItems other than 0 and 1 is not supported'])
})

describe('Gemini', () => {
  test.each([
    [{ type: ['string', 'null'] }, 'type must be one type, not a list'],
    [
      { type: 'string', format: 'uri' },
      'format "uri" of a string: only enum and date-time are supported',
    ],
    [{ type: 'integer', enum: [1] }, 'enum is for strings only'],
    [{ type: 'string', enum: ['a', ''] }, 'enum values must be texts that are not empty'],
    [
      { type: 'object', properties: {}, required: ['b'] },
      'required names a property that is not there',
    ],
    [{ type: 'string', const: 'x' }, 'const is not supported'],
  ])('%j', (schema, why) => {
    expect(reasonsOf({ type: 'object', properties: { a: schema } })['gemini']).toEqual([
      `/properties/a: ${why}`,
    ])
  })
})

test('each API names its documentation', () => {
  for (const { source } of MODEL_APIS) expect(new URL(source).protocol).toBe('https:')
})

test('property names, enums and defaults are data: nothing in them is taken for a keyword', () => {
  const schema = {
    type: 'object',
    properties: { oneOf: { type: 'string' }, not: { type: 'string' } },
    default: { allOf: [] },
  }
  expect(partsOf(schema).map(({ at }) => at)).toEqual(['', '/properties/oneOf', '/properties/not'])
  expect(reasonsOf(schema)['openai']).toBeUndefined()
})

test('references within are not outside, by pointer or by id', () => {
  expect(
    externalReference(partsOf({ $id: 'https://x.example/s', $ref: '#/$defs/a' })),
  ).toBeUndefined()
  expect(externalReference(partsOf({ $defs: { a: { $id: 'a' } }, $ref: 'a' }))).toBeUndefined()
  expect(externalReference(partsOf({ items: { $ref: 'b.json#/c' } }))).toBe('b.json#/c')
  expect(
    isRecursive(partsOf({ $defs: { a: { properties: { next: { $ref: '#/$defs/a' } } } } })),
  ).toBe(true)
  expect(isRecursive(partsOf({ $defs: { a: {} }, properties: { b: { $ref: '#/$defs/a' } } }))).toBe(
    false,
  )
})

test('any JSON at all is judged without a fault of ours', () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue({ maxDepth: 6 }), (name, schema) => {
      for (const { reasons } of judgeForModels(name, schema))
        expect(reasons.length).toBeGreaterThan(0)
    }),
  )
})

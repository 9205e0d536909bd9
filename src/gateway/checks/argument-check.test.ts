import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ArgumentFault } from '../../core/ports/checks.ts'
import type { CapabilityKind } from '../../core/words/capability.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import { createArgumentCheck } from './argument-check.ts'

function jsonText(value: unknown): JsonText {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return { bytes, value: () => value }
}

function route(fingerprint: string, kind: CapabilityKind = 'tool'): Route {
  return {
    exposed: 'a_x',
    peer: 'a',
    protocol: 'mcp',
    kind,
    capability: 'x',
    endpoint: 'e',
    fingerprint,
    hints: {},
    trusted: true,
  }
}

/** A check over definitions by their own text, so that each has its own fingerprint. */
function checking(): (schema: unknown, args: unknown) => readonly ArgumentFault[] {
  const definitions = new Map<string, unknown>()
  const { check } = createArgumentCheck((at) => jsonText(definitions.get(at.fingerprint)))
  return (schema, args) => {
    const fingerprint = JSON.stringify(schema)
    definitions.set(fingerprint, { name: 'x', inputSchema: schema })
    return check(route(fingerprint), jsonText(args))
  }
}

const faultsOf = (schema: unknown, args: unknown): readonly ArgumentFault[] =>
  checking()(schema, args)

function toolsOf(id: string): Readonly<Record<string, unknown>> {
  const file = JSON.parse(readFileSync(`test/cases/${id}.json`, 'utf8')) as {
    given: { tools: { name: string; inputSchema: unknown }[] }
  }
  return Object.fromEntries(file.given.tools.map(({ name, inputSchema }) => [name, inputSchema]))
}

describe('faults', () => {
  test('all are said, by pointer and in words, without the values that came', () => {
    const schema = {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 3 },
        limit: { type: 'integer', maximum: 10 },
        order: { enum: ['up', 'down'] },
        'a/b': { type: ['boolean', 'null'] },
        list: { type: 'array', items: { type: 'number' }, maxItems: 2 },
      },
      required: ['query', 'title'],
      additionalProperties: false,
    }
    const args = {
      query: 's',
      limit: 11,
      order: 'secret',
      'a/b': 'secret',
      list: ['secret'],
      qery: 1,
    }
    expect(faultsOf(schema, args)).toEqual([
      { path: '/title', expected: 'required, it is missing' },
      { path: '/qery', expected: 'no such property; known are query, limit, order, a/b, list' },
      { path: '/query', expected: 'at least 3 characters' },
      { path: '/limit', expected: 'a number <= 10' },
      { path: '/order', expected: 'one of "up", "down"' },
      { path: '/a~1b', expected: 'true or false or null' },
      { path: '/list/0', expected: 'a number' },
    ])
  })

  test('at most eight are said', () => {
    const schema = { type: 'object', additionalProperties: { type: 'number' } }
    const args = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, 'x']))
    expect(faultsOf(schema, args)).toHaveLength(8)
  })

  test('of a large value the first fault is said', () => {
    const args = { list: Array.from({ length: 100_000 }, () => 'x') }
    const schema = { properties: { list: { items: { type: 'number' } } } }
    expect(faultsOf(schema, args)).toEqual([{ path: '/list/0', expected: 'a number' }])
  })

  test('words of the schema cannot hide anything', () => {
    const schema = { properties: { a: { enum: ['x\u202ey\u200b'] } } }
    expect(faultsOf(schema, { a: 1 })).toEqual([
      { path: '/a', expected: 'one of "x\\u{202e}y\\u{200b}"' },
    ])
  })

  test('inherited properties are not arguments', () => {
    expect(faultsOf({ required: ['toString'] }, {})).toEqual([
      { path: '/toString', expected: 'required, it is missing' },
    ])
  })

  test('alternatives are one fault', () => {
    const schema = { properties: { a: { oneOf: [{ type: 'string' }, { type: 'number' }] } } }
    expect(faultsOf(schema, { a: true })).toEqual([
      { path: '/a', expected: 'one of: text; or a number' },
    ])
    const both = { properties: { a: { oneOf: [{ type: 'number' }, { minimum: 1 }] } } }
    expect(faultsOf(both, { a: 2 })).toEqual([
      { path: '/a', expected: 'one of several forms, and not more than one of them' },
    ])
    const byReference = {
      properties: {
        a: { anyOf: [{ $ref: '#/$defs/t' }, { $ref: '#/$defs/u' }] },
        b: { type: 'null' },
      },
      $defs: { t: { type: 'string' }, u: { type: 'number' } },
    }
    expect(faultsOf(byReference, { a: true, b: 1 })).toEqual([
      { path: '/a', expected: 'one of: text; or a number' },
      { path: '/b', expected: 'null' },
    ])
  })
})

describe('patterns', () => {
  test('a pattern that would backtrack for ever answers at once', () => {
    const started = performance.now()
    const schema = { properties: { s: { pattern: '^(a+)+$' } } }
    expect(faultsOf(schema, { s: `${'a'.repeat(50)}!` })).toEqual([
      { path: '/s', expected: 'text matching ^(a+)+$' },
    ])
    expect(performance.now() - started).toBeLessThan(2000)
  })

  test('look-ahead, as schema generators write it for e-mail, still checks', () => {
    const pattern =
      "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"
    const schema = { properties: { mail: { type: 'string', format: 'email', pattern } } }
    const check = checking()
    expect(check(schema, { mail: 'a@example.org' })).toEqual([])
    expect(check(schema, { mail: '..a@example.org' })).not.toEqual([])
  })

  test('look-ahead that backtracks for ever is stopped and refused, and the next check works', () => {
    const check = checking()
    const schema = { properties: { s: { pattern: '^(?=a)(a+)+$' } } }
    expect(check(schema, { s: `${'a'.repeat(60)}!` })).toEqual([
      {
        path: '',
        expected:
          'arguments that can be checked; checking them by its schema did not end within 250 ms',
      },
    ])
    expect(check(schema, { s: 'aaa' })).toEqual([])
  })

  test('what is no pattern at all is the reason to refuse', () => {
    expect(faultsOf({ properties: { s: { pattern: '(' } } }, {})[0]?.expected).toContain(
      'its schema is not valid JSON Schema',
    )
  })
})

describe('schemas of peers', () => {
  test.each([
    ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{}] }],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema#' }],
    ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', definitions: {} }],
  ])('%s is checked', (_name, dialect) => {
    const schema = { ...dialect, type: 'object', required: ['a'] }
    expect(faultsOf(schema, {})).toEqual([{ path: '/a', expected: 'required, it is missing' }])
  })

  test('draft-07 tuples mean what they meant in draft-07', () => {
    const items = [{ type: 'string' }]
    const schema = (dialect: string): unknown => ({
      $schema: dialect,
      properties: { a: { items, additionalItems: false } },
    })
    const draft07 = 'http://json-schema.org/draft-07/schema#'
    expect(faultsOf(schema(draft07), { a: ['x', 1] })).toEqual([
      { path: '/a', expected: 'at most 1 items' },
    ])
  })

  test.each([
    [{ $ref: 'https://evil.example/schema' }, 'refers to https://evil.example/schema'],
    [{ $ref: '#/$defs/none' }, 'refers to #/$defs/none'],
    [{ $ref: 'file:///etc/passwd' }, 'comity fetches no schemas'],
    [{ $schema: 'https://example.org/mine' }, 'its schema is in https://example.org/mine'],
    [{ type: 'strnig' }, 'not valid JSON Schema'],
    [{ required: 'a' }, 'not valid JSON Schema'],
    ['string', 'not an object'],
    [null, 'not an object'],
    [
      { properties: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`p${i}`, {}])) },
      'too large',
    ],
    [{ description: 'x'.repeat(600_000) }, 'too large'],
    [nested(200), 'nested over 100 levels'],
  ])('%# is refused with the reason', (schema, expected) => {
    const [fault, ...rest] = faultsOf(schema, { a: 1 })
    expect(rest).toEqual([])
    expect(fault?.path).toBe('')
    expect(fault?.expected).toContain(expected)
  })

  test('one peer cannot spoil the checks of another by the ids in its schema', () => {
    const check = checking()
    const meta = 'https://json-schema.org/draft/2020-12/schema'
    check({ $id: meta, type: 'object' }, {})
    check({ $defs: { a: { $id: meta } } }, {})
    check(
      { $id: 'https://x.example/a', type: 'object', $defs: { n: { $id: 'n', type: 'string' } } },
      {},
    )
    expect(
      check(
        {
          $id: 'https://x.example/a',
          $defs: { n: { $id: 'n', type: 'number' } },
          properties: { v: { $ref: 'n' } },
        },
        { v: 1 },
      ),
    ).toEqual([])
    expect(
      check({ properties: { v: { $ref: 'https://x.example/n' } } }, { v: 1 })[0]?.expected,
    ).toContain('which it does not hold')
    expect(check({ type: 'object', required: ['a'] }, {})).toHaveLength(1)
    expect(check({ type: 'strnig' }, {})[0]?.expected).toContain('not valid JSON Schema')
  })

  test('a recursive schema over deep arguments ends in a refusal', () => {
    let deep: unknown = {}
    for (let index = 0; index < 20_000; index++) deep = { kid: deep }
    const schema = { properties: { kid: { $ref: '#' } } }
    const { check } = createArgumentCheck(() => jsonText({ inputSchema: schema }))
    const args: JsonText = { bytes: new Uint8Array(10), value: () => deep }
    expect(check(route('f'), args)[0]?.expected).toContain('arguments that can be checked')
  })

  test('a recursive schema that branches without end is stopped', () => {
    const schema = {
      properties: { kid: { anyOf: [{ $ref: '#' }, { $ref: '#' }, { $ref: '#' }] } },
      required: ['end'],
    }
    let deep: unknown = {}
    for (let index = 0; index < 40; index++) deep = { kid: deep }
    const started = performance.now()
    expect(faultsOf(schema, deep).length).toBeGreaterThan(0)
    expect(performance.now() - started).toBeLessThan(5000)
  })

  test('whatever stands in a schema, the check gives faults or none and never throws', () => {
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(
          true,
          false,
          null,
          1,
          -1,
          'string',
          'object',
          '#',
          '#/$defs/a',
          '^a',
          'uri',
        ),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom(
            'type',
            'properties',
            'a',
            '$ref',
            '$defs',
            '$id',
            'anyOf',
            'items',
            'pattern',
            'enum',
            'required',
            'format',
            '$schema',
            '$dynamicRef',
            'if',
            'then',
            'not',
            'unevaluatedProperties',
            '__proto__',
          ),
          tie('tree'),
          { maxKeys: 4 },
        ),
      ),
    }))
    const check = checking()
    fc.assert(
      fc.property(tree, tree, (schema, args) => {
        for (const fault of check(schema, args)) expect(fault.expected).not.toBe('')
      }),
      { numRuns: 300 },
    )
    expect(check({ type: 'object', required: ['a'] }, {})).toHaveLength(1)
  })
})

describe('kinds', () => {
  const prompt = {
    name: 'p',
    arguments: [{ name: 'topic', required: true }, { name: 'style' }],
  }
  const { check } = createArgumentCheck((at) =>
    at.kind === 'prompt' ? jsonText(prompt) : undefined,
  )

  test('a prompt needs its required arguments, as text', () => {
    expect(check(route('p', 'prompt'), jsonText({ topic: 'x' }))).toEqual([])
    expect(check(route('p', 'prompt'), jsonText({ style: 1 }))).toEqual([
      { path: '/topic', expected: 'required, it is missing' },
      { path: '/style', expected: 'text' },
    ])
    expect(check(route('p', 'prompt'), jsonText([]))).toEqual([{ path: '', expected: 'an object' }])
  })

  test('resources, templates and agents have nothing to check', () => {
    for (const kind of ['resource', 'template', 'agent'] as const) {
      expect(check(route('r', kind), jsonText({ uri: 'x:y' }))).toEqual([])
    }
  })

  test('a tool whose definition is not known is refused', () => {
    expect(check(route('t'), jsonText({}))).toEqual([
      { path: '', expected: 'arguments that can be checked; its definition is not known' },
    ])
  })
})

function nested(depth: number): unknown {
  let schema: unknown = { type: 'string' }
  for (let index = 0; index < depth; index++) schema = { not: schema }
  return schema
}

test('C05: arguments are checked against the original schema, alternatives and conditions included', () => {
  const { attach, cond, plain } = toolsOf('C05-schema-top-level-anyof')
  const check = checking()
  expect(check(attach, {})).toEqual([
    {
      path: '',
      expected: 'one of: /bytes required, it is missing; or /fromUrl required, it is missing',
    },
  ])
  expect(check(attach, { bytes: 'x' })).toEqual([])
  expect(check(cond, { mode: 'small', n: 99 })).toEqual([
    { path: '/n', expected: 'a number <= 10' },
  ])
  expect(check(cond, { mode: 'small', n: 3 })).toEqual([])
  expect(check(plain, { q: 'x' })).toEqual([])
})

test('C07: a reference to a definition is followed down: the second call is refused at /root/kids/0', () => {
  const { tree } = toolsOf('C07-schema-defs-kept')
  const check = checking()
  expect(check(tree, { root: { label: 'a', kids: [{ label: 'b', kids: [] }] } })).toEqual([])
  expect(check(tree, { root: { label: 'a', kids: [{ kids: [] }] } })).toEqual([
    { path: '/root/kids/0/label', expected: 'required, it is missing' },
  ])
})

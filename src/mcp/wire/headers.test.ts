import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkMirrorHeaders,
  checkParamHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  mirrorHeaders,
  paramHeaderValues,
  readParamHeaders,
} from './headers.ts'

describe('header values', () => {
  test('every text comes back, and what is sent is printable ASCII without outer spaces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const encoded = encodeHeaderValue(text)
        expect(encoded).toMatch(/^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/)
        expect(decodeHeaderValue(encoded)).toBe(text)
      }),
    )
  })

  test.each([
    ['search', 'search'],
    [' x', '=?base64?IHg=?='],
    ['a\tb', '=?base64?YQli?='],
    ['ж', '=?base64?0LY=?='],
    ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
  ])('%j is sent as %s', (text, encoded) => {
    expect(encodeHeaderValue(text)).toBe(encoded)
  })

  test.each(['ж', '=?base64?????=', '=?base64?/w==?=', '=?base64?eA=?=', 'a\u0000'])(
    '%j is malformed',
    (raw) => {
      expect(decodeHeaderValue(raw)).toBeUndefined()
    },
  )

  test('white space around a value does not count', () => {
    expect(decodeHeaderValue(' \tsearch ')).toBe('search')
  })
})

describe('the mirror of a body', () => {
  const body = { protocolVersion: '2026-07-28', method: 'tools/call', name: 'suche-ä' }
  const lower = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

  test('what we write agrees with the body', () => {
    expect(mirrorHeaders(body)).toEqual({
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': '=?base64?c3VjaGUtw6Q=?=',
    })
    expect(checkMirrorHeaders(lower(mirrorHeaders(body)), body)).toBeUndefined()
  })

  test.each([
    [{ 'mcp-name': 'other' }, 'header Mcp-Name does not match the body'],
    [{ 'mcp-name': undefined }, 'header Mcp-Name is missing'],
    [{ 'mcp-name': ['a', 'b'] }, 'header Mcp-Name must be sent once'],
    [{ 'mcp-name': '=?base64?*?=' }, 'header Mcp-Name is malformed'],
    [{ 'mcp-method': 'TOOLS/CALL' }, 'header Mcp-Method does not match the body'],
    [
      { 'mcp-protocol-version': '2025-11-25' },
      'header MCP-Protocol-Version does not match the body',
    ],
  ])('%j: %s', (change, problem) => {
    expect(checkMirrorHeaders({ ...lower(mirrorHeaders(body)), ...change }, body)).toBe(problem)
  })
})

describe('x-mcp-header', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
      flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
      plain: { type: 'string', default: { 'x-mcp-header': 'not one' } },
    },
  }

  test('valid annotations are read with their paths and turned into headers', () => {
    const read = readParamHeaders(schema)
    if (!read.ok) throw new Error(read.reason)
    expect(read.headers.map(({ header, path }) => [header, path.join('.')])).toEqual([
      ['Mcp-Param-Region', 'region'],
      ['Mcp-Param-Count', 'deep.count'],
      ['Mcp-Param-Flag', 'flag'],
    ])
    expect(
      paramHeaderValues(read.headers, { region: 'zürich', deep: { count: 42 }, flag: false }),
    ).toEqual({
      'Mcp-Param-Region': '=?base64?esO8cmljaA==?=',
      'Mcp-Param-Count': '42',
      'Mcp-Param-Flag': 'false',
    })
    expect(paramHeaderValues(read.headers, { region: null, deep: {} })).toEqual({})
  })

  test.each([
    ['no token', { properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } }],
    ['empty', { properties: { a: { type: 'string', 'x-mcp-header': '' } } }],
    ['not a string', { properties: { a: { type: 'string', 'x-mcp-header': 7 } } }],
    ['on a number', { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }],
    ['on an object', { properties: { a: { type: 'object', 'x-mcp-header': 'A' } } }],
    [
      'under items',
      { properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } } },
    ],
    ['under anyOf', { anyOf: [{ properties: { a: { type: 'string', 'x-mcp-header': 'A' } } }] }],
    ['in $defs', { $defs: { a: { type: 'string', 'x-mcp-header': 'A' } } }],
    ['at the root', { type: 'string', 'x-mcp-header': 'A' }],
    [
      'repeated in another case',
      {
        properties: {
          a: { type: 'string', 'x-mcp-header': 'A' },
          b: { type: 'string', 'x-mcp-header': 'a' },
        },
      },
    ],
  ])('an annotation that is %s makes the tool unusable', (_, inputSchema) => {
    expect(readParamHeaders(inputSchema).ok).toBe(false)
  })

  test('a property called x-mcp-header is no annotation', () => {
    expect(readParamHeaders({ properties: { 'x-mcp-header': { type: 'string' } } })).toEqual({
      ok: true,
      headers: [],
    })
  })

  test('headers are compared with the arguments, whole numbers by value', () => {
    const read = readParamHeaders(schema)
    if (!read.ok) throw new Error(read.reason)
    const args = { region: 'eu', deep: { count: 42 } }
    const check = (headers: Record<string, string>) =>
      checkParamHeaders(read.headers, args, headers)
    expect(check({ 'mcp-param-region': 'eu', 'mcp-param-count': '42.0' })).toBeUndefined()
    expect(check({ 'mcp-param-region': 'eu' })).toBe('header Mcp-Param-Count is missing')
    expect(check({ 'mcp-param-region': 'us', 'mcp-param-count': '42' })).toBe(
      'header Mcp-Param-Region does not match the body',
    )
    expect(
      check({ 'mcp-param-region': 'eu', 'mcp-param-count': '42', 'mcp-param-flag': 'true' }),
    ).toBe('header Mcp-Param-Flag has no counterpart in the arguments')
  })

  test.each(['42', '42.0', '4.2e1', '420E-1', ' 42\t'])('%j is 42', (count) => {
    expect(checkCount(42, count)).toBeUndefined()
  })

  // What another reader of the header takes for another number, or for none, is refused.
  test.each([
    [42, '0x2a'],
    [42, '0b101010'],
    [42, '+42'],
    [42, '042'],
    [42, '42.'],
    [42, '42.0000000000000000001'],
    [42, encodeHeaderValue(' 42 ')],
    [42, encodeHeaderValue('42\n')],
    [0, ''],
    [0, encodeHeaderValue(' ')],
    [0, '1e-400'],
    [2 ** 53 - 1, '9007199254740991.1'],
  ])('%d is not what %j says', (count, header) => {
    expect(checkCount(count, header)).toMatch(/does not match the body/u)
  })

  function checkCount(count: number, header: string): string | undefined {
    const annotation = { header: 'Mcp-Param-Count', path: ['count'], type: 'integer' } as const
    return checkParamHeaders([annotation], { count }, { 'mcp-param-count': header })
  }
})

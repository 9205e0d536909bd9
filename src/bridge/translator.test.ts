import { expect, test } from 'vitest'
import type { NewCall } from '../core/words/call.ts'
import type { Route } from '../core/words/route.ts'
import { jsonTextOf, nativeOf } from './native-text.ts'
import { translator } from './translator.ts'

const route = (protocol: 'mcp' | 'a2a'): Route => ({
  exposed: protocol === 'a2a' ? 'delegate_research' : 'docs_search',
  peer: 'p',
  protocol,
  kind: protocol === 'a2a' ? 'agent' : 'tool',
  capability: 'c',
  endpoint: 'e',
  fingerprint: 'f',
  hints: {},
  trusted: true,
})

const call = (protocol: 'mcp' | 'a2a', args: unknown): NewCall => ({
  route: route(protocol),
  principal: { id: 'local', groups: [], via: 'local' },
  operation: protocol === 'a2a' ? 'delegate' : 'call',
  native: nativeOf(protocol === 'a2a' ? 'mcp' : 'a2a', '', {}),
  arguments: jsonTextOf(args),
  door: 'test',
  deadlineAt: 0,
  trace: {},
})

test('a delegation tool call becomes a Message with text, data and context, and no messageId of its own', () => {
  const native = translator.request(
    call('a2a', { message: 'compare', data: { a: 1 }, contextId: 'X1' }),
  ).value
  expect(native.value()).toEqual({
    role: 'ROLE_USER',
    parts: [{ text: 'compare' }, { data: { a: 1 }, mediaType: 'application/json' }],
    contextId: 'X1',
  })
})

test('arguments that are no delegation are refused with the accepted form', () => {
  expect(() => translator.request(call('a2a', { text: 'x' }))).toThrow(/message: string/)
})

test('a skill call keeps the bytes of its arguments, integers beyond 2^53 included', () => {
  const bytes = new TextEncoder().encode('{ "id": 9007199254740993 }')
  const skill = {
    ...call('mcp', {}),
    arguments: { bytes, value: () => JSON.parse(new TextDecoder().decode(bytes)) as unknown },
  }
  expect(new TextDecoder().decode(translator.request(skill).value.bytes)).toBe(
    '{"name":"docs_search","arguments":{ "id": 9007199254740993 }}',
  )
})

test('a direct Message becomes a completed result; text, raw, url and data each have a place', () => {
  const native = nativeOf('a2a', '1.0', {
    messageId: 'm',
    role: 'ROLE_AGENT',
    metadata: {},
    parts: [
      { text: 'hi' },
      { raw: 'aGk=', filename: 'a.bin', mediaType: 'x/y' },
      { url: 'https://a.example/f' },
      { data: null },
    ],
  })
  const { value, dropped } = translator.outcome(
    { state: 'answered', native, text: 'hi', contextId: 'X1' },
    'mcp',
  )
  expect(dropped).toEqual(['metadata'])
  expect(value).toMatchObject({ state: 'answered', text: 'hi', contextId: 'X1' })
  expect(value.state === 'answered' && value.native.value()).toEqual({
    content: [
      { type: 'text', text: 'hi' },
      {
        type: 'resource',
        resource: { uri: 'comity://parts/a.bin', blob: 'aGk=', mimeType: 'x/y' },
      },
      { type: 'resource_link', uri: 'https://a.example/f', name: 'part-2' },
      { type: 'text', text: 'null' },
    ],
    structuredContent: { state: 'answered', contextId: 'X1', data: [null] },
  })
})

test('a tool result becomes one artifact with at least one part; what has no place is named', () => {
  const result = nativeOf('mcp', '2026-07-28', {
    content: [
      { type: 'text', text: 'a', annotations: {} },
      { type: 'odd' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    ],
    structuredContent: { n: 1 },
    isError: true,
  })
  const { value, dropped } = translator.outcome(
    { state: 'completed', native: result, toolError: true },
    'a2a',
  )
  expect(dropped).toEqual(['content/0/annotations', 'content/1 (type odd)'])
  expect(value).toMatchObject({
    state: 'completed',
    toolError: true,
    artifacts: [
      {
        artifactId: 'result',
        last: true,
        parts: [
          { kind: 'text', text: 'a', mediaType: 'text/plain' },
          { kind: 'raw', bytes: Buffer.from('hi'), mediaType: 'image/png' },
          { kind: 'data', json: '{"n":1}', mediaType: 'application/json' },
        ],
      },
    ],
  })
  const empty = translator.outcome(
    { state: 'completed', native: nativeOf('mcp', '', {}), toolError: false },
    'a2a',
  ).value
  expect(empty).toMatchObject({ artifacts: [{ parts: [{ kind: 'text', text: '' }] }] })
})

test('numbers of a structured result keep their digits on the way to an artifact', () => {
  const bytes = new TextEncoder().encode(
    '{"content":[],"structuredContent":{"id":9007199254740993,"rate":1.10}}',
  )
  const result = {
    protocol: 'mcp',
    revision: '',
    bytes,
    value: () => JSON.parse(new TextDecoder().decode(bytes)) as unknown,
  } as const
  const { value } = translator.outcome(
    { state: 'completed', native: result, toolError: false },
    'a2a',
  )
  expect(value).toMatchObject({
    artifacts: [{ parts: [{ kind: 'data', json: '{"id":9007199254740993,"rate":1.10}' }] }],
  })
})

test('the same protocol on both sides is left alone', () => {
  const native = nativeOf('mcp', '', { content: [] })
  const outcome = { state: 'completed', native, toolError: false } as const
  expect(translator.outcome(outcome, 'mcp')).toEqual({ value: outcome, dropped: [] })
})

test('the digits of a delegation’s data reach the agent as they were written', () => {
  const bytes = new TextEncoder().encode('{"message":"pay","data":{"account":9007199254740993}}')
  const exact = {
    ...call('a2a', {}),
    arguments: { bytes, value: () => JSON.parse(new TextDecoder().decode(bytes)) as unknown },
  }
  expect(new TextDecoder().decode(translator.request(exact).value.bytes)).toContain(
    '"account":9007199254740993',
  )
})

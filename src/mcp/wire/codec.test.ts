import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { objectText } from '../../../test/json/arbitrary-json.ts'
import { hopMeta, hopParams, readResultHead, setResultMeta, toLegacyResult } from './codec.ts'
import type { Hop } from './codec.ts'
import { encodeJson, scanObject, setMembers, textOf } from './spans.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : new TextDecoder().decode(bytes)
const modern: Hop = {
  era: 'modern',
  protocolVersion: '2026-07-28',
  clientCapabilities: encodeJson({ elicitation: {} }),
  clientInfo: encodeJson({ name: 'comity', version: '1' }),
  progressToken: 5,
}

describe('request metadata', () => {
  test('the triple and the token are ours, unknown keys and their lexemes stay', () => {
    const came = bytesOf(
      '{"io.modelcontextprotocol/clientInfo":{"name":"host"}, "com.example/n" : 9007199254740993,"progressToken":"theirs"}',
    )
    expect(decode(hopMeta(came, modern))).toBe(
      '{"io.modelcontextprotocol/clientInfo":{"name":"comity","version":"1"}, "com.example/n" : 9007199254740993,' +
        '"progressToken":5,"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
        '"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}',
    )
  })

  test("a caller's progress token never reaches a hop that has none", () => {
    expect(
      decode(hopMeta(bytesOf('{"progressToken":1,"traceparent":"00-x"}'), { era: 'legacy' })),
    ).toBe('{"traceparent":"00-x"}')
  })

  test('a legacy hop gets no modern keys, and no _meta at all when nothing is left', () => {
    expect(hopMeta(hopMeta(undefined, modern), { era: 'legacy' })).toBeUndefined()
    expect(
      decode(hopParams(bytesOf('{"_meta":{"progressToken":1},"name":"a"}'), { era: 'legacy' })),
    ).toBe('{"name":"a"}')
    expect(decode(hopParams(undefined, { era: 'legacy', progressToken: 'p' }))).toBe(
      '{"_meta":{"progressToken":"p"}}',
    )
  })

  test('members other than those named keep their bytes', () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const all = bytesOf(text)
        const from = setMembers(all, undefined, { _meta: undefined })
        const rest = (bytes: Uint8Array) =>
          scanObject(bytes)
            .filter(({ key }) => key !== '_meta' && key !== 'name')
            .map(({ keySpan, value }) => textOf(bytes, keySpan) + textOf(bytes, value))
        expect(rest(hopParams(from, modern, { name: bytesOf('"raw"') }))).toEqual(rest(from))
      }),
    )
  })
})

describe('results', () => {
  test.each([
    ['{}', 'complete', true, false],
    ['{"resultType":"input_required"}', 'input_required', true, false],
    ['{"resultType":7}', 'complete', false, false],
    ['{"content":[{"isError":true,"resultType":"task"}],"isError":false}', 'complete', true, false],
    ['{"isError" : true}', 'complete', true, true],
    ['{"isError":"true"}', 'complete', true, false],
  ])('%s', (text, resultType, sound, isError) => {
    expect(readResultHead(bytesOf(text))).toMatchObject({ resultType, sound, isError })
  })

  test('a modern result becomes legacy without its modern fields, the rest untouched', () => {
    const result = bytesOf(
      '{"resultType":"complete","content":[ ],"ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{},"a":1},"x":null}',
    )
    expect(decode(toLegacyResult(result))).toBe('{"content":[ ],"_meta":{"a":1},"x":null}')
    expect(decode(toLegacyResult(bytesOf('{"_meta":"odd","y":1}')))).toBe('{"_meta":"odd","y":1}')
  })

  test('keys of our own go into _meta beside those that are there', () => {
    expect(
      decode(
        setResultMeta(bytesOf('{"_meta":{"a":1}}'), {
          'comity/outcome': encodeJson({ state: 'unknown' }),
        }),
      ),
    ).toBe('{"_meta":{"a":1,"comity/outcome":{"state":"unknown"}}}')
  })
})

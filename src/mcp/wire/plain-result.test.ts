import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { objectText } from '../../../test/json/arbitrary-json.ts'
import { readResultHead } from './codec.ts'
import { parseMessage } from './json-rpc.ts'
import { readPlainResult } from './plain-result.ts'
import { sliceOf, textOf } from './spans.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('a plain result', () => {
  test.each([
    ['{"jsonrpc":"2.0","id":7,"result":{}}', false],
    ['{"result":{"content":[ ],"isError" : true},"jsonrpc":"2.0","id":7}', true],
    [
      ' {"id":7,"jsonrpc":"2.0","x":[1],"result":{"isError":false,"resultType":"complete"}}\n',
      false,
    ],
    ['{"jsonrpc":"2.0","id":7,"result":{"isError":"true"}}', false],
    ['{"jsonrpc":"2.0","id":7,"result":{"a":{"isError":true,"isError":1}}}', false],
  ])('%s', (text, isError) => {
    expect(readPlainResult(bytesOf(text), 7)?.isError).toBe(isError)
  })
})

describe('left to others', () => {
  test.each([
    '',
    'not json',
    '[]',
    '[{"jsonrpc":"2.0","id":7,"result":{}}]',
    '{"jsonrpc":"2.0","id":7,"result":{}} x',
    '{"jsonrpc":"2.0","id":8,"result":{}}',
    '{"jsonrpc":"2.0","id":"7","result":{}}',
    '{"jsonrpc":"2.0","id":7.0,"result":{}}',
    '{"jsonrpc":"2.0","id":07,"result":{}}',
    '{"jsonrpc":"1.0","id":7,"result":{}}',
    '{"id":7,"result":{}}',
    '{"jsonrpc":"2.0","result":{}}',
    '{"jsonrpc":"2.0","id":7,"result":[]}',
    '{"jsonrpc":"2.0","id":7,"id":7,"result":{}}',
    '{"jsonrpc":"2.0","id":7,"result":{},"result":{}}',
    '{"jsonrpc":"2.0","id":7,"result":{},"error":null}',
    '{"jsonrpc":"2.0","id":7,"result":{},"method":"x"}',
    '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}',
    '{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required"}}',
    '{"jsonrpc":"2.0","id":7,"result":{"resultType":7}}',
    '{"jsonrpc":"2.0","id":7,"result":{"a":"\u0001"}}',
    `{"jsonrpc":"2.0","id":7,"result":${'{"a":'.repeat(600)}1${'}'.repeat(601)}`,
    '\ufeff{"jsonrpc":"2.0","id":7,"result":{}}',
  ])('%s', (text) => {
    expect(readPlainResult(bytesOf(text), 7)).toBeUndefined()
  })
})

test('whatever is read says the same as the full reading', () => {
  fc.assert(
    fc.property(objectText, (text) => {
      const bytes = bytesOf(`{"jsonrpc":"2.0","id":7,"result":${text}}`)
      const plain = readPlainResult(bytes, 7)
      const full = parseMessage(bytes)
      if (plain === undefined || full.kind !== 'result') return
      const { isError, sound, resultType } = readResultHead(sliceOf(full.bytes, full.result.value))
      expect({ isError, sound, resultType }).toEqual({
        isError: plain.isError,
        sound: true,
        resultType: 'complete',
      })
      expect(textOf(bytes, plain.result.value)).toBe(textOf(bytes, full.result.value))
      expect([plain.id, plain.members]).toEqual([full.id, full.members])
    }),
  )
})

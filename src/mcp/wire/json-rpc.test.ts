import { describe, expect, test } from 'vitest'
import {
  createId,
  encodeError,
  encodeNotification,
  encodeRequest,
  encodeResult,
  idKey,
  parseMessage,
} from './json-rpc.ts'
import { textOf } from './spans.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const read = (text: string) => parseMessage(bytesOf(text))

describe('requests and notifications', () => {
  test('a request tells id, method and the span of its params', () => {
    const message = read(
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params": {"a":1} ,"x":true}',
    )
    if (message.kind !== 'request') throw new Error(message.kind)
    expect(message.id).toEqual({ type: 'integer', value: '7', json: '7' })
    expect(message.method).toBe('tools/call')
    expect(textOf(message.bytes, message.params!)).toBe('{"a":1}')
  })

  test('a message without id is a notification', () => {
    expect(read('{"jsonrpc":"2.0","method":"x"}').kind).toBe('notification')
  })

  test.each([
    ['0', 'i:0'],
    ['"0"', 's:0'],
    ['""', 's:'],
    ['"ж-7"', 's:ж-7'],
    ['"\\u0436-7"', 's:ж-7'],
    ['-3', 'i:-3'],
    ['1.0', 'i:1'],
    ['123456789012345678901234567890', 'i:123456789012345678901234567890'],
  ])('C31: id %s is kept in value, type and lexeme', (json, key) => {
    const message = read(`{"jsonrpc":"2.0","id":${json},"method":"tools/list"}`)
    if (message.kind !== 'request') throw new Error(message.kind)
    expect([idKey(message.id), message.id.json]).toEqual([key, json])
    expect(decode(encodeResult(message.id, bytesOf('{}')))).toBe(
      `{"jsonrpc":"2.0","id":${json},"result":{}}`,
    )
  })

  test.each(['null', '1.5', 'true', '[1]', '{}', '1e400', `"${'x'.repeat(5000)}"`])(
    'C31: id %.20s is refused as an invalid request, never run as a notification',
    (json) => {
      const message = read(`{"jsonrpc":"2.0","id":${json},"method":"tools/list"}`)
      expect(message).toMatchObject({
        kind: 'fault',
        code: -32600,
        message: 'id must be a string or a whole number',
      })
    },
  )
})

describe('answers', () => {
  test('a result may be any value and tells its span', () => {
    const message = read('{"result":[1],"id":"a","jsonrpc":"2.0"}')
    expect(message).toMatchObject({ kind: 'result', id: { value: 'a' }, result: { type: 'array' } })
  })

  test('an error tells code, message and the span of data; its id may be missing or null', () => {
    const message = read(
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no","data":[1]}}',
    )
    if (message.kind !== 'error') throw new Error(message.kind)
    expect([
      message.id,
      message.code,
      message.message,
      textOf(message.bytes, message.data!),
    ]).toEqual([undefined, -32000, 'no', '[1]'])
    expect(read('{"jsonrpc":"2.0","error":{"code":1}}').kind).toBe('error')
  })

  test('a null error beside a result does not hide the result', () => {
    expect(read('{"jsonrpc":"2.0","id":1,"result":{},"error":null}').kind).toBe('result')
  })
})

describe('what is no message', () => {
  test.each([
    [
      '[{"jsonrpc":"2.0","id":1,"method":"a"}]',
      -32600,
      'batches are not supported: send one message at a time',
    ],
    ['[]', -32600, 'batches are not supported: send one message at a time'],
    ['[1', -32700, 'not JSON: expected a JSON object (byte 0)'],
    ['123', -32600, 'expected one JSON object, got number'],
    ['"text"', -32600, 'expected one JSON object, got string'],
    ['{"level":30,"msg":"ready"}', -32600, 'expected "jsonrpc":"2.0"'],
    ['{"jsonrpc":"1.0","method":"a"}', -32600, 'expected "jsonrpc":"2.0"'],
    ['{"jsonrpc":"2.0","id":1}', -32600, 'expected exactly one of method, result and error'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"a","result":1}',
      -32600,
      'expected exactly one of method, result and error',
    ],
    ['{"jsonrpc":"2.0","method":"a","params":[1]}', -32600, 'params must be an object'],
    ['{"jsonrpc":"2.0","method":5}', -32600, 'method must be a string'],
    ['{"jsonrpc":"2.0","result":{}}', -32600, 'a result must carry the id of its request'],
    ['{"jsonrpc":"2.0","id":1,"error":"no"}', -32600, 'error must be an object'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1.5}}', -32600, 'error.code must be a whole number'],
    [
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2}}',
      -32600,
      'the member code is repeated in the error',
    ],
    ['nope', -32700, 'not JSON: expected a JSON object (byte 0)'],
    ['', -32700, 'not JSON: expected a value, got the end (byte 0)'],
  ])('%s', (text, code, message) => {
    expect(read(text)).toMatchObject({ kind: 'fault', code, message })
  })

  test('the id is told whenever it can be read, for the error answer', () => {
    expect(read('{"jsonrpc":"2.0","id":9,"method":"a","method":"b"}')).toMatchObject({
      kind: 'fault',
      claimed: true,
      id: { value: '9' },
      message: 'the member method is repeated in the message',
    })
    const twice = read('{"jsonrpc":"2.0","id":9,"id":8,"method":"a"}')
    expect(twice).toMatchObject({
      kind: 'fault',
      message: 'the member id is repeated in the message',
    })
    expect(twice).not.toHaveProperty('id')
  })

  test('depth has a limit', () => {
    const deep = `{"jsonrpc":"2.0","method":"a","params":{"a":${'['.repeat(600)}`
    expect(parseMessage(bytesOf(deep))).toMatchObject({
      code: -32700,
      cause: { code: 'too_deep' },
    })
  })
})

test('messages are written around raw bytes', () => {
  const raw = bytesOf('{ "n": 9007199254740993 }')
  expect([
    decode(encodeRequest(createId(3), 'a"b', raw)),
    decode(encodeRequest(createId('x'), 'ping')),
    decode(encodeNotification('n', raw)),
    decode(encodeResult(createId(3), raw)),
    decode(encodeError(createId(3), { code: -32602, message: 'no', data: raw })),
    decode(encodeError(undefined, { code: -32700, message: 'no' })),
  ]).toEqual([
    '{"jsonrpc":"2.0","id":3,"method":"a\\"b","params":{ "n": 9007199254740993 }}',
    '{"jsonrpc":"2.0","id":"x","method":"ping"}',
    '{"jsonrpc":"2.0","method":"n","params":{ "n": 9007199254740993 }}',
    '{"jsonrpc":"2.0","id":3,"result":{ "n": 9007199254740993 }}',
    '{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no","data":{ "n": 9007199254740993 }}}',
    '{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}',
  ])
})

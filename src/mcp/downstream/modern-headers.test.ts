/** Headers of modern requests at the door: those that mirror arguments, and those that mean nothing in this era. */
import { afterEach, describe, expect, test } from 'vitest'
import { encodeHeaderValue } from '../wire/headers.ts'
import { createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { dig, MODERN_HEADERS, modernMeta, openTestDoor, postModern } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const REGION: Scripted = {
  kind: 'tool',
  exposed: 'region',
  definition: {
    inputSchema: {
      type: 'object',
      properties: {
        zone: { type: 'string', 'x-mcp-header': 'Zone' },
        at: {
          type: 'object',
          properties: {
            floor: { type: 'integer', 'x-mcp-header': 'Floor' },
            lit: { type: 'boolean', 'x-mcp-header': 'Lit' },
          },
        },
      },
    },
  },
}

async function open() {
  const house = createScriptedHouse([REGION])
  const server = await openTestDoor(house)
  closers.push(server.close)
  return { house, ...server }
}

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('arguments that a header mirrors', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ['not plain text, encoded', '{"zone":"größe"}', { 'mcp-param-zone': base64('größe') }, 200],
    ['plain text, encoded all the same', '{"zone":"eu"}', { 'mcp-param-zone': base64('eu') }, 200],
    [
      'what looks like an encoding',
      '{"zone":"=?base64?eA==?="}',
      { 'mcp-param-zone': encodeHeaderValue('=?base64?eA==?=') },
      200,
    ],
    [
      'what looks like an encoding, bare',
      '{"zone":"=?base64?eA==?="}',
      { 'mcp-param-zone': '=?base64?eA==?=' },
      400,
    ],
    ['base64 that is none', '{"zone":"eu"}', { 'mcp-param-zone': '=?base64?!!?=' }, 400],
    ['base64 of no UTF-8', '{"zone":"eu"}', { 'mcp-param-zone': '=?base64?/w==?=' }, 400],
    ['white space around it', '{"zone":"eu"}', { 'mcp-param-zone': '  eu \t' }, 200],
    ['another case', '{"zone":"eu"}', { 'mcp-param-zone': 'EU' }, 400],
    ['null, without a header', '{"zone":null}', {}, 200],
    [
      'a whole number in another spelling',
      '{"at":{"floor":42.0}}',
      { 'mcp-param-floor': '42' },
      200,
    ],
    ['another number', '{"at":{"floor":42}}', { 'mcp-param-floor': '43' }, 400],
    ['a truth value', '{"at":{"lit":true}}', { 'mcp-param-lit': 'true' }, 200],
    ['a truth value in another case', '{"at":{"lit":true}}', { 'mcp-param-lit': 'True' }, 400],
  ])('%s: %s', async (_name, args, headers, status) => {
    const { url, house } = await open()
    const params = `{"name":"region","arguments":${args},"_meta":${JSON.stringify(modernMeta())}}`
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...MODERN_HEADERS, 'mcp-method': 'tools/call', 'mcp-name': 'region', ...headers },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    })
    const body: unknown = await response.json()
    expect([response.status, dig(body, 'error', 'code')]).toEqual([
      status,
      status === 400 ? -32020 : undefined,
    ])
    expect(house.calls).toHaveLength(status === 200 ? 1 : 0)
  })
})

test('a session id and a last event id mean nothing here, and no session is made', async () => {
  const { url } = await open()
  const answer = await postModern(
    url,
    'tools/list',
    {},
    {
      headers: { 'mcp-session-id': 'of-nobody', 'last-event-id': '7' },
    },
  )
  expect(answer.status).toBe(200)
  expect(answer.headers.get('mcp-session-id')).toBeNull()
  expect(answer.text).not.toContain('id: ')
})

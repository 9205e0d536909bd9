/** Relay without loss: what a peer or a caller wrote arrives byte for byte but for what a hop must change. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NewCall } from '../../core/words/call.ts'
import { completed, createScriptedHouse } from './testing/scripted-house.ts'
import type { HttpServer } from './testing/serve-http.ts'
import { initialize, MODERN_HEADERS, modernMeta, openTestDoor } from './testing/test-door.ts'

let server: HttpServer
let legacyHeaders: Record<string, string>
/** What the peer answers next, exactly. */
let answers = '{}'
let revision = '2025-11-25'
const calls: NewCall[] = []

beforeAll(async () => {
  const house = createScriptedHouse([
    {
      kind: 'tool',
      exposed: 'any',
      run: (call) => {
        calls.push(call)
        return completed(answers, revision)
      },
    },
  ])
  server = await openTestDoor(house)
  const { session, headers } = await initialize(server.url)
  legacyHeaders = { ...headers, 'mcp-session-id': session }
})
afterAll(() => server.close())

/** JSON as text: lexemes that a parser would not give back, white space, escapes, odd keys. */
const lexeme = fc.oneof(
  fc.constantFrom('9007199254740993', '-0', '1.0', '1E5', '0.10', '123456789012345678901234567890'),
  fc.integer().map(String),
  fc.constantFrom('"\\u0041"', '"\\/"', '"é"', '"😀"', '""', 'null', 'true'),
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => JSON.stringify(text)),
)
const gap = fc.constantFrom('', ' ', '\t', '\n  ')
const key = fc.constantFrom('b', 'a', '__proto__', '10', '9', 'é', 'x y', 'constructor', 'note')

function jsonText(depth: number): fc.Arbitrary<string> {
  if (depth === 0) return lexeme
  const inner = jsonText(depth - 1)
  return fc.oneof(
    lexeme,
    fc
      .tuple(fc.array(inner, { maxLength: 3 }), gap)
      .map(([items, space]) => `[${space}${items.join(`,${space}`)}]`),
    objectText(inner),
  )
}

function objectText(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.uniqueArray(key, { maxLength: 4 }),
      fc.array(value, { minLength: 4, maxLength: 4 }),
      gap,
    )
    .map(([keys, values, space]) => {
      const members = keys.map(
        (one, index) => `${JSON.stringify(one)}${space}:${space}${values[index] ?? ''}`,
      )
      return `{${space}${members.join(`${space},`)}${space}}`
    })
}

const json = jsonText(2)

async function call(args: string, legacy: boolean): Promise<string> {
  const meta = legacy ? '{}' : JSON.stringify(modernMeta())
  const response = await fetch(server.url, {
    method: 'POST',
    headers: legacy
      ? legacyHeaders
      : { ...MODERN_HEADERS, 'mcp-method': 'tools/call', 'mcp-name': 'any' },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any","arguments":${args},"_meta":${meta}}}`,
  })
  return response.text()
}

const PRELUDE = '{"jsonrpc":"2.0","id":1,"result":'

describe('a result', () => {
  test('of a legacy peer reaches a modern caller with members added at its end and nothing else changed', async () => {
    revision = '2025-11-25'
    await fc.assert(
      fc.asyncProperty(json, json, gap, async (content, unknown, space) => {
        const body = `"content":${space}[${space}],"structuredContent":${content},"zUnknown":${space}${unknown}`
        answers = `{${space}${body}${space}}`
        const meta =
          '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test-door","version":"1.0.0"}}'
        const added = `,"resultType":"complete",${meta}`

        expect(await call('{}', false)).toBe(`${PRELUDE}{${space}${body}${added}${space}}}`)
      }),
      { numRuns: 100 },
    )
  })

  test('of a modern peer keeps its own members, _meta keys and their order; only serverInfo is ours', async () => {
    revision = '2026-07-28'
    await fc.assert(
      fc.asyncProperty(json, json, async (content, note) => {
        const result = (server: string) =>
          `{"resultType": "complete","_meta":{"own/key": ${note},"io.modelcontextprotocol/serverInfo":${server},"z":${note}},"content":[],"more":${content}}`
        answers = result('{"name":"peer","version":"9"}')

        expect(await call('{}', false)).toBe(
          `${PRELUDE}${result('{"name":"test-door","version":"1.0.0"}')}}`,
        )
      }),
      { numRuns: 100 },
    )
  })

  test('of a modern peer reaches a legacy caller without the fields that only modern hops have', async () => {
    revision = '2026-07-28'
    await fc.assert(
      fc.asyncProperty(json, json, async (content, note) => {
        answers = `{"resultType":"complete","content":[],"more":${content},"_meta":{"io.modelcontextprotocol/serverInfo":{},"own/key": ${note}}}`

        expect(await call('{}', true)).toBe(
          `${PRELUDE}{"content":[],"more":${content},"_meta":{"own/key": ${note}}}}`,
        )
      }),
      { numRuns: 100 },
    )
  })

  test('of a legacy peer reaches a legacy caller untouched', async () => {
    revision = '2025-11-25'
    await fc.assert(
      fc.asyncProperty(json, async (content) => {
        answers = `{ "content":[], "resultType": ${content}, "ttlMs":${content}}`

        expect(await call('{}', true)).toBe(`${PRELUDE}${answers}}`)
      }),
      { numRuns: 50 },
    )
  })
})

test('structured content that is no object is kept one level down for legacy callers', async () => {
  revision = '2026-07-28'
  answers = '{"content":[],"structuredContent":[9007199254740993]}'

  expect(await call('{}', true)).toBe(
    `${PRELUDE}{"content":[],"structuredContent":{"value":[9007199254740993]}}}`,
  )
})

test.each([false, true])(
  'arguments reach dispatch as the bytes that were sent (legacy: %s)',
  async (legacy) => {
    revision = '2025-11-25'
    answers = '{"content":[]}'
    await fc.assert(
      fc.asyncProperty(objectText(json), async (args) => {
        await call(args, legacy)
        const decoder = new TextDecoder()

        expect(decoder.decode(calls.at(-1)?.arguments.bytes)).toBe(args)
        expect(decoder.decode(calls.at(-1)?.native.bytes)).toContain(`"arguments":${args},"_meta"`)
      }),
      { numRuns: 100 },
    )
  },
)

/** What a modern answer carries beside the peer's result, whatever that result says itself and however large it is. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { completed, createScriptedHouse } from './testing/scripted-house.ts'
import type { HttpServer } from './testing/serve-http.ts'
import { eventsOf, MODERN_HEADERS, modernMeta, openTestDoor } from './testing/test-door.ts'

let server: HttpServer
let answers = '{}'
/** The answer comes behind the beginning of its stream: once this is resolved. */
let begun: PromiseWithResolvers<void> | undefined

beforeAll(async () => {
  const run = async (): Promise<ReturnType<typeof completed>> => {
    await begun?.promise
    return completed(answers, '2026-07-28')
  }
  const house = createScriptedHouse([{ kind: 'tool', exposed: 'any', run }])
  server = await openTestDoor(house, { limits: { streamAfterMs: 20 } })
})
afterAll(() => server.close())

async function answerTo(id: string): Promise<string> {
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { ...MODERN_HEADERS, 'mcp-method': 'tools/call', 'mcp-name': 'any' },
    body: `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"any","_meta":${JSON.stringify(modernMeta())}}}`,
  })
  begun?.resolve()
  const text = await response.text()
  return text.startsWith('{') ? text : (eventsOf(text).at(-1) ?? '')
}

const OURS = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test-door","version":"1.0.0"}}'
const LONG = 'é x'.repeat(30_000)

describe.each([false, true])('on a stream: %s', (late) => {
  test.each([
    // Behind all that the peer says, byte for byte.
    ['{"content":[]}', `{"content":[],"resultType":"complete",${OURS}}`],
    [`{"content":["${LONG}"]}`, `{"content":["${LONG}"],"resultType":"complete",${OURS}}`],
    ['{"resultType":"complete","a":1.0}', `{"resultType":"complete","a":1.0,${OURS}}`],
    ['{"a":1 ,"b": 2}', `{"a":1 ,"b": 2,"resultType":"complete",${OURS}}`],
    ['{}', `{"resultType":"complete",${OURS}}`],
    // In its place.
    ['{"a":1 }', `{"a":1,"resultType":"complete",${OURS} }`],
    [`{"_meta":{},"a":"${LONG}"}`, `{${OURS},"a":"${LONG}","resultType":"complete"}`],
  ])('%.40s', async (result, expected) => {
    answers = result
    for (const id of ['1', '"a"', '"ü"', String.raw`"\u0000\""`]) {
      begun = late ? Promise.withResolvers() : undefined
      expect(await answerTo(id)).toBe(`{"jsonrpc":"2.0","id":${id},"result":${expected}}`)
    }
  })
})

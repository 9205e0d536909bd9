/** Definitions whose keys are written with escapes: they mean what they would mean without. */
import { expect, test } from 'vitest'
import { jsonText } from '../wire/native.ts'
import { createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { openSession } from './testing/session-caller.ts'
import { dig, openTestDoor, postModern } from './testing/test-door.ts'

const TOOL: Scripted = { kind: 'tool', exposed: 'odd' }

async function openWith(definition: string) {
  const house = createScriptedHouse([TOOL], {
    list: async (kind) => ({
      items:
        kind === 'tool' ? [{ exposed: 'odd', definition: jsonText(Buffer.from(definition)) }] : [],
      missing: [],
      ttlMs: 0,
      allFailed: false,
    }),
  })
  return { house, ...(await openTestDoor(house)) }
}

test('an output schema that session callers reject is left out of their list', async () => {
  const odd = '{"name":"odd","inputSchema":{"type":"object"},"output\\u0053chema":{"type":"array"}}'
  const server = await openWith(odd)
  try {
    const caller = await openSession(server.url)
    const { body } = await caller.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    expect(dig(body, 'result')).toEqual({
      tools: [{ name: 'odd', inputSchema: { type: 'object' } }],
    })
  } finally {
    await server.close()
  }
})

test('an argument that a header mirrors is held against it', async () => {
  const zone = '"zone":{"type":"string","x-mcp\\u002dheader":"Zone"}'
  const server = await openWith(
    `{"name":"odd","inputSchema":{"type":"object","properties":{${zone}}}}`,
  )
  try {
    const call = { name: 'odd', arguments: { zone: 'eu' } }
    const { status } = await postModern(server.url, 'tools/call', call, {
      headers: { 'mcp-param-zone': 'us' },
    })
    expect([status, server.house.calls.length]).toEqual([400, 0])
  } finally {
    await server.close()
  }
})

import { expect, test } from 'vitest'
import type { Outcome } from '../../core/words/outcome.ts'
import type { Route } from '../../core/words/route.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { createResultCheck } from './result-check.ts'

const ROUTE: Route = {
  exposed: 'calc_sum',
  peer: 'calc',
  protocol: 'mcp',
  kind: 'tool',
  capability: 'sum',
  endpoint: 'e',
  fingerprint: 'f',
  hints: {},
  trusted: true,
}

function outcomeOf(result: { readonly isError?: boolean }): Outcome {
  const native = { protocol: 'mcp', revision: '2026-07-28', ...jsonTextOf(result) } as const
  return { state: 'completed', toolError: result.isError === true, native }
}

test('C45: a tool’s own error stays its own; a success that breaks its schema is reported with the path, its text kept', async () => {
  const { default: given } = await import(
    '../../../test/cases/C45-results-iserror-with-outputschema.json',
    { with: { type: 'json' } }
  )
  const check = createResultCheck(() => jsonTextOf(given.given.tool))
  const outcomes = given.given.replies.map((reply) => outcomeOf(reply))
  const told = outcomes.map((outcome) => check(ROUTE, outcome))
  expect([told[0], told[1], told[4]]).toEqual([outcomes[0], outcomes[1], outcomes[4]])
  const broken = {
    state: 'failed',
    ran: 'yes',
    code: 'protocol_violation',
  }
  expect(told[2]).toMatchObject({
    ...broken,
    detail: 'calc/sum ran, and its result breaks its own schema: it has no structuredContent',
  })
  expect(told[3]).toMatchObject({
    ...broken,
    detail: expect.stringMatching(/breaks its own schema: structuredContent\/total: .*number/u),
  })
  for (const at of [2, 3])
    expect(told[at]).toMatchObject({
      native: { bytes: (outcomes[at] as { native: { bytes: Uint8Array } }).native.bytes },
    })
})

test.each([
  ['no schema', {}],
  ['a schema that cannot be compiled', { outputSchema: { $ref: 'https://elsewhere.example/x' } }],
])('with %s a result passes as it came', (_name, definition) => {
  const check = createResultCheck(() => jsonTextOf({ name: 'sum', ...definition }))
  const outcome = outcomeOf({})
  expect(check(ROUTE, outcome)).toBe(outcome)
})

test('structured content that is no object is held against its schema too', () => {
  const check = createResultCheck(() => jsonTextOf({ outputSchema: { type: 'array' } }))
  const good = outcomeOf({ structuredContent: [] } as object)
  expect(check(ROUTE, good)).toBe(good)
  expect(check(ROUTE, outcomeOf({ structuredContent: null } as object)).state).toBe('failed')
})

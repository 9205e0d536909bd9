/** The pure parts of a comparison. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../core/words/outcome.ts'
import { encodeJson } from '../../mcp/wire/spans.ts'
import { mcpNative } from '../../mcp/wire/native.ts'
import { sameJson } from '../checks/same-json.ts'
import { digest } from '../compose/world.ts'
import { createCallerSplit } from './caller-split.ts'
import { compareAnswers, placesBetween } from './compare-answers.ts'
import { compareClaims } from './compare-claims.ts'
import { createFaultWindow } from './fault-window.ts'
import { medianOf } from './median.ts'

const completed = (result: object): Outcome => ({
  state: 'completed',
  toolError: false,
  native: mcpNative(encodeJson(result), '2026-07-28'),
})

const failed = (code: number): Outcome => ({
  state: 'failed',
  origin: 'peer',
  ran: 'no',
  code: 'peer_error',
  detail: 'no',
  native: mcpNative(encodeJson({ code, message: `words ${Math.random()}` }), '2026-07-28'),
})

describe('results', () => {
  test('what a revision adds is no difference', () => {
    const meta = { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } }
    const added = { resultType: 'complete', ttlMs: 5, cacheScope: 'public', _meta: meta }
    expect(compareAnswers(completed({ a: 1 }), completed({ ...added, a: 1 })).same).toBe(true)
    const own = { ...added, _meta: { ...meta, 'docs/version': 2 }, a: 1 }
    expect(compareAnswers(completed({ a: 1 }), completed(own)).places).toEqual(['/_meta'])
  })

  test('what differs on one revision alone is left out, and what lies beside it is not', () => {
    const compared = compareAnswers(
      completed({ at: 1, list: [{ id: 1, name: 'a' }] }),
      completed({ at: 3, list: [{ id: 3, name: 'b' }] }),
      completed({ at: 2, list: [{ id: 2, name: 'a' }] }),
    )
    expect(compared).toEqual({ same: false, places: ['/list/0/name'], unsteady: 2 })
  })

  test('errors are compared by their codes, renumbered ones too; never by their words', () => {
    expect(compareAnswers(failed(-32_002), failed(-32_602)).same).toBe(true)
    expect(compareAnswers(failed(-32_602), failed(-32_603)).same).toBe(false)
    expect(compareAnswers(failed(-32_602), completed({})).same).toBe(false)
  })

  test('places are empty exactly for equal JSON, and each is a place in one of the two', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(placesBetween(one, other).length === 0).toBe(sameJson(one, other))
        expect(placesBetween(one, structuredClone(one))).toEqual([])
      }),
    )
  })
})

test('claims: settings item by item; false says nothing; what moved with the revision is marked', () => {
  const differences = compareClaims(
    {
      tools: { listChanged: true },
      logging: {},
      tasks: { list: {} },
      prompts: { listChanged: false },
    },
    { tools: {}, logging: {}, prompts: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  )
  expect(differences).toEqual([
    { name: 'extensions.io.modelcontextprotocol/tasks', to: '{}', ofRevision: expect.any(String) },
    { name: 'tasks', from: 'declared', ofRevision: expect.any(String) },
    { name: 'tasks.list', from: '{}', ofRevision: expect.any(String) },
    { name: 'tools.listChanged', from: 'declared' },
  ])
})

test('the share of callers is what was asked for, within what chance allows', () => {
  const callers = Array.from({ length: 20_000 }, (_, index) => `caller ${index}`)
  for (const share of [0, 50, 500, 5_000, 10_000]) {
    const split = createCallerSplit('docs', share, (text) => digest.text(text))
    const chosen = callers.filter((one) => split.isChosen(one)).length / callers.length
    expect(Math.abs(chosen - share / 10_000)).toBeLessThan(0.012)
  }
})

test('faults that are spread thin never suspend; as many among the last do', () => {
  const window = createFaultWindow({ most: 3, of: 10 })
  for (let time = 0; time < 50; time += 1) {
    if (time % 5 === 0) window.fault('once')
    else window.sound()
  }
  expect([window.faults, window.suspended]).toEqual([10, undefined])
  window.fault('again')
  window.fault('the last')
  expect(window.suspended).toContain('the newest: the last')
  window.reset()
  expect(window.suspended).toBeUndefined()
})

test('the median is a value that was there', () => {
  expect([[], [3], [1, 9], [9, 1, 5]].map(medianOf)).toEqual([undefined, 3, 1, 5])
})

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ExportStates } from './export-state.ts'
import { createExportStates } from './export-state.ts'

const ALICE = { principal: 'alice', document: 'docs/a.md' }
const MINUTE = 60_000

function open(clock = { now: 0 }, key = randomBytes(32)): ExportStates {
  let count = 0
  return createExportStates({ key, now: () => clock.now, createNonce: () => String(count++) })
}

function issued(states: ExportStates, round = 1): string {
  return states.issue(ALICE, round) ?? expect.fail('no state was given')
}

test('a state comes back once, with its round, and not a second time', () => {
  const states = open()
  const state = issued(states, 2)
  expect(states.redeem(state, ALICE)).toEqual({ round: 2 })
  expect(states.redeem(state, ALICE)).toEqual({ refused: 'requestState: it was used already' })
})

test('a state is bound to the caller and the document, and trying it elsewhere does not use it up', () => {
  const states = open()
  const state = issued(states)
  for (const other of [{ principal: 'bob' }, { document: 'docs/b.md' }]) {
    expect(states.redeem(state, { ...ALICE, ...other })).toHaveProperty('refused')
  }
  expect(states.redeem(state, ALICE)).toEqual({ round: 1 })
})

test('a state that was changed, or sealed by another process, is refused', () => {
  const states = open()
  const state = issued(states)
  for (let at = 0; at < state.length; at += 7) {
    const other = state[at] === 'A' ? 'B' : 'A'
    const changed = state.slice(0, at) + other + state.slice(at + 1)
    expect(states.redeem(changed, ALICE)).toHaveProperty('refused')
  }
  expect(open().redeem(state, ALICE)).toHaveProperty('refused')
  expect(states.redeem('', ALICE)).toHaveProperty('refused')
})

test('a state is good for ten minutes, used ones are remembered as long', () => {
  const clock = { now: 0 }
  const states = open(clock)
  const early = issued(states)
  clock.now = 10 * MINUTE - 1
  const late = issued(states)
  expect(states.redeem(late, ALICE)).toEqual({ round: 1 })
  clock.now = 10 * MINUTE
  expect(states.redeem(early, ALICE)).toEqual({ refused: 'requestState: it has expired' })
  clock.now = 20 * MINUTE - 2
  expect(states.redeem(late, ALICE)).toEqual({ refused: 'requestState: it was used already' })
})

test('nobody is asked for ever', () => {
  expect(open().issue(ALICE, 6)).toBeUndefined()
})

import { expect, test } from 'vitest'
import type { CallRow, CallState } from './call-row.ts'
import { HeldCalls } from './held-calls.ts'

function row(callId: string, state: CallState = 'open'): CallRow {
  return {
    callId,
    openedSeq: 1,
    openedAt: 0,
    state,
    sideEffect: 0,
    actKey: null,
    principal: 'local',
    taskId: null,
    outcome: null,
    settledAt: null,
    idempotencyKey: null,
    idempotencyDigest: null,
  }
}

function flushed(calls: HeldCalls): string[] {
  const written: string[] = []
  calls.flush(({ callId, state }, stored) => {
    written.push(`${stored ? 'update' : 'insert'} ${callId} ${state}`)
  })
  return written
}

test('a call that is opened and settled in one batch is written once, as new', () => {
  const calls = new HeldCalls()
  calls.put(row('c1'), false)
  calls.begin()
  calls.put(row('c1', 'settled'), true)
  expect(flushed(calls)).toEqual(['insert c1 settled'])
  expect(flushed(calls)).toEqual([])
  expect(calls.get('c1')).toBeUndefined()
})

test('an open call is held over the batch and then updated', () => {
  const calls = new HeldCalls()
  calls.put(row('c1'), false)
  expect(flushed(calls)).toEqual(['insert c1 open'])
  expect(calls.get('c1')).toEqual(row('c1'))
  calls.put(row('c1', 'unknown'), true)
  expect(flushed(calls)).toEqual(['update c1 unknown'])
})

test('a command that is undone leaves what was before it, written or not', () => {
  const calls = new HeldCalls()
  calls.put(row('c1'), false)
  calls.keep(row('c2'))
  calls.begin()
  calls.put(row('c1', 'caller_gone'), true)
  calls.put(row('c1', 'settled'), true)
  calls.put(row('c2', 'settled'), true)
  calls.put(row('c3'), false)
  calls.undo()
  expect(calls.get('c3')).toBeUndefined()
  expect(flushed(calls)).toEqual(['insert c1 open'])
  expect(calls.get('c2')).toEqual(row('c2'))
})

test('a batch that is undone leaves nothing', () => {
  const calls = new HeldCalls()
  calls.put(row('c1'), false)
  calls.clear()
  expect(calls.get('c1')).toBeUndefined()
  expect(flushed(calls)).toEqual([])
})

test('of very many open calls the oldest are let go', () => {
  const calls = new HeldCalls()
  for (let count = 0; count < 5000; count += 1) calls.put(row(`c${count}`), false)
  expect(flushed(calls)).toHaveLength(5000)
  expect(calls.get('c0')).toBeUndefined()
  expect(calls.get('c4999')).toEqual(row('c4999'))
})

import { describe, expect, it } from 'vitest'
import * as errors from '@a2a-js/sdk/errors'
import { TaskState } from '@a2a-js/sdk'
import { ERRORS, isTerminal, parseVersion, reasonOf, TASK_STATES } from './rev-1-0.ts'

it('states are in the order of their numbers', () => {
  expect(TASK_STATES.map((name) => TaskState[name])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
})

it('terminal is what the protocol says', () => {
  expect(TASK_STATES.filter(isTerminal)).toEqual([
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    'TASK_STATE_CANCELED',
    'TASK_STATE_REJECTED',
  ])
})

describe('A2A-Version', () => {
  it.each([
    [undefined, '0.3'],
    ['', '0.3'],
    ['0.3', '0.3'],
    ['1.0', '1.0'],
    ['1.0.1', '1.0'],
    [' 1.0 ', '1.0'],
    ['2.0', '2.0'],
  ])('%j asks for %s', (given, version) => {
    expect(parseVersion(given)).toEqual({ kind: 'version', version })
  })
  it.each(['1', 'v1.0', '1.0.x', 'one'])('%s is no version', (given) => {
    expect(parseVersion(given).kind).toBe('unreadable')
  })
})

describe('which error it is', () => {
  it('the reason counts before the code', () => {
    const data = [{ '@type': 'x', reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }]
    expect(reasonOf(-32603, data)).toBe('TASK_NOT_FOUND')
    expect(reasonOf(-32004, data)).toBe('TASK_NOT_FOUND')
  })
  it('the code counts when there is no reason of ours', () => {
    expect(reasonOf(-32001, undefined)).toBe('TASK_NOT_FOUND')
    expect(reasonOf(-32001, [{ reason: 'QUOTA', domain: 'example.com' }])).toBe('TASK_NOT_FOUND')
    expect(reasonOf(-32603, 'free text')).toBeUndefined()
    expect(reasonOf(-32603, [{ reason: 'toString' }])).toBeUndefined()
  })
  it('codes are those of the official SDK', () => {
    const theirs = Object.keys(errors).join(' ')
    for (const reason of Object.keys(ERRORS)) {
      const name = reason.toLowerCase().replaceAll('_', '')
      expect(theirs.toLowerCase()).toContain(name)
    }
  })
})

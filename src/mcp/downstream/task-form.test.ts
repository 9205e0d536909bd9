import { expect, test } from 'vitest'
import { SEARCHED, type TaskRecord } from '../../core/words/task.ts'
import { statusOf } from './task-form.ts'

const task = (change: Partial<TaskRecord>): TaskRecord => ({
  id: 't-1',
  version: 1,
  owner: { id: 'local', groups: [], via: 'local' },
  peer: 'desk',
  capability: 'long',
  callId: 'c-1',
  state: 'unknown',
  title: 'long',
  questions: [],
  artifacts: [],
  verdict: { state: 'not_judged' },
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...change,
})
const HANDLE = { peer: 'desk', kind: 'mcp_task', sealed: '{}' } as const

test.each([
  ['its server cannot be reached for now', { handle: HANDLE, because: 'peer_unclear' }, 'working'],
  [
    'its server does not know it any more',
    { handle: HANDLE, because: 'peer_unclear', cursor: SEARCHED },
    'failed',
  ],
  ['its process is gone', { because: 'process_died' }, 'failed'],
  ['it was told to stop and did not say', { because: 'cancel_unconfirmed' }, 'cancelled'],
] as const)('a task that is unknown because %s', (_why, change, status) => {
  expect(statusOf(task(change))).toBe(status)
})

/** Calls, tasks and stores for this folder's tests: whole values, made from few words. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Opening } from '../../core/ports/ledger.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import type { Native } from '../../core/words/native.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { TaskRecord, TaskState } from '../../core/words/task.ts'

export const ALICE: Principal = { id: 'alice', groups: [], via: 'token' }
export const BOB: Principal = { id: 'bob', groups: [], via: 'token' }
export const OPERATOR: Principal = { id: 'operator', groups: [], via: 'operator' }

/** A clock that a test moves. */
export function createTestClock(start = Date.UTC(2026, 10, 30)): {
  now(): number
  set(ms: number): void
  move(ms: number): void
} {
  let now = start
  return {
    now: () => now,
    set: (ms) => {
      now = ms
    },
    move: (ms) => {
      now += ms
    },
  }
}

/** A folder of one test. */
export function createFolder(): { readonly path: string; readonly file: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'comity-store-'))
  return {
    path,
    file: join(path, 'store.sqlite'),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

export function native(text: string): Native {
  return {
    protocol: 'mcp',
    revision: '2026-07-28',
    bytes: new TextEncoder().encode(text),
    value: () => JSON.parse(text),
  }
}

export function createCall(callId: string, over: Partial<OutboundCall> = {}): OutboundCall {
  return {
    callId,
    openedAt: Date.UTC(2026, 10, 30),
    route: {
      exposed: 'tickets_delete',
      peer: 'tickets',
      protocol: 'mcp',
      kind: 'tool',
      capability: 'delete',
      endpoint: 'endpoint-1',
      fingerprint: 'fingerprint-1',
      hints: {},
      trusted: true,
    },
    principal: ALICE,
    operation: 'call',
    native: native('{"name":"delete","arguments":{"id":9007199254740993}}'),
    arguments: native('{"id":9007199254740993}'),
    door: 'mcp 2026-07-28 http',
    deadlineAt: Date.UTC(2026, 11, 1),
    trace: {},
    ...over,
  }
}

export function createOpening(callId: string, over: Partial<Opening> = {}): Opening {
  return {
    call: createCall(callId),
    actKey: 'act-1',
    sideEffect: true,
    decision: {
      effect: 'allow',
      rule: 'preset personal',
      version: 'policy-1',
      risk: 'write',
      approvalTtlMs: 900_000,
    },
    ...over,
  }
}

export function createTask(
  id: string,
  state: TaskState,
  over: Partial<TaskRecord> = {},
): TaskRecord {
  return {
    id,
    version: 1,
    owner: ALICE,
    peer: 'research',
    callId: `call-of-${id}`,
    state,
    title: 'compare two versions',
    questions: [],
    artifacts: [],
    verdict: { state: 'not_judged' },
    createdAt: '2026-11-30T00:00:00.000Z',
    updatedAt: '2026-11-30T00:00:00.000Z',
    ...over,
  }
}

export function completed(text = '{"content":[]}'): Outcome {
  return { state: 'completed', native: native(text), toolError: false }
}

export const SENT_NO_ANSWER: Outcome = {
  state: 'unknown',
  because: 'sent_no_answer',
  detail: 'the connection broke',
}

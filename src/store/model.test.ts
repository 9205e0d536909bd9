import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Opened } from '../core/ports/ledger.ts'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import {
  completed,
  createCall,
  createFolder,
  createOpening,
  createTestClock,
  SENT_NO_ANSWER,
} from './testing/make.ts'

const folder = createFolder()
const clock = createTestClock()
let store: Store
let runs = 0

beforeAll(async () => {
  store = await openStore({ file: folder.file, clock })
})
afterAll(async () => {
  await store.close()
  folder.remove()
})

const moves = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('open' as const),
      key: fc.nat(1),
      read: fc.boolean(),
      insist: fc.integer({ min: -3, max: 8 }),
    }),
    fc.record({
      do: fc.constantFrom('gone' as const, 'settle' as const, 'lose' as const, 'by_hand' as const),
      call: fc.nat(8),
    }),
  ),
  { minLength: 3, maxLength: 14 },
)

interface Act {
  readonly callId: string
  readonly key: number
  readonly read: boolean
  state: 'open' | 'caller_gone' | 'unknown' | 'settled'
  insistedBy?: Act
}

/** The newest unsettled equal act. */
function findTwin(acts: readonly Act[], key: number): Act | undefined {
  return acts.findLast(
    (act) =>
      act.key === key && !act.read && (act.state === 'unknown' || act.state === 'caller_gone'),
  )
}

function newestOf(act: Act): Act {
  return act.insistedBy === undefined ? act : newestOf(act.insistedBy)
}

/** The rule of the design, said again: it is the twin, unless the newest one sent in its place (or it) is insisted on. */
function expectedTwin(acts: readonly Act[], key: number, insist: string): Opened {
  const twin = findTwin(acts, key)
  if (twin === undefined) return { kind: 'opened' }
  const newest = newestOf(twin)
  if (newest.callId === insist) return { kind: 'opened' }
  return {
    kind: 'twin',
    callId: twin.callId,
    ...(newest === twin ? {} : { insistedBy: newest.callId }),
    openedAt: new Date(Date.UTC(2026, 10, 30)).toISOString(),
    state: twin.state === 'unknown' ? 'unknown' : 'open_caller_gone',
  }
}

test('the twin rule holds for every order of openings, losses, settlings', async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (sequence) => {
      const run = (runs += 1)
      const acts: Act[] = []
      for (const [index, move] of sequence.entries()) {
        if (move.do === 'open') {
          const callId = `m${run}-${index}`
          const insist = acts[move.insist]?.callId ?? 'none'
          const opened = await store.ledger.open(
            createOpening(callId, {
              call: createCall(callId, { insist }),
              actKey: `${run} ${move.key}`,
              sideEffect: !move.read,
            }),
          )
          const expected = move.read ? { kind: 'opened' } : expectedTwin(acts, move.key, insist)
          expect(opened).toEqual(expected)
          if (opened.kind !== 'opened') continue
          const twin = move.read ? undefined : findTwin(acts, move.key)
          const act: Act = { callId, ...move, state: 'open' }
          acts.push(act)
          if (twin !== undefined) newestOf(twin).insistedBy = act
          continue
        }
        const act = acts[move.call]
        if (act !== undefined) await play(act, move.do)
      }
      await store.flush()
      for (const act of acts) expect(store.call(act.callId)?.state).toBe(act.state)
    }),
    { numRuns: 40 },
  )
  expect(await store.verify()).toMatchObject({ sound: true })
}, 60_000)

async function play(act: Act, move: 'gone' | 'settle' | 'lose' | 'by_hand'): Promise<void> {
  const unsettled = act.state === 'unknown' || act.state === 'caller_gone'
  if (move === 'gone') {
    store.ledger.callerGone(act.callId)
    if (act.state === 'open') act.state = 'caller_gone'
  } else if (move === 'by_hand') {
    const word = { as: 'did_not_run', by: 'operator', note: '' } as const
    if (unsettled) {
      await store.settleByHand(act.callId, word)
      act.state = 'settled'
    } else {
      await expect(store.settleByHand(act.callId, word)).rejects.toMatchObject({ code: 'conflict' })
    }
  } else if (act.state !== 'settled') {
    await store.ledger.settle(act.callId, move === 'settle' ? completed() : SENT_NO_ANSWER, {
      barrier: true,
    })
    act.state = move === 'settle' ? 'settled' : 'unknown'
  }
}

const TTL_MS = 100

test('an approval lets one call through, however many try at once, and none outside its time', async () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('spend' as const), times: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constantFrom('approve' as const, 'deny' as const) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.nat(60) }),
    ),
    { minLength: 2, maxLength: 8 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const run = (runs += 1)
      const asked = await store.approvals.request(
        {
          digest: `digest ${run}`,
          principal: 'alice',
          peer: 'tickets',
          capability: 'delete',
          endpoint: 'endpoint-1',
          risk: 'destructive',
          rule: 'preset personal',
          argumentsText: '{}',
          theirWords: '',
        },
        TTL_MS,
      )
      const end = clock.now() + TTL_MS
      let state: 'pending' | 'approved' | 'denied' | 'spent' = 'pending'
      for (const [index, step] of sequence.entries()) {
        const live = clock.now() < end
        if (step.do === 'wait') clock.move(step.ms)
        else if (step.do === 'spend') {
          const opened = await Promise.all(
            Array.from({ length: step.times }, async (_, nth) => {
              const callId = `a${run}-${index}-${nth}`
              return store.ledger.open(
                createOpening(callId, { actKey: callId, approvalId: asked.id }),
              )
            }),
          )
          const through = opened.filter(({ kind }) => kind === 'opened').length
          expect(through).toBe(live && state === 'approved' ? 1 : 0)
          if (through === 1) state = 'spent'
        } else {
          const word = step.do === 'approve' ? 'approved' : 'denied'
          const answered = await store.approvals.answer(asked.id, word, 'operator').then(
            () => true,
            () => false,
          )
          expect(answered).toBe(live && state === 'pending')
          if (answered) state = word
        }
      }
    }),
    { numRuns: 40 },
  )
}, 60_000)

test('calls of one turn share commits', async () => {
  let commits = 0
  const stop = store.onTasksChanged(() => {
    commits += 1
  })
  const opened = Array.from({ length: 100 }, async (_, index) => {
    const callId = `group-${index}`
    return store.ledger.open(
      createOpening(callId, {
        actKey: callId,
        task: {
          id: callId,
          version: 1,
          owner: { id: 'alice', groups: [], via: 'token' },
          peer: 'research',
          callId,
          state: 'submitted',
          title: '',
          questions: [],
          artifacts: [],
          verdict: { state: 'not_judged' },
          createdAt: '',
          updatedAt: '',
        },
      }),
    )
  })
  expect(new Set((await Promise.all(opened)).map(({ kind }) => kind))).toEqual(new Set(['opened']))
  stop()
  expect(commits).toBe(1)
})

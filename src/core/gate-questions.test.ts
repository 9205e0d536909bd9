import { expect, test } from 'vitest'
import {
  completed,
  exchangeOf,
  FACTS,
  native,
  openCoreHouse,
  toolCall,
  type CoreHouse,
} from '../testkit/core-house.fixture.ts'
import type { Exchange } from './ports/upstream.ts'
import type { Answer, CallerCan, Question } from './words/question.ts'

const ALL: CallerCan = { form: true, url: true, sampling: true, roots: true }

/** A peer that asks one question in mid-call; keeps what it was answered. */
async function openAsking(
  kind: Question['kind'],
): Promise<{ readonly house: CoreHouse; readonly answers: Answer[]; readonly seen: CallerCan[] }> {
  const answers: Answer[] = []
  const seen: CallerCan[] = []
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      seen.push(exchange.can)
      const question: Question = { key: 'q1', kind, text: 'which?', native: native({}) }
      const answer = await exchange.ask?.(question, new AbortController().signal)
      if (answer !== undefined) answers.push(answer)
      return completed()
    },
  })
  return { house, answers, seen }
}

function askable(
  can: CallerCan,
  answer: Answer,
): { readonly exchange: Exchange; asked: Question[] } {
  const asked: Question[] = []
  const exchange: Exchange = {
    ...exchangeOf().exchange,
    can,
    ask: async (question) => {
      asked.push(question)
      return answer
    },
  }
  return { exchange, asked }
}

function kindsOf(house: CoreHouse, callId: string): readonly string[] {
  return house.store
    .entries({ callId, limit: 50 })
    .toSorted((left, right) => left.seq - right.seq)
    .map(({ kind }) => kind)
}

test('a question in mid-call reaches the caller, and its answer is on record before it leaves', async () => {
  const { house, answers } = await openAsking('form')
  const { exchange, asked } = askable(ALL, { key: 'q1', action: 'accept', data: { name: 'Ada' } })
  const { callId, outcome } = await house.dispatch(toolCall(), exchange)
  expect(outcome.state).toBe('completed')
  expect(asked).toMatchObject([{ key: 'q1', kind: 'form' }])
  expect(answers).toEqual([{ key: 'q1', action: 'accept', data: { name: 'Ada' } }])
  // How it ended is written a moment later.
  const written = kindsOf(house, callId).slice(0, 4)
  expect(written).toEqual(['opened', 'dispatched', 'asked', 'answered'])
})

test.each(['deny', 'ask'] as const)(
  'rules that %s a kind of question: not declared, and declined when asked all the same',
  async (effect) => {
    const { house, answers, seen } = await openAsking('sampling')
    house.rules.questions = { sampling: effect }
    const { exchange, asked } = askable(ALL, { key: 'q1', action: 'accept' })
    const { callId } = await house.dispatch(toolCall(), exchange)
    expect(seen).toEqual([{ form: true, url: true, sampling: false, roots: true }])
    expect(asked).toEqual([])
    expect(answers).toEqual([{ key: 'q1', action: 'decline', unasked: 'rules' }])
    expect(kindsOf(house, callId)).toContain('answered')
  },
)

test('a question that was attributed to its call is on record as such', async () => {
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      const plain = { key: 'q1', kind: 'form', text: '', native: native({}) } as const
      const question: Question = { ...plain, attributed: true }
      await exchange.ask?.(question, new AbortController().signal)
      return completed()
    },
  })
  const { exchange } = askable(ALL, { key: 'q1', action: 'decline' })
  const { callId } = await house.dispatch(toolCall(), exchange)
  await house.store.flush()
  const asked = house.store.entries({ callId, limit: 50 }).find(({ kind }) => kind === 'asked')
  expect(asked?.facts).toEqual({ key: 'q1', kind: 'form', attributed: true })
})

test('extensions that a caller declared reach the peer with the kinds that the rules leave', async () => {
  const { house, seen } = await openAsking('form')
  house.rules.questions = { sampling: 'deny' }
  const extensions = { 'io.modelcontextprotocol/ui': {} }
  const { exchange } = askable({ ...ALL, extensions }, { key: 'q1', action: 'accept' })
  await house.dispatch(toolCall(), exchange)
  expect(seen).toEqual([{ ...ALL, sampling: false, extensions }])
})

test('what the caller did not declare is not asked', async () => {
  const { house, answers } = await openAsking('url')
  const { exchange, asked } = askable({ ...ALL, url: false }, { key: 'q1', action: 'accept' })
  await house.dispatch(toolCall(), exchange)
  expect(asked).toEqual([])
  expect(answers).toEqual([{ key: 'q1', action: 'decline', unasked: 'caller' }])
})

test('a caller that declared nothing is not asked, and the record says that the peer wanted to', async () => {
  const { house, answers } = await openAsking('form')
  const none = { form: false, url: false, sampling: false, roots: false }
  const { exchange, asked } = askable(none, { key: 'q1', action: 'accept' })
  const { callId } = await house.dispatch(toolCall(), exchange)
  expect([asked, answers]).toEqual([[], [{ key: 'q1', action: 'decline', unasked: 'caller' }]])
  expect(kindsOf(house, callId)).toContain('asked')
})

test('an answer that cannot be put on record does not leave', async () => {
  const answers: Answer[] = []
  const faults: string[] = []
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      const question: Question = { key: 'q1', kind: 'form', text: '', native: native({}) }
      const answer = await exchange.ask?.(question, new AbortController().signal)
      if (answer !== undefined) answers.push(answer)
      return completed()
    },
    over: ({ ledger }) => ({
      onFault: (what) => void faults.push(what),
      ledger: { ...ledger, record: () => Promise.reject(new Error('disk full')) },
    }),
  })
  const { exchange } = askable(ALL, { key: 'q1', action: 'accept', data: { secret: 1 } })
  await house.dispatch(toolCall(), exchange)
  expect(answers).toEqual([{ key: 'q1', action: 'cancel' }])
  expect(faults.join()).toContain('could not be put on record')
})

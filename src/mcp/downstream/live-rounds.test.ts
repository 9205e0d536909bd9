/** A 2026 peer's rounds for a caller that is asked on its session. */
import { expect, test } from 'vitest'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Continuation } from '../../core/words/call.ts'
import type { Answer, Question, QuestionKind } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Placed } from './ask-caller.ts'
import { askInRounds } from './live-rounds.ts'
import { createDoor } from './options.ts'
import { completed, createScriptedHouse } from './testing/scripted-house.ts'
import { TEST_KEY } from './testing/test-door.ts'
import type { Visit } from './visit.ts'

const EVERYTHING = { form: true, url: true, sampling: true, roots: true }

function placed(maxRounds = 16): Placed {
  const door = createDoor(createScriptedHouse([]), {
    serverInfo: { name: 't', version: '1' },
    sealingKey: TEST_KEY,
    clock: { now: Date.now },
    limits: { maxRounds },
  })
  const visit = { era: 'legacy', request: { method: 'tools/call' } } as unknown as Visit
  return { door, visit, route: undefined as never }
}

function question(kind: QuestionKind, key: string): Question {
  return {
    kind,
    key,
    text: `${key}?`,
    native: mcpNative(encodeJson({ method: 'm' }), '2026-07-28'),
  }
}

function asks(callId: string, questions: readonly Question[], approvalId?: string): Dispatched {
  return {
    callId,
    ...(approvalId === undefined ? {} : { approvalId }),
    outcome: {
      state: 'input_required',
      handle: { peer: 'desk', kind: 'mcp_state', sealed: `"after ${callId}"` },
      questions,
    },
  }
}

function exchangeOf(
  answer: (question: Question) => Promise<Answer>,
  signal = new AbortController().signal,
): Exchange {
  return {
    signal,
    stopReason: () => undefined,
    emit: () => undefined,
    can: EVERYTHING,
    ask: answer,
  }
}

const accept = (asked: Question): Promise<Answer> =>
  Promise.resolve({ key: asked.key, action: 'accept', data: { from: asked.key } })

test('every question of a round is asked at once, and the call goes on from where the round left it', async () => {
  const open = new Set<string>()
  const bothAsked = Promise.withResolvers<void>()
  const exchange = exchangeOf(async (asked) => {
    open.add(asked.key)
    if (open.size === 2) bothAsked.resolve()
    await bothAsked.promise
    return accept(asked)
  })
  const seen: Continuation[] = []
  const end: Dispatched = { callId: 'c3', outcome: completed({ content: [] }) }
  const came = await askInRounds(
    placed(),
    asks('c1', [question('form', 'a'), question('url', 'b')], 'ap-1'),
    exchange,
    (continuation) => {
      seen.push(continuation)
      return Promise.resolve(seen.length === 1 ? asks('c2', [question('roots', 'c')]) : end)
    },
  )
  expect(came).toBe(end)
  expect(seen).toMatchObject([
    {
      callId: 'c1',
      handle: { sealed: '"after c1"' },
      answers: [{ key: 'a' }, { key: 'b' }],
      approvalId: 'ap-1',
    },
    { callId: 'c2', handle: { sealed: '"after c2"' }, answers: [{ key: 'c' }] },
  ])
})

test('a round that only asks for time is sent again without answers', async () => {
  const seen: Continuation[] = []
  const end: Dispatched = { callId: 'c2', outcome: completed({ content: [] }) }
  const came = await askInRounds(placed(), asks('c1', []), exchangeOf(accept), (continuation) => {
    seen.push(continuation)
    return Promise.resolve(end)
  })
  expect(came).toBe(end)
  expect(seen).toEqual([{ callId: 'c1', handle: expect.anything(), answers: [] }])
})

test('rounds are bounded, and the caller reads why it ends', async () => {
  let rounds = 0
  const came = await askInRounds(
    placed(3),
    asks('c', [question('form', 'a')]),
    exchangeOf(accept),
    () => {
      rounds += 1
      return Promise.resolve(asks('c', [question('form', 'a')]))
    },
  )
  expect(rounds).toBe(3)
  expect(JSON.stringify(textOf(came))).toContain('after 3 rounds')
})

test.each<[QuestionKind, boolean]>([
  ['form', true],
  ['url', true],
  ['sampling', false],
  ['roots', false],
])(
  'a declined %s question is passed on only where the wire has a form for it',
  async (kind, isPassedOn) => {
    const end: Dispatched = { callId: 'c2', outcome: completed({ content: [] }) }
    const decline = (asked: Question): Promise<Answer> =>
      Promise.resolve({ key: asked.key, action: 'decline' })
    let sent = 0
    const came = await askInRounds(
      placed(),
      asks('c1', [question(kind, 'a')]),
      exchangeOf(decline),
      () => {
        sent += 1
        return Promise.resolve(end)
      },
    )
    expect(sent).toBe(isPassedOn ? 1 : 0)
    if (!isPassedOn) expect(JSON.stringify(textOf(came))).toContain('was declined')
  },
)

test('a caller that cannot be asked that reads the question in words', async () => {
  const { ask: _unused, ...mute } = exchangeOf(accept)
  const came = await askInRounds(placed(), asks('c1', [question('form', 'a')]), mute, () =>
    expect.unreachable(),
  )
  expect(textOf(came)).toContain('a?')
})

test('a call that is stopped while its caller is asked is not sent again', async () => {
  const stop = new AbortController()
  const exchange = exchangeOf((asked) => {
    stop.abort()
    return Promise.resolve({ key: asked.key, action: 'cancel' })
  }, stop.signal)
  const came = await askInRounds(placed(), asks('c1', [question('form', 'a')]), exchange, () =>
    expect.unreachable(),
  )
  expect(textOf(came)).toContain('waited for an answer')
})

function textOf(came: unknown): string {
  const { bytes } = came as { readonly bytes: Uint8Array }
  return Buffer.from(bytes).toString()
}

/**
 * A peer that answers with questions (2026-07-28) and a caller that is asked on its session: each question live, several at
 * once, and the call again with the answers; a bounded number of rounds.
 *
 * A round that only says "come back" is waited for and sent again. Who said no to what has no form of a no is told so.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Continuation } from '../../core/words/call.ts'
import type { Answer as QuestionAnswer, Question } from '../../core/words/question.ts'
import type { Answer } from './answer.ts'
import { cannotAsk, tooManyRounds, type Asking, type Placed } from './ask-caller.ts'
import { outcomeMeta, readableAnswer } from './outcome.ts'

/** Sends the call again, going on where the earlier round left. */
export type Again = (continuation: Continuation) => Promise<Dispatched>

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 5_000

/** @returns how the call ended, or the answer that ends it for its caller. */
export async function askInRounds(
  { door, visit }: Placed,
  first: Dispatched,
  exchange: Exchange,
  again: Again,
): Promise<Dispatched | Answer> {
  let dispatched = first
  for (let round = 1; ; round += 1) {
    const { outcome } = dispatched
    if (outcome.state !== 'input_required') return dispatched
    const asking = { ...dispatched, outcome }
    if (!canCarry(exchange, outcome)) return cannotAsk(visit, asking)
    if (round > door.limits.maxRounds) return tooManyRounds(door, visit, dispatched)
    const answers = await answersTo(outcome, exchange, round)
    if (exchange.signal.aborted) return stopped(visit, asking)
    const refused = answers.findIndex(
      ({ action }, index) => action !== 'accept' && hasNoForm(outcome.questions[index]),
    )
    if (refused >= 0) return declined(visit, asking, outcome.questions[refused])
    dispatched = await again({
      callId: dispatched.callId,
      handle: outcome.handle,
      answers,
      ...(dispatched.approvalId === undefined ? {} : { approvalId: dispatched.approvalId }),
    })
  }
}

function canCarry({ ask, can }: Exchange, { questions }: Asking): boolean {
  if (questions.length === 0) return true
  return ask !== undefined && questions.every(({ kind }) => kind !== 'text' && can[kind])
}

/** In parallel; none when the round only asks for time. */
async function answersTo(
  { questions }: Asking,
  exchange: Exchange,
  round: number,
): Promise<readonly QuestionAnswer[]> {
  const { ask } = exchange
  if (questions.length > 0 && ask !== undefined)
    return Promise.all(questions.map((question) => ask.call(exchange, question, exchange.signal)))
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (round - 1), LONGEST_PAUSE_MS)
  await wait(pauseMs, undefined, { signal: exchange.signal }).catch(() => undefined)
  return []
}

/** Only elicitation can be declined on the wire. @source MCP 2026-07-28, basic, multi round-trip requests */
function hasNoForm(question: Question | undefined): boolean {
  return question?.kind === 'sampling' || question?.kind === 'roots'
}

function declined(
  visit: Placed['visit'],
  asking: Dispatched & { readonly outcome: Asking },
  question: Question | undefined,
): Answer {
  const what = question?.kind === 'roots' ? 'roots' : 'sampling'
  const text = `The peer ${asking.outcome.handle.peer} asked for ${what} before it goes on, and that was declined; the call was given up.`
  return readableAnswer(visit, text, outcomeMeta(asking))
}

function stopped(
  visit: Placed['visit'],
  asking: Dispatched & { readonly outcome: Asking },
): Answer {
  const text = `The call ended while the peer ${asking.outcome.handle.peer} waited for an answer; it was not sent one.`
  return readableAnswer(visit, text, outcomeMeta(asking))
}

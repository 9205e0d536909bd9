/** One entry of the record as a sentence, for the page of `comity explain`. Pure; what a peer wrote stays marked as its. */
import type { EntryLine } from '../gateway/admin/operator.ts'

/** @returns undefined for entries that say nothing a person needs beyond the table below the page. */
export function sayEntry(entry: EntryLine): string | undefined {
  const said = WORDS[entry.kind]?.(entry.facts, entry)
  return said === undefined ? undefined : `${entry.at}  ${said}`
}

type Facts = Readonly<Record<string, unknown>>

const WORDS: Readonly<Record<string, (facts: Facts, entry: EntryLine) => string | undefined>> = {
  opened: (facts, { callId }) =>
    `${sayOperation(facts)} was let through and put on record${callId === undefined ? '' : ` as ${callId}`}`,
  refused: () => 'it was stopped at the gate; nothing was sent',
  dispatched: (facts) => saySent(facts),
  settled: (facts, { callId }) => saySettled(facts, callId),
  answered: (facts) => `an answer was given (${sayAnswers(facts['answers'])})`,
  cancel_asked: (facts) => `${sayFact(facts['by'])} asked to stop it`,
  cancel_reported: (facts) =>
    `of the stop: ${sayFact(facts['confirmed'])}, ${sayFact(facts['detail'])}`,
  task_changed: (facts) =>
    facts['from'] === undefined
      ? 'it became a task'
      : `the task went from ${sayFact(facts['from'])} to ${sayFact(facts['to'])}${sayCount(facts['artifacts'])}`,
  late_news: (facts) => `late news, which moves nothing: ${sayFact(facts['why'])}`,
  judged: (facts) =>
    `the delivery was judged: ${sayFact(facts['verdict'])}${sayReasons(facts['reasons'])}`,
  recovered: () => 'comity had ended before an answer was on record: unknown from here on',
  settled_by_hand: (facts) =>
    `settled by hand as ${sayFact(facts['as'])} by ${sayFact(facts['note'] === '' ? facts['by'] : facts['note'])}`,
  dropped: (facts) => `left out in translation: ${sayFact(facts['fields'])}`,
}

/** A fact in words: text as it is, everything else as JSON. */
export function sayFact(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What left, by the names both sides have for it. */
export function saySent(facts: Facts): string {
  const ours = asRecord(facts['ours'])
  const revision = `revision ${sayFact(facts['revision'])}`
  const wire = `wire id ${sayFact(facts['wireId'])}`
  if (ours['messageId'] === undefined) {
    return `sent: ${wire}, ${revision}; we declared ${sayFact(facts['ours'])}, the peer ${sayFact(facts['theirs'])}`
  }
  return `sent: ${sayFact(ours['method'])}, message ${sayFact(ours['messageId'])}, ${wire}, ${revision}`
}

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function sayOperation(facts: Facts): string {
  const { peer } = asRecord(facts['route'])
  switch (facts['operation']) {
    case 'delegate':
      return `a delegation to ${sayFact(peer)}`
    case 'answer':
      return `an answer to ${sayFact(peer)}`
    default:
      return `a ${sayFact(facts['operation'])} at ${sayFact(peer)}`
  }
}

function saySettled(facts: Facts, callId: string | undefined): string {
  const of = callId === undefined ? '' : ` (${callId})`
  if (facts['through'] === 'task') {
    return `the lost reply is known after all: the task was found as ${sayFact(facts['state'])}${of}`
  }
  const { taskId, contextId } = asRecord(facts['handle'])
  const where =
    taskId === undefined
      ? ''
      : `, task ${sayFact(taskId)}${contextId === undefined ? '' : ` in context ${sayFact(contextId)}`} there`
  const detail = facts['detail'] === undefined ? '' : `: ${sayFact(facts['detail'])}`
  return `the reply was: ${sayFact(facts['state'])}${where}${detail}${of}`
}

function sayAnswers(answers: unknown): string {
  const given = Array.isArray(answers) ? answers.map(asRecord) : []
  return given.map(({ key, action }) => `${sayFact(key)} ${sayFact(action)}`).join(', ')
}

function sayCount(artifacts: unknown): string {
  if (typeof artifacts !== 'number' || artifacts === 0) return ''
  return `, with ${artifacts} artifact${artifacts === 1 ? '' : 's'}`
}

function sayReasons(reasons: unknown): string {
  return Array.isArray(reasons) && reasons.length > 0
    ? ` (${reasons.map((reason) => sayFact(reason)).join('; ')})`
    : ''
}

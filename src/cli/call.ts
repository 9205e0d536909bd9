/** `comity call` and `comity read`: one call, its result, and what is known about it. */
import { setTimeout as wait } from 'node:timers/promises'
import { ComityError } from '../gateway/admin/errors.ts'
import type {
  AnswerInput,
  CallInput,
  CallReport,
  OutcomeReport,
  QuestionReport,
  TaskReport,
} from '../gateway/admin/operator.ts'
import { parseExact } from '../gateway/admin/exact-json.ts'
import { exitOfOutcome } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { durationOf, pairOf } from './option-values.ts'
import { askQuestions } from './questions.ts'
import { type Session, interruptible, openSession } from './session.ts'
import { type Terminal, visible, visibleLines } from './terminal.ts'

export interface CallOptions extends CommonOptions {
  readonly arg: readonly string[]
  readonly timeout: string
  readonly insist?: string
}

export async function call(
  options: CallOptions,
  terminal: Terminal,
  target: string,
  json?: string,
): Promise<number> {
  const argumentsText = argumentsOf(json, options.arg)
  const session = await openSession({ ...options, peers: peersOf(target) })
  try {
    return await callAndAnswer(session, terminal, {
      target,
      argumentsText,
      timeoutMs: durationOf('--timeout', options.timeout, '10m'),
      canAnswer: terminal.interactive && !terminal.json,
      ...(options.insist === undefined ? {} : { insist: options.insist }),
    })
  } finally {
    await session.close()
  }
}

export interface ReadOptions extends CommonOptions {
  readonly timeout: string
}

export async function read(
  options: ReadOptions,
  terminal: Terminal,
  target: string,
): Promise<number> {
  const session = await openSession({ ...options, peers: 'all' })
  try {
    const timeoutMs = durationOf('--timeout', options.timeout, '2m')
    const report = await interruptible(terminal, (live) =>
      session.operator.read({ target, timeoutMs }, live),
    )
    return showReport(terminal, report)
  } finally {
    await session.close()
  }
}

/** `peer/tool` needs that peer alone; an exposed name could be anyone's. */
export function peersOf(target: string): 'all' | readonly string[] {
  const slash = target.indexOf('/')
  return slash < 0 ? 'all' : [target.slice(0, slash)]
}

async function callAndAnswer(
  session: Session,
  terminal: Terminal,
  input: CallInput,
): Promise<number> {
  let report = await interruptible(terminal, (live) => session.operator.call(input, live))
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const { questions, continuation: sealed } = report
    const asks = report.outcome.state === 'input_required' && input.canAnswer === true
    if (!asks || questions === undefined) break
    const answers: readonly AnswerInput[] = await askQuestions(questions)
    // A round that asks nothing only wants time.
    if (questions.length === 0) await wait(Math.min(200 * 2 ** round, 5_000))
    const continuation = { sealed, answers }
    report = await interruptible(terminal, (live) =>
      session.operator.call({ ...input, continuation }, live),
    )
  }
  return showReport(terminal, report)
}

/** Rounds of questions in one call. */
const MAX_ROUNDS = 16

function showReport(terminal: Terminal, report: CallReport): number {
  const code = exitOfOutcome(report.outcome)
  if (terminal.json) {
    terminal.answer({
      ...report,
      resultText: undefined,
      continuation: undefined,
      ...(report.resultText === undefined ? {} : { result: parseExact(report.resultText) }),
    })
    return code
  }
  if (report.resultText !== undefined) showResult(terminal, report.resultText)
  showOutcome(terminal, report.outcome, report.callId)
  if (report.task !== undefined) sayTask(terminal, report.task)
  for (const question of report.questions ?? []) showQuestion(terminal, question)
  return code
}

/** Our words about an outcome, after the peer's result; silent when all is well. */
export function showOutcome(terminal: Terminal, outcome: OutcomeReport, callId: string): void {
  if (outcome.state === 'completed' || outcome.state === 'answered') {
    terminal.note(
      `${outcome.toolError === true ? 'the tool itself reports an error' : outcome.state} (${callId})`,
    )
    return
  }
  const code = outcome.code === undefined ? '' : ` (${outcome.code})`
  terminal.note(
    `${outcome.state}${code}${outcome.detail === undefined ? '' : `: ${visible(outcome.detail)}`}`,
  )
  if (outcome.state === 'unknown' && outcome.twinOf === undefined) {
    terminal.note(
      `it may have run: look at the peer before you call again, then: comity settle ${callId} --as ran|did-not-run`,
    )
  }
  terminal.note(`what is on record: comity explain ${callId}`)
}

export function showQuestion(terminal: Terminal, question: QuestionReport): void {
  terminal.note(`the peer asks (${question.kind}, ${visible(question.key)}):`)
  terminal.note(visibleLines(question.text, '  | '))
  if (question.form !== undefined)
    terminal.note(visibleLines(JSON.stringify(question.form, undefined, 2), '  | '))
}

/** It goes on, or went on, as a task. */
function sayTask(terminal: Terminal, { taskId, peer, next }: TaskReport): void {
  const goesOn = next === 'nobody' ? 'it was' : 'it goes on as'
  terminal.note(
    `${goesOn} task ${taskId} at ${peer}: comity tasks ${taskId}${next === 'agent' ? ' --wait' : ''}`,
  )
}

/** A result, for people. */
export function showResult(terminal: Terminal, resultText: string): void {
  const result = parseExact(resultText) as {
    content?: unknown
    contents?: unknown
    messages?: unknown
  }
  const blocks = Array.isArray(result.content)
    ? result.content
    : Array.isArray(result.contents)
      ? result.contents
      : undefined
  if (blocks === undefined) {
    terminal.line(visibleLines(JSON.stringify(result, undefined, 2)))
    return
  }
  for (const block of blocks as readonly Record<string, unknown>[])
    terminal.line(visibleLines(sayBlock(block)))
  if ('structuredContent' in result && blocks.length === 0)
    terminal.line(visibleLines(JSON.stringify(result.structuredContent, undefined, 2)))
}

/** One content block as text: what is no text is named, never printed. */
export function sayBlock(block: Record<string, unknown>): string {
  if (typeof block['text'] === 'string') return block['text']
  const mimeType = String(block['mimeType'] ?? 'no media type')
  if (typeof block['data'] === 'string')
    return `[${String(block['type'])}, ${mimeType}, ${block['data'].length} characters of base64]`
  if (typeof block['blob'] === 'string')
    return `[${String(block['uri'])}, ${mimeType}, ${block['blob'].length} characters of base64]`
  return JSON.stringify(block)
}

function argumentsOf(json: string | undefined, pairs: readonly string[]): string {
  if (json !== undefined && pairs.length > 0)
    throw new ComityError('usage', 'give the arguments as JSON or by --arg, not both')
  if (json !== undefined) {
    try {
      JSON.parse(json)
    } catch (error) {
      throw new ComityError(
        'usage',
        `the arguments must be a JSON object: ${(error as Error).message}`,
      )
    }
    // As written, not as parsed: integers beyond 2^53 keep their digits.
    return json
  }
  const members = pairs.map((pair) => {
    const [name, value] = pairOf('--arg', pair)
    return `${JSON.stringify(name)}:${jsonOrText(value)}`
  })
  return `{${members.join(',')}}`
}

function jsonOrText(value: string): string {
  try {
    JSON.parse(value)
    return value
  } catch {
    return JSON.stringify(value)
  }
}

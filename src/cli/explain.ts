/** `comity explain`: one page about one call or task, for whoever is called at night. */
import type { EntryLine, ExplainReport } from '../gateway/admin/operator.ts'
import { EXIT } from './exit-codes.ts'
import { showEntries } from './ledger.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
import { showTask } from './tasks.ts'
import { type Terminal, brief, visible } from './terminal.ts'

export async function explain(
  options: CommonOptions,
  terminal: Terminal,
  id: string,
): Promise<number> {
  const session = await openSession({ ...options, peers: 'none' })
  try {
    const report = await interruptible(terminal, (live) => session.operator.explain({ id }, live))
    if (terminal.json) terminal.answer(report)
    else showExplanation(terminal, report)
    return EXIT.done
  } finally {
    await session.close()
  }
}

/** The page. */
export function showExplanation(terminal: Terminal, report: ExplainReport): void {
  const facts = { ...asRecord(report.call['facts']), ...report.call }
  const route = asRecord(facts['route'])
  const decision = asRecord(facts['decision'])
  terminal.line(`call ${report.callId}`)
  section(terminal, 'who asked', [
    `${sayValue(facts['principal'])} through ${sayValue(facts['door'])}, ${sayValue(report.call['openedAt'])}`,
  ])
  section(terminal, 'what', [
    `${sayValue(facts['operation'])} ${sayValue(route['peer'])}/${sayValue(route['capability'])} (shown to callers as ${sayValue(route['exposed'])})`,
    report.argumentsText === undefined
      ? 'arguments: kept as a digest only'
      : `arguments: ${brief(report.argumentsText, 1000)}`,
  ])
  section(terminal, 'by which rule', [
    `${sayValue(decision['rule'])}: ${sayValue(decision['effect'])}, risk ${sayValue(decision['risk'])}${facts['approvalId'] === undefined ? '' : `, approval ${sayValue(facts['approvalId'])}`}`,
  ])
  section(terminal, 'what was sent', sent(report.entries))
  section(terminal, 'what is known', known(report))
  section(terminal, 'what is not known', unknowns(report))
  section(terminal, 'what to do next', nextSteps(report))
  if (report.task !== undefined) {
    terminal.line()
    showTask(terminal, report.task)
  }
  terminal.line()
  terminal.line('the record')
  showEntries(terminal, report.entries)
}

function section(terminal: Terminal, title: string, lines: readonly string[]): void {
  terminal.line()
  terminal.line(title)
  for (const line of lines) terminal.line(`  ${visible(line)}`)
}

function sent(entries: readonly EntryLine[]): readonly string[] {
  const dispatched = entries.filter((entry) => entry.kind === 'dispatched')
  if (dispatched.length === 0) return ['nothing is on record as sent']
  return dispatched.map(
    (entry) =>
      `${entry.at}: wire id ${sayValue(entry.facts['wireId'])}, revision ${sayValue(entry.facts['revision'])}; we declared ${sayValue(entry.facts['ours'])}, the peer ${sayValue(entry.facts['theirs'])}`,
  )
}

function known(report: ExplainReport): readonly string[] {
  const outcome = asRecord(report.call['outcome'])
  const lines = [
    `the call is ${sayValue(report.call['state'])}${outcome['state'] === undefined ? '' : `: ${sayValue(outcome['state'])}`}`,
  ]
  for (const key of ['code', 'detail', 'toolError', 'byHand'])
    if (outcome[key] !== undefined) lines.push(`${key}: ${sayValue(outcome[key])}`)
  for (const entry of report.entries.filter(
    (one) => one.kind === 'cancel_reported' || one.kind === 'judged',
  ))
    lines.push(`${entry.kind}: ${brief(JSON.stringify(entry.facts), 300)}`)
  return lines
}

function unknowns(report: ExplainReport): readonly string[] {
  const state = report.call['state']
  if (state === 'unknown')
    return ['whether it ran at the peer: it was opened, and no answer is on record']
  if (state === 'open' || state === 'caller_gone') return ['how it ends: it is under way']
  if (report.task?.next === 'agent') return ['how the task ends: the agent is at work']
  return ['nothing that this record could tell']
}

function nextSteps(report: ExplainReport): readonly string[] {
  const state = report.call['state']
  const { task } = report
  if (state === 'unknown' && task?.remoteTaskId === undefined) {
    return [
      `look at the peer whether it ran, then: comity settle ${report.callId} --as ran|did-not-run`,
      'until then an equal call is not sent',
    ]
  }
  if (task === undefined) return ['nothing']
  if (task.next === 'you') return [`answer: comity answer ${task.taskId} "…"`]
  if (task.next === 'operator')
    return ['the agent waits for an authorisation, or its task was not found: look at the agent']
  if (task.next === 'agent') return [`wait: comity tasks ${task.taskId} --wait`]
  return task.artifacts.length === 0
    ? ['nothing']
    : [`take the artifacts: comity tasks ${task.taskId} --save <folder>`]
}

function sayValue(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

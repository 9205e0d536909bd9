/** `comity explain`: one page about one call or task, for whoever is called at night. */
import type { EntryLine, ExplainReport } from '../gateway/admin/operator.ts'
import { EXIT } from './exit-codes.ts'
import { showEntries } from './ledger.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
import { asRecord, sayEntry, sayFact, saySent } from './say-entry.ts'
import { sayVerdict, showTask } from './tasks.ts'
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
function showExplanation(terminal: Terminal, report: ExplainReport): void {
  const facts = { ...asRecord(report.call['facts']), ...report.call }
  const route = asRecord(facts['route'])
  const decision = asRecord(facts['decision'])
  terminal.line(
    `call ${report.callId}${report.task === undefined ? '' : `, task ${report.task.taskId}`}`,
  )
  section(terminal, 'who asked', [
    `${sayCaller(facts['principal'])}, through ${sayDoor(facts['door'])}, ${sayFact(report.call['openedAt'])}`,
  ])
  section(terminal, 'what', [
    `${sayFact(facts['operation'])} ${sayFact(route['peer'])}/${sayFact(route['capability'])} (shown to callers as ${sayFact(route['exposed'])})`,
    report.argumentsText === undefined
      ? 'arguments: kept as a digest only'
      : `arguments: ${brief(report.argumentsText, 1000)}`,
    ...(facts['continues'] === undefined
      ? []
      : [`it goes on with another call: comity explain ${sayFact(facts['continues'])}`]),
  ])
  section(terminal, 'by which rule', [
    `${sayFact(decision['rule'])}: ${sayFact(decision['effect'])}, risk ${sayFact(decision['risk'])}${facts['approvalId'] === undefined ? '' : `, approval ${sayFact(facts['approvalId'])}`}`,
  ])
  section(terminal, 'what was sent', sent(report))
  section(terminal, 'what is known', known(report))
  section(terminal, 'what is not known', unknowns(report))
  section(terminal, 'what to do next', nextSteps(report))
  section(terminal, 'how it went', toldInOrder(report.entries))
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

function sayCaller(principal: unknown): string {
  const { id, via } = asRecord(principal)
  return id === undefined ? sayFact(principal) : `${sayFact(id)} (known by ${sayFact(via)})`
}

function sayDoor(door: unknown): string {
  return door === 'operator' ? 'the command line or the library' : sayFact(door)
}

function sent({ entries, call }: ExplainReport): readonly string[] {
  const dispatched = entries.filter((entry) => entry.kind === 'dispatched')
  // The note of a send follows the send: a process that was killed just then has not written it.
  const open = call['state'] === 'unknown' || call['state'] === 'caller_gone'
  return dispatched.length === 0
    ? [
        open
          ? 'no send is on record, but it may have left: its note comes a moment after it'
          : 'nothing is on record as sent',
      ]
    : dispatched.map((entry) => `${entry.at}  ${saySent(entry.facts)}`)
}

function toldInOrder(entries: readonly EntryLine[]): readonly string[] {
  return entries.flatMap((entry) => sayEntry(entry) ?? [])
}

function known(report: ExplainReport): readonly string[] {
  const outcome = asRecord(report.call['outcome'])
  const { task } = report
  // A delegation's call ends with the agent's first reply; what became of the work is its task's.
  const lines =
    task === undefined || report.call['state'] !== 'settled'
      ? [
          `the call is ${sayFact(report.call['state'])}${outcome['state'] === undefined ? '' : `: ${sayFact(outcome['state'])}`}`,
        ]
      : [
          sayFirstReply(outcome, task),
          `the task is ${task.state} since ${task.updatedAt}`,
          ...(task.of === 'agent' ? [`verdict: ${sayVerdict(task)}`] : []),
        ]
  for (const key of ['code', 'detail', 'toolError', 'byHand'])
    if (outcome[key] !== undefined) lines.push(`${key}: ${sayFact(outcome[key])}`)
  for (const { kind, facts } of report.entries) {
    if (kind === 'cancel_reported')
      lines.push(`asked to stop: ${sayFact(facts['confirmed'])}, ${sayFact(facts['detail'])}`)
  }
  return lines
}

function sayFirstReply(outcome: Record<string, unknown>, task: Task): string {
  const reply = `the ${sayPeer(task)}'s first reply`
  if (outcome['through'] === 'task')
    return `${reply} was lost; its task was found as ${sayFact(outcome['state'])}`
  if (outcome['byHand'] !== undefined) return `${reply} was lost`
  return outcome['ran'] === 'no'
    ? `nothing ran: ${sayFact(outcome['state'])}`
    : `${reply} was: ${sayFact(outcome['state'])}`
}

type Task = NonNullable<ExplainReport['task']>

function sayPeer({ of }: Task): 'agent' | 'server' {
  return of === 'agent' ? 'agent' : 'server'
}

function unknowns(report: ExplainReport): readonly string[] {
  const { state } = report.call
  const { task } = report
  if (state === 'unknown')
    return ['whether it ran at the peer: it was opened, and no answer is on record']
  if (task?.state === 'unknown')
    return [`what became of the task: the ${sayPeer(task)} no longer tells`]
  if (task?.next === 'agent' || task?.next === 'you') return ['how the task ends: it is under way']
  if (state === 'open' || state === 'caller_gone') return ['how it ends: it is under way']
  return ['nothing that this record could tell']
}

function nextSteps(report: ExplainReport): readonly string[] {
  const { state } = report.call
  const { task } = report
  if (state === 'unknown' && task?.remoteTaskId === undefined) {
    return [
      `look at the peer whether it ran, then: comity settle ${report.callId} --as ran|did-not-run`,
      'until then an equal call is not sent',
    ]
  }
  if (task === undefined) return ['nothing']
  switch (task.next) {
    case 'you':
      return [
        ...task.questions.map((question) => `it asks: ${question.text}`),
        `answer: comity answer ${task.taskId} "…", or --decline`,
      ]
    case 'operator':
      return task.state === 'unknown'
        ? [`look at the ${sayPeer(task)} what became of it; an equal call is not sent before`]
        : [
            `give the authorisation where the ${sayPeer(task)} asks for it; the task is followed on meanwhile`,
          ]
    case 'agent':
      return [
        `wait: comity tasks ${task.taskId} --wait`,
        `or ask it to stop: comity cancel ${task.taskId}`,
      ]
    case 'nobody':
      return afterEnd(task)
  }
}

function afterEnd(task: Task): readonly string[] {
  if (task.of === 'tool')
    return [
      task.artifacts.length === 0 ? 'nothing' : `read what it came to: comity tasks ${task.taskId}`,
    ]
  const take = `take the artifacts: comity tasks ${task.taskId} --save <folder>`
  const context = task.contextId === undefined ? '' : ` --context ${task.contextId}`
  const anew = `ended tasks take nothing more; ask anew in the same context: comity delegate ${task.peer} "…"${context}`
  if (task.verdict.state === 'refused')
    return [...task.verdict.reasons.map((reason) => `refused: ${reason}`), anew, take]
  if (task.state === 'completed') return task.artifacts.length === 0 ? ['nothing'] : [take]
  return task.state === 'answered' ? ['nothing'] : [anew]
}

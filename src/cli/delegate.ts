/** `comity delegate`: a task for an agent, with our own id from the first moment. */
import { readFileSync } from 'node:fs'
import type { DelegateReport } from '../gateway/admin/operator.ts'
import { showOutcome } from './call.ts'
import { EXIT, exitOfOutcome } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { durationOf, jsonOption } from './option-values.ts'
import { interruptible, openSession } from './session.ts'
import { exitOfTask, showTask } from './tasks.ts'
import { type Terminal, visibleLines } from './terminal.ts'

export interface DelegateOptions extends CommonOptions {
  readonly data?: string
  readonly context?: string
  readonly wait?: string | true
  readonly insist?: string
}

/** With no process to go on, a delegation without `--wait` stays until the agent has taken the task. */
const ACCEPT_MS = 30_000

export async function delegate(
  options: DelegateOptions,
  terminal: Terminal,
  agent: string,
  message: string,
): Promise<number> {
  const data = jsonOption('--data', options.data)
  const waitMs = options.wait === undefined ? undefined : durationOf('--wait', options.wait, '10m')
  const text = message === '-' ? readFileSync(0, 'utf8') : message
  const session = await openSession({ ...options, peers: 'all' })
  try {
    const report = await interruptible(
      terminal,
      (live) =>
        session.operator.delegate(
          {
            agent,
            message: text,
            ...(data === undefined ? {} : { data }),
            ...(options.context === undefined ? {} : { contextId: options.context }),
            ...(options.insist === undefined ? {} : { insist: options.insist }),
            ...(waitMs === undefined ? {} : { waitMs }),
            ...(session.shared ? {} : { acceptMs: ACCEPT_MS }),
          },
          live,
        ),
      'wait',
    )
    if (!session.shared && report.task?.next === 'agent') {
      terminal.note(
        'no comity process is up to follow the task; the next one (comity up, comity tasks --wait) goes on with it',
      )
    }
    return showDelegation(terminal, report)
  } finally {
    await session.close()
  }
}

function showDelegation(terminal: Terminal, report: DelegateReport): number {
  const code = report.task === undefined ? exitOfOutcome(report.outcome) : exitOfTask(report.task)
  if (terminal.json) {
    terminal.answer(report)
    return code
  }
  if (report.answerText !== undefined) {
    terminal.line(visibleLines(report.answerText))
    terminal.note(`answered: a direct message, there is no task (${report.callId})`)
    return EXIT.done
  }
  if (report.task === undefined) {
    showOutcome(terminal, report.outcome, report.callId)
    return code
  }
  showTask(terminal, report.task)
  return code
}

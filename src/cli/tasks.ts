/** `comity tasks`, `answer`, `cancel`: work that outlives a call, whose move is next, and what came of it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ComityError } from '../gateway/admin/errors.ts'
import type { TaskReport } from '../gateway/admin/operator.ts'
import { showOutcome, showQuestion, showResult } from './call.ts'
import { EXIT, exitOfOutcome } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { durationOf, jsonOption } from './option-values.ts'
import { type Session, interruptible, openSession } from './session.ts'
import { type Terminal, brief, visible } from './terminal.ts'

export interface TasksOptions extends CommonOptions {
  readonly wait?: string | true
  readonly all?: boolean
  readonly save?: string
}

export async function tasks(
  options: TasksOptions,
  terminal: Terminal,
  taskId?: string,
): Promise<number> {
  const waitMs = options.wait === undefined ? undefined : durationOf('--wait', options.wait, '10m')
  if (taskId === undefined && (waitMs !== undefined || options.save !== undefined)) {
    throw new ComityError('usage', '--wait and --save need a task: comity tasks <task> --wait')
  }
  const session = await openSession({ ...options, peers: waitMs === undefined ? 'none' : 'all' })
  try {
    if (taskId === undefined) return await listTasks(session, options, terminal)
    const task = await interruptible(
      terminal,
      (live) =>
        session.operator.task({ taskId, ...(waitMs === undefined ? {} : { waitMs }) }, live),
      'wait',
    )
    if (terminal.json) terminal.answer(task)
    else showTask(terminal, task)
    if (options.save !== undefined) await saveArtifacts(session, terminal, task, options.save)
    return exitOfTask(task)
  } finally {
    await session.close()
  }
}

export interface AnswerOptions extends CommonOptions {
  readonly data?: string
  readonly decline?: boolean
  readonly wait?: string | true
}

export async function answer(
  options: AnswerOptions,
  terminal: Terminal,
  taskId: string,
  text?: string,
): Promise<number> {
  const data = jsonOption('--data', options.data)
  if (text === undefined && data === undefined && options.decline !== true) {
    throw new ComityError(
      'usage',
      'give an answer: comity answer <task> "text", or --data JSON, or --decline',
    )
  }
  const waitMs = options.wait === undefined ? undefined : durationOf('--wait', options.wait, '10m')
  const session = await openSession({ ...options, peers: 'all' })
  try {
    const { callId, outcome, task } = await interruptible(
      terminal,
      (live) =>
        session.operator.answer(
          {
            taskId,
            ...(text === undefined ? {} : { text }),
            ...(data === undefined ? {} : { data }),
            ...(options.decline === true ? { action: 'decline' as const } : {}),
            ...(waitMs === undefined ? {} : { waitMs }),
          },
          live,
        ),
      'wait',
    )
    if (terminal.json) terminal.answer({ callId, outcome, task })
    else {
      if (outcome.state === 'failed' || outcome.state === 'unknown')
        showOutcome(terminal, outcome, callId)
      showTask(terminal, task)
    }
    return outcome.state === 'failed' || outcome.state === 'unknown'
      ? exitOfOutcome(outcome)
      : exitOfTask(task)
  } finally {
    await session.close()
  }
}

export async function cancel(
  options: CommonOptions,
  terminal: Terminal,
  taskId: string,
): Promise<number> {
  const session = await openSession({ ...options, peers: 'all' })
  try {
    const report = await interruptible(terminal, (live) =>
      session.operator.cancel({ taskId }, live),
    )
    if (terminal.json) terminal.answer(report)
    else {
      terminal.line(`${saidOf(report.confirmed)}: ${visible(report.detail)}`)
      terminal.line('a cancel is no undo: what was done before stays done')
      showTask(terminal, report.task)
    }
    return report.confirmed === 'unconfirmed' ? EXIT.unknown : EXIT.done
  } finally {
    await session.close()
  }
}

/** The exit code of a task as it stands. */
export function exitOfTask(task: TaskReport): number {
  switch (task.state) {
    case 'answered':
      return EXIT.done
    case 'completed':
      // A delivery nobody has judged yet is not one to go on with.
      if (task.verdict.state === 'pending') return EXIT.working
      return task.verdict.state === 'refused' ? EXIT.failed : EXIT.done
    case 'failed':
    case 'rejected':
    case 'canceled':
      return EXIT.failed
    case 'unknown':
      return EXIT.unknown
    case 'submitted':
    case 'working':
    case 'input_required':
    case 'auth_required':
      return EXIT.working
  }
}

/** One task whole: state, next move, references, questions, artifacts, verdict. */
export function showTask(terminal: Terminal, task: TaskReport): void {
  terminal.line(
    `task ${task.taskId} at ${placeOf(task)}: ${task.state}${task.wait === 'still_working' ? ' (still_working: the wait ended, the work is followed on)' : ''}`,
  )
  terminal.line(`  asked:     ${visible(task.title)}`)
  terminal.line(`  next move: ${moverOf(task)}`)
  terminal.line(`  authority: ${task.authority}`)
  if (task.remoteTaskId !== undefined)
    terminal.line(
      `  there:     task ${visible(task.remoteTaskId)}${task.of === 'agent' ? `, context ${visible(task.contextId ?? 'none')}` : ''}`,
    )
  if (task.state === 'unknown' && task.remoteTaskId === undefined)
    terminal.line(
      `  not known: whether ${task.of === 'agent' ? 'the agent has it' : 'it ran to its end'}. Look there, then: comity settle ${task.callId} --as ran|did-not-run`,
    )
  if (task.theirWords !== undefined) terminal.line(`  it says:   ${brief(task.theirWords, 300)}`)
  for (const question of task.questions) {
    showQuestion(terminal, question)
    if (task.servedAs === undefined) terminal.line(`  answer it: comity answer ${task.taskId} "…"`)
  }
  // What a server handed back is shown below, as the result of the call.
  for (const artifact of task.resultText === undefined ? task.artifacts : []) {
    const state = [
      artifact.complete ? undefined : 'incomplete',
      artifact.headless ? 'its beginning never came' : undefined,
    ].filter((part) => part !== undefined)
    terminal.line(
      `  artifact:  ${visible(artifact.name ?? artifact.artifactId)} (${artifact.mediaType ?? 'no media type'}, ${artifact.bytes} bytes${state.length === 0 ? '' : `, ${state.join(', ')}`})`,
    )
  }
  if (task.resultText !== undefined) {
    terminal.line('  result:')
    showResult(terminal, task.resultText)
  }
  if (task.of === 'agent') terminal.line(`  verdict:   ${sayVerdict(task)}`)
  if (task.expiresAt !== undefined) terminal.line(`  readable:  until ${task.expiresAt}`)
  terminal.line(`  record:    comity explain ${task.taskId}`)
}

/** A task's verdict in words; completed and accepted are two judgments. */
export function sayVerdict({ state, next, verdict }: TaskReport): string {
  switch (verdict.state) {
    case 'accepted':
      return `accepted (${verdict.checks.join('; ')})`
    case 'refused':
      return `refused: ${verdict.reasons.map((reason) => visible(reason)).join('; ')}`
    case 'pending':
      return 'pending: the delivery is being judged'
    case 'not_judged':
      if (next !== 'nobody') return 'none yet'
      return state === 'completed'
        ? 'not_judged: no criteria were given'
        : 'not_judged: nothing was handed over to be judged'
  }
}

async function listTasks(
  session: Session,
  options: TasksOptions,
  terminal: Terminal,
): Promise<number> {
  const found = await interruptible(terminal, (live) =>
    session.operator.tasks({ all: options.all === true }, live),
  )
  if (terminal.json) {
    terminal.answer(found)
    return EXIT.done
  }
  if (found.length === 0)
    terminal.line(options.all === true ? 'no tasks' : 'no open tasks (--all shows ended ones)')
  terminal.table(
    ['task', 'at', 'state', 'next', 'verdict', 'asked'],
    found.map((task) => [
      task.taskId,
      placeOf(task),
      task.state,
      moverOf(task),
      task.verdict.state,
      brief(task.title, 60),
    ]),
  )
  return EXIT.done
}

/** The agent, or the server and its tool. */
function placeOf({ of, peer, capability }: TaskReport): string {
  return of === 'agent' || capability === undefined ? peer : `${peer}/${visible(capability)}`
}

/** Whose move is next; the one who works on a tool's call is its server. */
function moverOf({ next, of }: TaskReport): string {
  return next === 'agent' && of === 'tool' ? 'server' : next
}

async function saveArtifacts(
  session: Session,
  terminal: Terminal,
  task: TaskReport,
  folder: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [index, record] of task.artifacts.entries()) {
    const { base64 } = await interruptible(terminal, (live) =>
      session.operator.artifact({ taskId: task.taskId, artifactId: record.artifactId }, live),
    )
    // An artifact's name is a label, never a path of ours.
    const label = basename(record.name ?? `artifact-${index + 1}`).replace(
      /[^\p{L}\p{N}._-]/gu,
      '_',
    )
    const file = join(folder, /^\.*$/u.test(label) ? `artifact-${index + 1}` : label)
    writeFileSync(file, Buffer.from(base64, 'base64'), { flag: 'wx' })
    terminal.note(`saved ${file}`)
  }
}

function saidOf(confirmed: string): string {
  if (confirmed === 'stopped') return 'confirmed stopped'
  return confirmed === 'already_ended' ? 'had already ended' : 'asked to stop, unconfirmed'
}

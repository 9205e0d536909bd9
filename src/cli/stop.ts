/** `comity stop`: asks the process that owns the store to end, waits for it, and says what was still running. */
import { createSocketOperator, ownerAt } from '../gateway/admin/call-socket.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import type { StopReport } from '../gateway/admin/operator.ts'
import { OWNER_WORDS } from '../gateway/admin/owner.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { configOf, controlSocketOf, interruptible } from './session.ts'
import type { Terminal } from './terminal.ts'
import { countOf } from './words.ts'

export interface StopOptions extends CommonOptions {
  readonly now?: boolean
}

/** Longer than running calls may take to answer. */
const END_MS = 40_000
const LOOK_AGAIN_MS = 30

export async function stop(options: StopOptions, terminal: Terminal): Promise<number> {
  const config = configOf(options.config)
  const socket = controlSocketOf(config)
  if ((await ownerAt(socket)) === undefined) {
    if (terminal.json) terminal.answer({ stopped: false })
    else terminal.line(`no process owns ${config.store}: there is nothing to stop`)
    return EXIT.done
  }
  const now = options.now === true
  const asked = await interruptible(
    terminal,
    (live) => createSocketOperator(socket).endProcess({ now }, live),
    'wait',
  )
  if (!terminal.json) sayAsked(terminal, asked, now)
  await untilGone(asked.pid)
  if (terminal.json) terminal.answer({ stopped: true, ...asked })
  else terminal.line(`process ${asked.pid} has ended`)
  return EXIT.done
}

function sayAsked(terminal: Terminal, asked: StopReport, now: boolean): void {
  terminal.line(`process ${asked.pid} (${OWNER_WORDS[asked.kind]}) is asked to end`)
  if (asked.acts > 0)
    terminal.line(
      now
        ? `  ${countOf(asked.acts, 'call')} broken off: unknown to the callers (comity ledger)`
        : `  ${countOf(asked.acts, 'running call')} may answer first, for a few seconds`,
    )
  if (asked.pipes > 0)
    terminal.line(
      `  ${countOf(asked.pipes, 'stdio host')} connected: the next thing one of them asks starts a new process`,
    )
  if (asked.openTasks > 0)
    terminal.line(
      `  ${countOf(asked.openTasks, 'open task')}: the work goes on at the agent, and is followed by the next process`,
    )
}

async function untilGone(pid: number): Promise<void> {
  const begun = performance.now()
  while (isAlive(pid)) {
    if (performance.now() - begun > END_MS)
      throw new ComityError(
        'internal',
        `process ${pid} was asked to end and is still there after ${END_MS / 1000} s; comity stop --now, or kill ${pid}`,
      )
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

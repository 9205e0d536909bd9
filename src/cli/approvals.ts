/** `comity approvals`, `approve`, `deny`: a person looks at one exact call and decides it. */
import type { Approval } from '../gateway/admin/operator.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
import { type Terminal, brief, visible } from './terminal.ts'

export interface ApprovalsOptions extends CommonOptions {
  readonly all?: boolean
}

export async function approvals(options: ApprovalsOptions, terminal: Terminal): Promise<number> {
  const session = await openSession({ ...options, peers: 'none' })
  try {
    const found = await interruptible(terminal, (live) =>
      session.operator.approvals({ all: options.all === true }, live),
    )
    if (terminal.json) terminal.answer(found)
    else if (found.length === 0) terminal.line('nothing waits for approval')
    else for (const approval of found) showApproval(terminal, approval)
    return EXIT.done
  } finally {
    await session.close()
  }
}

export async function decide(
  options: CommonOptions,
  terminal: Terminal,
  id: string,
  decision: 'approved' | 'denied',
): Promise<number> {
  requireTerminal(decision === 'approved' ? 'an approval' : 'a denial')
  const session = await openSession({ ...options, peers: 'none' })
  try {
    const approval = await interruptible(terminal, (live) =>
      session.operator.decideApproval({ id, decision }, live),
    )
    if (terminal.json) terminal.answer(approval)
    else {
      showApproval(terminal, approval)
      terminal.line(
        decision === 'approved'
          ? `the very same call passes once, until ${approval.expiresAt}`
          : 'the call is refused',
      )
    }
    return EXIT.done
  } finally {
    await session.close()
  }
}

/**
 * A decision is a person's: it is taken from a terminal, not from a pipe.
 *
 * @throws ComityError `not_allowed`
 */
export function requireTerminal(what: string): void {
  if (!process.stdin.isTTY) {
    throw new ComityError(
      'not_allowed',
      `${what} is given by a person at a terminal; standard input is none`,
    )
  }
}

function showApproval(terminal: Terminal, approval: Approval): void {
  terminal.line(`${approval.id}  ${approval.state}  until ${approval.expiresAt}`)
  terminal.line(`  target:    ${visible(approval.peer)}/${visible(approval.capability)}`)
  terminal.line(`  asked by:  ${visible(approval.principal)} at ${approval.askedAt}`)
  terminal.line(
    `  risk:      ${approval.risk}, by ${visible(approval.rule)}${approval.risk === 'destructive' ? '; cannot be taken back' : ''}`,
  )
  terminal.line(`  arguments: ${visible(approval.argumentsText)}`)
  terminal.line(`  the peer's own words about it: ${brief(approval.theirWords, 400)}`)
}

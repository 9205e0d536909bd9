/** `comity promote`: the canary's revision is everyone's from the next call on. */
import type { Operator } from '../gateway/admin/operator.ts'
import { sayShare } from '../gateway/config/share.ts'
import type { MigrationChange } from '../gateway/migration/words.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
import type { Terminal } from './terminal.ts'

export function promote(options: CommonOptions, terminal: Terminal, peer: string): Promise<number> {
  return decide('promote', options, terminal, peer)
}

/** @param verb which of the two decisions. */
export async function decide(
  verb: 'promote' | 'rollback',
  options: CommonOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  // Nothing is started for it: it is a word on record, and a process that is up hears it at once.
  const session = await openSession({ ...options, peers: 'none' })
  try {
    const operator: Operator = session.operator
    const change = await interruptible(terminal, (live) => operator[verb]({ peer }, live))
    if (terminal.json) terminal.answer(change)
    else show(terminal, change, session.shared)
    return EXIT.done
  } finally {
    await session.close()
  }
}

function show(terminal: Terminal, change: MigrationChange, isUp: boolean): void {
  const { peer, decided, already, at, by, from, to, share, permanent } = change
  const what = decided === 'promoted' ? `promoted to ${to}` : `rolled back to ${from}`
  terminal.line(
    already
      ? `${peer} was ${what} before, at ${at} by ${by}: nothing changed`
      : `${peer} is ${what}: ${to} was for ${sayShare(share.before)} of its callers, from now on it is for ${sayShare(share.after)}`,
  )
  if (!already) {
    terminal.line(
      isUp
        ? '  in force from the next call on; calls under way end where they began, and sessions of callers at the server begin anew'
        : '  on record; in force when a process is up',
    )
    if (decided === 'promoted')
      terminal.line(
        `  its lists are those of ${to} now: comity pins shows definitions that changed, which wait for you`,
      )
  }
  terminal.line(`  to make it permanent, in ${permanent.file}:`)
  terminal.line(`    mcpServers.${peer}: revision: "${permanent.revision}" and no canary:`)
  terminal.line(
    `  ${decided === 'promoted' ? `comity rollback ${peer} takes everyone back` : `comity promote ${peer} moves everyone after all`}; another share in the file is another canary`,
  )
}

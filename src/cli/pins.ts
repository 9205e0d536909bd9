/** `comity pins`: definitions that changed since they were accepted, with the difference; `accept` takes the new ones. */
import type { Operator } from '../gateway/admin/operator.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import { requireTerminal } from './approvals.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
import { type Terminal, visible } from './terminal.ts'

export async function pins(
  options: CommonOptions,
  terminal: Terminal,
  verb?: string,
  peer?: string,
  name?: string,
): Promise<number> {
  if (verb !== undefined && (verb !== 'accept' || peer === undefined)) {
    throw new ComityError('usage', 'expected: comity pins, or comity pins accept <peer> [name]')
  }
  if (verb === 'accept') requireTerminal('accepting a changed definition')
  // Peers are asked, so that what is shown and accepted is what they say now.
  const session = await openSession({ ...options, peers: peer === undefined ? 'all' : [peer] })
  try {
    if (verb === 'accept' && peer !== undefined) {
      const { accepted } = await interruptible(terminal, (live) =>
        session.operator.acceptPins({ peer, ...(name === undefined ? {} : { name }) }, live),
      )
      if (terminal.json) terminal.answer({ accepted })
      else
        terminal.line(
          `accepted ${accepted} changed definition${accepted === 1 ? '' : 's'} of ${peer}`,
        )
      return EXIT.done
    }
    return await showChanges(
      terminal,
      await interruptible(terminal, (live) => session.operator.pins({}, live)),
    )
  } finally {
    await session.close()
  }
}

type Changes = Awaited<ReturnType<Operator['pins']>>

async function showChanges(terminal: Terminal, changes: Changes): Promise<number> {
  if (terminal.json) {
    terminal.answer(changes)
    return EXIT.done
  }
  if (changes.length === 0) terminal.line('no definition changed since it was accepted')
  for (const change of changes) {
    terminal.line(
      `${visible(change.peer)}/${visible(change.name)} (${change.kind}): changed (${change.class}), seen ${change.seenAt}`,
    )
    for (const line of change.lines) terminal.line(`  ${line}`)
    terminal.line(`  accept it: comity pins accept ${change.peer} ${JSON.stringify(change.name)}`)
  }
  return EXIT.done
}

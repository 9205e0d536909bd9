/** `comity restart <peer>`: starts a peer anew that is left alone after failures. */
import { ComityError } from '../gateway/admin/errors.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
import type { Terminal } from './terminal.ts'

export async function restart(
  options: CommonOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  const session = await openSession({ ...options, peers: 'none' })
  try {
    if (!session.shared)
      throw new ComityError(
        'conflict',
        'no process is up: a peer is started when it is used, there is nothing to restart',
      )
    const done = await interruptible(terminal, (live) => session.operator.restart({ peer }, live))
    if (terminal.json) terminal.answer(done)
    else terminal.line(`${done.peer} is started anew; comity ls ${done.peer} shows it`)
    return EXIT.done
  } finally {
    await session.close()
  }
}

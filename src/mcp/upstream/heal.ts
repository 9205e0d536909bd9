/**
 * What is done on a connection, done once more on a new one where the first was of no use: when
 * nothing was sent, and, for what has no effects, when the server said that it lost the session.
 *
 * An act is never sent again after that: servers are known to find out about the session afterwards.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { abortable } from './abortable.ts'
import type { CancelSignal } from './cancel.ts'
import type { Connection } from './connection.ts'
import { LinkFailure } from './link.ts'
import type { Session } from './session.ts'

export interface HealOptions {
  /** Ends the waiting for a connection. */
  readonly signal?: CancelSignal
  /** It may have effects. Default false. */
  readonly act?: boolean
}

/** @param run rejects, and throws nothing at once. @throws what `run` throws, and LinkFailure when there is no connection. */
export function onSession<T>(
  connection: Connection<Session>,
  run: (session: Session) => Promise<T>,
  { signal, act = false }: HealOptions = {},
): Promise<T> {
  // Nothing is waited for where nothing need be.
  const current = connection.current()
  const first = current === undefined ? reach(connection, signal).then(run) : run(current)
  return first.catch(async (error: unknown) => {
    if (!(error instanceof LinkFailure) || !mayRepeat(error, act)) throw error
    // The keeper of the connection hears of the end by itself.
    await turn()
    return run(await reach(connection, signal))
  })
}

function reach(
  connection: Connection<Session>,
  signal: CancelSignal | undefined,
): Promise<Session> {
  return signal === undefined ? connection.get() : abortable(connection.get(), signal)
}

function mayRepeat({ reason, sent, sessionLost }: LinkFailure, act: boolean): boolean {
  return (reason === 'broken' && !sent) || (sessionLost && !act)
}

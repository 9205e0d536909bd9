/** Comes by an open pipe: through whoever owns the store, else through a process that is started for it. Bounded. */
import { setTimeout as delay } from 'node:timers/promises'
import { ComityError } from '../../core/words/errors.ts'
import { type Reached, reachOwner } from './reach-owner.ts'
import type { OwnerCommand } from './start-owner.ts'

export interface OwnerPlace {
  readonly socketPath: string
  readonly command: OwnerCommand
  /**
   * Asked before a process is started: the configuration as its owner will read it.
   *
   * @throws ComityError `config_invalid` with every mistake, said to the one who can mend them.
   */
  check(): Promise<void>
}

export type OpenPipe = Extract<Reached, { readonly kind: 'open' }>

/** In all, for one way to an owner. */
const PATIENCE_MS = 30_000
/** How long one that was announced is waited for before a process is started in its place. */
const TAKEOVER_MS = 15_000
const LOOK_AGAIN_MS = 20
/** A start that lost the race is not repeated sooner. */
const START_AGAIN_MS = 250

/**
 * What to do when nobody is there: start a process; give one time that said it takes the store over; nothing, for what was
 * stopped by hand is begun again when it is needed.
 */
export type Absent = 'start' | 'await' | 'leave'

/** @throws ComityError what the owner or the started process says; `store_locked` when the store stays in others' use. */
export async function findOwner(place: OwnerPlace, absent: Absent): Promise<OpenPipe> {
  const begun = performance.now()
  let startAfter = absent === 'await' ? begun + TAKEOVER_MS : begun
  let problem = new ComityError('internal', 'the process that owns the store was not reached')
  for (;;) {
    const reached = await reachOwner(place.socketPath, place.command.configFile)
    if (reached.kind === 'open') return reached
    if (reached.kind === 'refused') throw reached.error
    if (reached.kind === 'wait') problem = new ComityError('internal', reached.message)
    if (absent === 'leave') throw problem
    const now = performance.now()
    if (now - begun > PATIENCE_MS) throw problem
    if (reached.kind === 'none' && now >= startAfter) {
      const failed = await start(place)
      if (failed !== undefined) problem = failed
      startAfter = performance.now() + START_AGAIN_MS
      continue
    }
    await delay(LOOK_AGAIN_MS)
  }
}

/** @returns why it does not own the store, when another process does. */
async function start(place: OwnerPlace): Promise<ComityError | undefined> {
  await place.check()
  // Most hosts find a process: what starts one is loaded by those that do not.
  const { logFileOf, startOwner } = await import('./start-owner.ts')
  const report = await startOwner(place.command)
  if (report === undefined) {
    const log = logFileOf(place.command.storeFile)
    throw new ComityError('internal', `the background process ended as it began; see ${log}`)
  }
  if ('ready' in report) return undefined
  const error = new ComityError(report.error.code, report.error.message)
  // Another was first, or a command owns the store for a moment.
  if (error.code !== 'store_locked') throw error
  return error
}

/** What a host knows of its own process: how it came to be, which calls run in it, whether its configuration still is the file's. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Begin, Delegate, Dispatch } from '../../core/ports/doors.ts'
import { type Owner, type OwnerOptions, OWNER_WORDS } from '../admin/owner.ts'
import { type Arrival, createPipeDesk, type PipeDesk } from './pipe-desk.ts'
import type { PipeRefusal } from './wire.ts'

/** The calls of a host, and how many of them run. */
export interface CountedActs {
  readonly dispatch: Dispatch
  readonly delegate: Delegate
  readonly begin: Begin
  running(): number
}

/** Counts what runs; a delegation runs until its first answer has come, whoever waits for it. */
export function countActs(acts: {
  readonly dispatch: Dispatch
  readonly delegate: Delegate
  readonly begin: Begin
}): CountedActs {
  let running = 0
  const ended = (): void => {
    running -= 1
  }
  const counted = <T>(work: Promise<T>): Promise<T> => {
    running += 1
    // Beside the work, not around it: who waits for it waits for nothing else.
    work.then(ended, ended)
    return work
  }
  return {
    running: () => running,
    dispatch: (call, exchange) => counted(acts.dispatch(call, exchange)),
    delegate: async (call, exchange) => {
      const delegated = await counted(acts.delegate(call, exchange))
      counted(delegated.reply).catch(() => undefined)
      return delegated
    },
    begin: async (call, exchange) => {
      const begun = await counted(acts.begin(call, exchange))
      counted(begun.reply).catch(() => undefined)
      return begun
    },
  }
}

/** A process that serves pipes where its kind does. */
export interface OwnProcess {
  readonly owner: Owner
  readonly pipes: PipeDesk
}

export interface OwnProcessFacts {
  readonly configFile: string
  readonly socket?: string
  /** Milliseconds since the epoch. */
  readonly since: number
  readonly recovered: number
  readonly acts: () => number
  /** Asked of each pipe that would be served. */
  readonly arrive?: (owner: Owner) => Arrival
}

/** @param options what the one who opens the host says. */
export function createOwnProcess(options: OwnerOptions, facts: OwnProcessFacts): OwnProcess {
  const asRead = digestOf(facts.configFile)
  const serves = options.kind === 'up' || options.kind === 'shared'
  const owner: Owner = {
    ...options,
    since: facts.since,
    ...(facts.socket === undefined ? {} : { socket: facts.socket }),
    recovered: facts.recovered,
    pipes: () => pipes.count(),
    acts: facts.acts,
    configChanged: () => digestOf(facts.configFile) !== asRead,
  }
  const pipes = createPipeDesk({
    configFile: facts.configFile,
    ...(serves ? {} : { notHere: refusalOf(options) }),
    arrive: () => facts.arrive?.(owner) ?? { serve: true },
  })
  return { owner, pipes }
}

function refusalOf({ kind }: OwnerOptions): PipeRefusal {
  const message =
    `the store is in use by process ${process.pid}, which is ${OWNER_WORDS[kind]} and serves no other host: ` +
    'end it, let every host start comity mcp (without --standalone), or name another store'
  // A command is over in a moment; the others are not.
  return { code: 'store_locked', message, wait: kind === 'command' }
}

function digestOf(file: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return undefined
  }
}

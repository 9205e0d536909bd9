/** `comity ledger` and `settle`: the record, its check, and closing by hand what nobody else can know. */
import { userInfo } from 'node:os'
import { ownerAt } from '../gateway/admin/call-socket.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import type { EntryLine, LedgerReport } from '../gateway/admin/operator.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { configOf, controlSocketOf, interruptible, openSession } from './session.ts'
import { type Terminal, brief } from './terminal.ts'

export interface LedgerOptions extends CommonOptions {
  readonly limit: string
  readonly verify?: boolean
}

export async function ledger(
  options: LedgerOptions,
  terminal: Terminal,
  id?: string,
): Promise<number> {
  const input: LedgerInput = {
    limit: Math.max(1, Number.parseInt(options.limit, 10) || 40),
    ...(id === undefined ? {} : { id }),
    verify: options.verify === true,
  }
  const report = (await readUnowned(options, input)) ?? (await askOwner(options, terminal, input))
  if (terminal.json) terminal.answer(report)
  else {
    showEntries(terminal, report.entries)
    if (report.verified !== undefined) showVerified(terminal, report.verified)
  }
  return report.verified?.ok === false ? EXIT.failed : EXIT.done
}

interface LedgerInput {
  readonly limit: number
  readonly id?: string
  readonly verify: boolean
}

/** A store that nobody owns is checked as it lies: to own it would make anew what a check finds missing. */
async function readUnowned(
  options: LedgerOptions,
  input: LedgerInput,
): Promise<LedgerReport | undefined> {
  if (!input.verify) return undefined
  const config = configOf(options.config)
  if ((await ownerAt(controlSocketOf(config))) !== undefined) return undefined
  const { readLedgerOf } = await import('../gateway/admin/record.ts')
  try {
    return await readLedgerOf(config.store, input)
  } catch (error) {
    if (error instanceof ComityError && error.code === 'not_found') return undefined
    throw error
  }
}

async function askOwner(
  options: LedgerOptions,
  terminal: Terminal,
  input: LedgerInput,
): Promise<LedgerReport> {
  const session = await openSession({ ...options, peers: 'none' })
  try {
    return await interruptible(terminal, (live) => session.operator.ledger(input, live))
  } finally {
    await session.close()
  }
}

function showVerified(
  terminal: Terminal,
  { ok, entries, firstBad, detail, checkpoints }: NonNullable<LedgerReport['verified']>,
): void {
  if (checkpoints === undefined) {
    terminal.line(
      ok
        ? `chain verified: ${entries} entries`
        : `CHAIN BROKEN at entry ${firstBad ?? '?'}: ${detail ?? ''}`,
    )
    return
  }
  terminal.line(`chain verified: ${entries} entries`)
  const { state, count, newest, key, notes } = checkpoints
  if (state === 'proven') {
    terminal.line(
      `checkpoints verified: ${count}, the newest of entry ${newest?.seq ?? '?'}, ${newest?.at ?? ''}; key ${key ?? ''}`,
    )
  }
  if (state === 'unproven') terminal.line('CHECKPOINTS NOT PROVEN:')
  for (const note of notes) terminal.line(`  ${note}`)
}

/** Entries as a table, oldest first. */
export function showEntries(terminal: Terminal, entries: readonly EntryLine[]): void {
  terminal.table(
    ['seq', 'at', 'entry', 'of', 'facts'],
    entries.map((entry) => [
      String(entry.seq),
      entry.at,
      entry.kind,
      entry.callId ?? entry.taskId ?? '',
      brief(factsOf(entry), 110),
    ]),
  )
}

export interface SettleOptions extends CommonOptions {
  readonly as: 'ran' | 'did-not-run'
  readonly note?: string
}

export async function settle(
  options: SettleOptions,
  terminal: Terminal,
  callId: string,
): Promise<number> {
  const session = await openSession({ ...options, peers: 'none' })
  try {
    const note = `${userInfo().username}${options.note === undefined ? '' : `: ${options.note}`}`
    const done = await interruptible(terminal, (live) =>
      session.operator.settle(
        { callId, as: options.as === 'ran' ? 'ran' : 'did_not_run', note },
        live,
      ),
    )
    if (terminal.json) terminal.answer(done)
    else
      terminal.line(
        `${done.callId} is settled by hand: ${done.settled}. An equal call is sent again from now on.`,
      )
    return EXIT.done
  } finally {
    await session.close()
  }
}

function factsOf(entry: EntryLine): string {
  return Object.entries(entry.facts)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}

/** `comity ledger` and `settle`: the record, its check, and closing by hand what nobody else can know. */
import { userInfo } from 'node:os'
import type { EntryLine } from '../gateway/admin/operator.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { interruptible, openSession } from './session.ts'
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
  const session = await openSession({ ...options, peers: 'none' })
  try {
    const report = await interruptible(terminal, (live) =>
      session.operator.ledger(
        {
          limit: Math.max(1, Number.parseInt(options.limit, 10) || 40),
          ...(id === undefined ? {} : { id }),
          verify: options.verify === true,
        },
        live,
      ),
    )
    if (terminal.json) terminal.answer(report)
    else {
      showEntries(terminal, report.entries)
      if (report.verified !== undefined) {
        terminal.line(
          report.verified.ok
            ? `chain verified: ${report.verified.entries} entries`
            : `CHAIN BROKEN at entry ${report.verified.firstBad ?? '?'}: ${report.verified.detail ?? ''}`,
        )
      }
    }
    return report.verified?.ok === false ? EXIT.failed : EXIT.done
  } finally {
    await session.close()
  }
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

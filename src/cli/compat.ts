/** `comity compat`: what would be different for callers of a server at another revision. */
import { ComityError } from '../gateway/admin/errors.ts'
import type { CompatReport } from '../gateway/migration/words.ts'
import { EXIT, exitOfError } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { deprecatedLines, sayMs, sayOffer } from './say-migration.ts'
import { interruptible, openSession } from './session.ts'
import { type Terminal, brief, visible } from './terminal.ts'
import { countOf } from './words.ts'

export interface CompatOptions {
  readonly from?: string
  readonly to?: string
  readonly calls?: string
}

/** What a script can go by: 0 the same, 1 different, 2 could not. */
const EXITS = { same: EXIT.done, different: EXIT.failed, could_not: EXIT.usage } as const

export async function compat(
  options: CompatOptions & CommonOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  try {
    const report = await ask(options, terminal, peer)
    if (terminal.json) terminal.answer(report)
    else show(terminal, report)
    return EXITS[report.verdict]
  } catch (error) {
    // 1 says that they differ: whatever kept this from looking must not say so.
    if (!(error instanceof ComityError) || exitOfError(error.code) !== EXIT.failed) throw error
    terminal.note(`comity: ${error.message}`)
    return EXITS.could_not
  }
}

async function ask(
  { from, to, calls, ...options }: CompatOptions & CommonOptions,
  terminal: Terminal,
  peer: string,
): Promise<CompatReport> {
  const wanted = calls === undefined ? undefined : countFrom(calls)
  const session = await openSession({ ...options, peers: [peer] })
  try {
    return await interruptible(terminal, (live) =>
      session.operator.compat(
        {
          peer,
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          ...(wanted === undefined ? {} : { calls: wanted }),
        },
        live,
      ),
    )
  } finally {
    await session.close()
  }
}

function countFrom(text: string): number {
  if (/^\d{1,3}$/u.test(text) && Number(text) <= 500) return Number(text)
  throw new ComityError('usage', `--calls expects a number from 0 to 500, got ${brief(text, 40)}`)
}

function show(terminal: Terminal, report: CompatReport): void {
  const { from, to } = report
  terminal.line(`${report.peer}: ${from.revision} beside ${to.revision}`)
  for (const side of [from, to]) {
    const itself =
      side.callsItself === undefined ? '' : `calls itself ${brief(side.callsItself, 60)}`
    const median = side.medianMs === undefined ? '' : `, median ${sayMs(side.medianMs)} a call`
    terminal.line(
      side.problem === undefined
        ? `  ${side.revision}  reached${itself === '' ? '' : ` (${itself})`}${median}`
        : `  ${side.revision}  not reached: ${brief(side.problem, 600)}`,
    )
  }
  if (report.verdict !== 'could_not') {
    showClaims(terminal, report)
    showOffers(terminal, report)
    showCalls(terminal, report)
  }
  for (const line of deprecatedLines(report.deprecated)) terminal.line(`  ${line}`)
  terminal.line(sayVerdict(report))
}

function showClaims(terminal: Terminal, { claims, from, to }: CompatReport): void {
  terminal.line(
    `  declares  ${claims.length === 0 ? 'the same' : countOf(claims.length, 'difference')}`,
  )
  for (const claim of claims) {
    const side = (revision: string, said: string | undefined): string =>
      `${revision} ${said === undefined ? 'does not' : brief(said, 80)}`
    const why = claim.ofRevision === undefined ? '' : ` (by the revision: ${claim.ofRevision})`
    terminal.line(
      `    ${brief(claim.name, 80)}: ${side(from.revision, claim.from)}, ${side(to.revision, claim.to)}${why}`,
    )
  }
}

function showOffers(terminal: Terminal, { offers }: CompatReport): void {
  const { same, different } = offers
  terminal.line(
    `  offers    ${same} the same${different.length === 0 ? '' : `, ${different.length} not`}`,
  )
  for (const one of different) {
    terminal.line(`    ${sayOffer(one)}`)
    for (const line of one.lines.slice(0, 40)) terminal.line(`      ${visible(line)}`)
  }
}

function showCalls(terminal: Terminal, { calls, from }: CompatReport): void {
  const { found, replayed, same, different, left, unsteady } = calls
  terminal.line(
    found === 0
      ? '  calls     none on record that only read and can be made again'
      : `  calls     ${replayed} of ${countOf(found, 'recorded read')} made on both: ${same} the same${different.length === 0 ? '' : `, ${different.length} not`}`,
  )
  for (const one of different) {
    terminal.line(`    ${one.kind} ${brief(one.capability, 80)}: ${sayEnds(one)}`)
    for (const place of one.places.slice(0, 10))
      terminal.line(`      differs at ${brief(place, 200)}`)
    terminal.line(`      comity explain ${one.callIds.from}, comity explain ${one.callIds.to}`)
  }
  for (const { reason, count } of left)
    terminal.line(`    ${countOf(count, 'call')} not: ${brief(reason, 300)}`)
  if (unsteady > 0)
    terminal.line(
      `    not compared: ${countOf(unsteady, 'place')} where ${from.revision} alone differs from call to call (times, counters)`,
    )
}

function sayEnds({ from, to }: CompatReport['calls']['different'][number]): string {
  return from === to ? visible(from) : `${brief(from, 200)} → ${brief(to, 200)}`
}

function sayVerdict({ verdict, peer, from, to, calls }: CompatReport): string {
  switch (verdict) {
    case 'could_not':
      return 'could not compare them'
    case 'different':
      return `different: a canary would call on ${from.revision} what differs; comity pins holds a changed definition back from callers once ${to.revision} is everyone's`
    case 'same': {
      const shown = calls.replayed === 0 ? ', as far as it says itself: no call was compared' : ''
      return `the same${shown}. Next: canary: { revision: "${to.revision}", share: 5% } under mcpServers.${peer}, or comity promote ${peer} where one runs`
    }
  }
}

/** `docs/guides/compatibility.md`, made from a run. */
import { tableOf, type Cell } from './cells.ts'
import type { PairTables } from './pairs.ts'

export interface Runs {
  readonly doors: readonly Cell[]
  readonly peers: readonly Cell[]
  readonly pairs: PairTables
}

const PAIRS = {
  call: 'A call',
  elicitation: 'A question to the user (a form), asked by the peer while its tool runs',
  cancel: 'A cancellation, seen by the peer',
  task: 'Long work, as its caller can bear it: a task of the caller’s revision, or a call that is waited for',
  deny: 'The rules decide the same',
} as const satisfies Record<keyof PairTables, string>

/** The page without its date: what a run must say again. */
export function sayGuide({ doors, peers, pairs }: Runs): string {
  const sections = Object.entries(PAIRS).map(
    ([table, title]) => `### ${title}\n\n${tableOf('', pairs[table as keyof PairTables])}`,
  )
  return [
    '## Callers: each door against the core',
    tableOf('caller', doors),
    '## Peers: each against the core',
    tableOf('peer', peers),
    '## Pairs: every caller with every peer, through a whole gateway',
    ...sections,
    '',
  ].join('\n\n')
}

/** The whole page. @param date as `2026-11-30`. */
export function makePage(runs: Runs, date: string): string {
  return [
    '# Which revisions work together',
    'Written by `npm run compatibility` from a run of `test/compatibility`, where callers and peers of every revision are',
    'written by hand from the specifications; a test holds this page and a new run together. A cell says `works`, or that it is',
    'impossible and why: then the call still ends with an answer that says so.',
    '',
    `Last written ${date}.`,
    '',
    sayGuide(runs),
  ].join('\n')
}

/** How a peer stands between two revisions, and which deprecated features it uses, as lines for people. Pure. */
import type { DeprecatedUse, MigrationReport, OfferDifference } from '../gateway/migration/words.ts'
import { brief, visible } from './terminal.ts'
import { countOf } from './words.ts'

type Counts = MigrationReport['from']

/** Both revisions with what was counted, and what somebody has to know. */
export function migrationLines(peer: string, report: MigrationReport): readonly string[] {
  const { from, to, decision, suspended, unlisted, differences } = report
  const held = [
    report.fellBack === 0
      ? undefined
      : `${countOf(report.fellBack, 'call')} fell back to ${from.revision} unsent (${countOf(report.heldBack, 'caller')} stay there)`,
    report.kept === 0
      ? undefined
      : `${countOf(report.kept, 'call')} kept on ${from.revision}: what they call differs`,
    report.faults === 0 ? undefined : `${countOf(report.faults, 'fault')} of ${to.revision}`,
  ].filter((part) => part !== undefined)
  return [
    `revisions: ${sayCounts(from)}; ${sayCounts(to)}`,
    ...(decision === undefined ? [] : [sayDecision(decision, report)]),
    ...(held.length === 0 ? [] : [held.join('; ')]),
    ...(suspended === undefined
      ? []
      : [
          `${to.revision} is suspended, everyone is served by ${from.revision}: ${brief(suspended, 600)} (comity restart ${peer} tries it again, comity rollback ${peer} gives it up)`,
        ]),
    ...(suspended !== undefined || unlisted === undefined
      ? []
      : [`${to.revision} could not be listed: ${brief(unlisted, 400)}`]),
    ...(differences.length === 0
      ? []
      : [
          `${countOf(differences.length, 'difference')} between what they offer: ${differences.slice(0, 5).map(sayOffer).join(', ')}${differences.length > 5 ? ', …' : ''} (comity compat ${peer})`,
        ]),
  ]
}

function sayCounts({ revision, share, calls, errors, toolErrors, medianMs }: Counts): string {
  const said = [
    countOf(calls, 'call'),
    errors === 0 ? undefined : countOf(errors, 'error'),
    toolErrors === 0 ? undefined : countOf(toolErrors, 'tool error'),
    medianMs === undefined ? undefined : `p50 ${sayMs(medianMs)}`,
  ].filter((part) => part !== undefined)
  return `${revision} for ${Math.round(share * 10_000) / 100}% of callers (${said.join(', ')})`
}

function sayDecision(
  { decided, at, by }: NonNullable<MigrationReport['decision']>,
  { from, to }: MigrationReport,
): string {
  return decided === 'promoted'
    ? `promoted to ${to.revision} at ${at} by ${visible(by)}; to make it permanent: revision: "${to.revision}" in place of canary:`
    : `rolled back to ${from.revision} at ${at} by ${visible(by)}; to make it permanent: revision: "${from.revision}" and no canary:`
}

/** One difference, in a few words. */
export function sayOffer({ kind, name, change }: OfferDifference): string {
  return `${kind}${name === '' ? '' : ` ${brief(name, 60)}`} ${change}`
}

/** Milliseconds as people say them. */
export function sayMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

/** One line a feature: what, how often, since when, until when, what instead. */
export function deprecatedLines(uses: readonly DeprecatedUse[]): readonly string[] {
  return uses.map(({ feature, state, since, removal, instead, count, where }) => {
    const seen = `${count.toLocaleString('en')} ×${where === '' ? '' : `, last by ${brief(where, 60)}`}`
    const until =
      state === 'gone' ? `gone in ${since}` : `deprecated since ${since}, goes ${removal}`
    return `${state === 'gone' ? 'old' : 'deprecated'} in use: ${feature} (${seen}): ${until}; instead: ${instead}`
  })
}

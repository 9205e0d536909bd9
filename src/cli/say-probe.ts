/** A probe's report for people: what it is first, then faults, the worst first, each with the way out. */
import type { ProbeReport } from '../gateway/admin/probe.ts'
import { brief, type Terminal, visible } from './terminal.ts'
import { countOf } from './words.ts'

type Finding = ProbeReport['findings'][number]
type Verdict = ProbeReport['models']['verdicts'][number]

const SIGNS = { error: '✗', warning: '!', advice: '·' } as const
const TRANSPORTS = { stdio: 'stdio', http: 'Streamable HTTP', 'http+sse': 'HTTP+SSE' } as const
/** Places of one rule, and tools of one API, that are told one by one. */
const MOST_PLACES = 4
const LABEL = 12
const HINT =
  '\na call whose arguments and result are known beforehand is a tool, however long it takes and whatever answers it; an agent is for work in which the other side asks back and decides'

/** Prints it. */
export function showProbe(terminal: Terminal, report: ProbeReport): void {
  const { target, callsItself, reached } = report
  const at = `${target.peer === undefined ? '' : `${target.peer}: `}${visible(target.at)}`
  if (!reached) {
    terminal.line(`✗ ${at}: ${visible(report.unreachable ?? 'not reached')}`)
    showRevisions(terminal, report)
    return
  }
  if (report.card !== undefined) return showCard(terminal, at, report.card)
  const { name, version, title } = callsItself
  const itself = [name, version].filter((one) => one !== undefined).join(' ')
  const named = title === undefined || title === name ? itself : `${itself} (${title})`
  terminal.line(`${at}${itself === '' ? '' : `: calls itself ${brief(named, 120)}`}`)
  showRevisions(terminal, report)
  showOffers(terminal, report)
  showAuth(terminal, report)
  showModels(terminal, report)
  for (const skipped of report.skipped) say(terminal, 'not seen', visible(skipped))
  showFindings(terminal, report)
}

/** The four things a card answers, and what is wrong with it. */
function showCard(terminal: Terminal, at: string, card: NonNullable<ProbeReport['card']>): void {
  const { usable, detail, who, description, does = [], reached = [], authenticates = [] } = card
  terminal.line(`${at}: an agent card of A2A`)
  if (!usable) say(terminal, 'unusable', brief(detail ?? 'nothing can be done by it', 300))
  else {
    say(terminal, 'who', brief(`${who ?? ''}: ${description ?? ''}`, 300))
    for (const { id, name } of does.slice(0, 20))
      say(terminal, 'what', brief(`${id}: ${name}`, 160))
    for (const one of reached) say(terminal, 'reached by', brief(one, 200))
    const ways = authenticates.length === 0 ? ['nothing is asked for'] : authenticates
    for (const one of ways) say(terminal, 'logs in', brief(one, 200))
  }
  for (const { severity, path, message } of card.findings) {
    terminal.line(
      `${SIGNS[severity]} ${brief(path === '' ? 'card' : path, 80)}: ${brief(message, 300)}`,
    )
  }
}

function say(terminal: Terminal, label: string, text: string): void {
  terminal.line(`  ${label.padEnd(LABEL)}${text}`)
}

function showRevisions(terminal: Terminal, { revisions }: ProbeReport): void {
  const spoken = revisions.filter((one) => one.spoken)
  for (const transport of ['stdio', 'http', 'http+sse'] as const) {
    const here = spoken.filter((one) => one.transport === transport)
    if (here.length === 0) continue
    const named = here.map(({ revision }) => revision).join(', ')
    say(terminal, 'speaks', `${named} over ${TRANSPORTS[transport]}`)
  }
  for (const { revision, by, detail } of revisions.filter((one) => !one.spoken)) {
    say(terminal, 'not', `${revision}: ${by}: ${brief(detail ?? 'no answer', 160)}`)
  }
}

function showOffers(terminal: Terminal, report: ProbeReport): void {
  for (const { method, revision, items, pages, incomplete } of report.lists) {
    const more = incomplete === undefined ? '' : `, not whole: ${brief(incomplete, 120)}`
    say(terminal, 'lists', `${items} by ${method} in ${revision}, ${countOf(pages, 'page')}${more}`)
  }
  const can = Object.entries(report.capabilities)
    .filter(([name]) => name !== 'extensions')
    .map(([name, flags]) => sayCapability(name, flags))
  if (can.length > 0) say(terminal, 'can', can.join(', '))
  const extensions = Object.keys(report.extensions).map((name) => brief(name, 80))
  if (extensions.length > 0) say(terminal, 'extensions', extensions.join(', '))
  const { instructions } = report.callsItself
  if (instructions !== undefined) {
    say(terminal, 'says', `${countOf(instructions, 'character')} of instructions to models`)
  }
}

function sayCapability(name: string, flags: unknown): string {
  const on =
    typeof flags === 'object' && flags !== null
      ? Object.entries(flags).flatMap(([flag, value]) => (value === true ? [flag] : []))
      : []
  return brief(on.length === 0 ? name : `${name} (${on.join(', ')})`, 80)
}

function showAuth(terminal: Terminal, { auth }: ProbeReport): void {
  if (auth === undefined) return
  const { wanted, metadata, challenges, servers } = auth
  if (!wanted && metadata === undefined)
    return say(terminal, 'login', 'not wanted for what was asked')
  const words = challenges.map(({ scheme, scope }) =>
    scope === undefined ? scheme : `${scheme}, scope ${brief(scope, 100)}`,
  )
  const how = wanted
    ? `wanted (401${words.length === 0 ? '' : `: ${words.join('; ')}`})`
    : 'not wanted for what was asked, but there is metadata for it'
  say(terminal, 'login', how)
  if (metadata !== undefined) {
    say(
      terminal,
      '',
      `metadata at ${brief(metadata.url, 200)} for ${brief(metadata.resource, 200)}`,
    )
  }
  for (const { issuer, found, registration, pkce, grants } of servers) {
    const facts = found
      ? `registration: ${registration.join(', ')}; PKCE: ${pkce.join(', ') || 'not said'}; grants: ${grants.join(', ') || 'not said'}`
      : 'says nothing of itself'
    say(terminal, '', `${brief(issuer, 200)}: ${brief(facts, 300)}`)
  }
}

function showModels(terminal: Terminal, { models }: ProbeReport): void {
  for (const { api, title, takes, refuses } of models.summary) {
    const all = takes + refuses
    if (refuses === 0) {
      say(terminal, 'models', `${title}: takes all ${countOf(all, 'tool')} as they are`)
      continue
    }
    say(terminal, 'models', `${title}: refuses ${refuses} of ${countOf(all, 'tool')} as they are`)
    const verdicts = models.verdicts.filter((one) => one.api === api)
    const lines = refuses > MOST_PLACES ? byReason(verdicts) : byTool(verdicts)
    for (const line of lines) say(terminal, '', `  ${line}`)
  }
}

function byTool(verdicts: readonly Verdict[]): readonly string[] {
  return verdicts.map(({ tool, reasons }) => {
    const first = reasons
      .slice(0, 2)
      .map(({ at, why }) => (at === '' || at === 'name' ? why : `${at}: ${why}`))
    const more = reasons.length > 2 ? `; ${reasons.length - 2} more` : ''
    return `${brief(tool, 60)}: ${brief(first.join('; '), 200)}${more}`
  })
}

/** Of many the reasons, those of most tools first. */
function byReason(verdicts: readonly Verdict[]): readonly string[] {
  const tools = new Map<string, string[]>()
  for (const { tool, reasons } of verdicts) {
    // Words after a colon are the tool's own.
    for (const why of new Set(reasons.map((one) => one.why.split(':')[0] ?? ''))) {
      tools.set(why, [...(tools.get(why) ?? []), tool])
    }
  }
  const sorted = [...tools].toSorted(([, one], [, other]) => other.length - one.length)
  const lines = sorted.slice(0, MOST_PLACES).map(([why, named]) => {
    const others = named.length > 1 ? ` and ${named.length - 1} more` : ''
    return `${brief(why, 120)}: ${brief(named[0] ?? '', 60)}${others}`
  })
  const left = sorted.length - MOST_PLACES
  return left > 0 ? [...lines, `and ${countOf(left, 'more reason')} (--json has all)`] : lines
}

function showFindings(terminal: Terminal, { findings, more }: ProbeReport): void {
  const count = (severity: Finding['severity']): number =>
    new Set(findings.filter((one) => one.severity === severity).map(({ rule }) => rule)).size
  const errors = countOf(count('error'), 'error')
  const rest = `${countOf(count('warning'), 'warning')}, ${count('advice')} of advice`
  terminal.line(findings.length === 0 ? '\nno fault was found' : `\n${errors}, ${rest}`)
  const byRule = Map.groupBy(findings, ({ rule }) => rule)
  for (const [rule, same] of byRule) showRule(terminal, same, more[rule] ?? 0)
  terminal.line(HINT)
}

function showRule(terminal: Terminal, same: readonly Finding[], unseen: number): void {
  const [first] = same
  if (first === undefined) return
  const { rule, severity, section, broken, wayOut } = first
  const places = same.slice(0, MOST_PLACES).flatMap(({ place, saw }) => {
    const said = [place, saw].filter((one) => one !== undefined).map((one) => brief(one, 160))
    return said.length === 0 ? [] : [said.join(': ')]
  })
  const left = same.length - MOST_PLACES + unseen
  const where = [...places, ...(left > 0 ? [`${left} more`] : [])].join('; ')
  const sentence = where === '' ? broken : `${broken} (${where})`
  terminal.line(`${SIGNS[severity]} ${rule}: ${sentence} [${section}]`)
  terminal.line(`    way out: ${wayOut}`)
}

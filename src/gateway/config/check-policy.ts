/** Mistakes in `policy` beyond its form: globs, peers, conditions, durations, rules that say nothing. */
import { parseCondition } from '../policy/condition.ts'
import { parseGlob, wildcardMatches } from '../policy/glob.ts'
import { parseDuration } from './duration.ts'
import type { ConfigPath, Mistake } from './mistakes.ts'
import { nearest, sayValue } from './mistakes.ts'
import { asMapping, asText, asTexts } from './plain.ts'

const MAX_RULES = 1000
const MAX_TTL_MS = 7 * 86_400_000

/** @param policy the section as it came. @param peers names of all peers. */
export function checkPolicy(
  policy: Readonly<Record<string, unknown>>,
  peers: readonly string[],
): readonly Mistake[] {
  const rules: readonly unknown[] = Array.isArray(policy['rules']) ? policy['rules'] : []
  if (rules.length > MAX_RULES) {
    const message = `expected at most ${MAX_RULES} rules, got ${rules.length}`
    return [{ path: ['policy', 'rules'], message }]
  }
  return rules.flatMap((rule, index) =>
    checkRule(asMapping(rule), ['policy', 'rules', index], peers),
  )
}

function checkRule(
  rule: Readonly<Record<string, unknown>>,
  path: ConfigPath,
  peers: readonly string[],
): Mistake[] {
  const mistakes: Mistake[] = []
  for (const key of ['match', 'except'] as const) {
    const value = rule[key]
    for (const [index, glob] of asTexts(value).entries()) {
      const at = Array.isArray(value) ? [...path, key, index] : [...path, key]
      mistakes.push(...checkGlob(at, glob, peers))
    }
  }
  for (const key of ['match', 'kind', 'principal', 'groups']) {
    const value = rule[key]
    if (Array.isArray(value) && value.length === 0) {
      const message =
        'expected at least one entry: an empty list matches nothing; remove the rule or the key'
      mistakes.push({ path: [...path, key], message })
    }
  }
  if (rule['effect'] === undefined && rule['risk'] === undefined) {
    mistakes.push({
      path,
      message: 'expected effect (allow, ask or deny) or risk; the rule says nothing',
    })
  }
  return [...mistakes, ...checkWhen(path, rule['when']), ...checkTtl(path, rule)]
}

function checkGlob(path: ConfigPath, text: string, peers: readonly string[]): Mistake[] {
  if (text === '') return []
  const glob = parseGlob(text)
  if (glob === undefined) {
    const meant = peers.includes(text) ? `${text}/*` : 'docs/* or */delete_*'
    const message = `expected peer/capability, such as ${meant}; got ${sayValue(text, path)}`
    return [{ path, message }]
  }
  // A rule for a peer that is not there protects nothing, and is most likely a misspelt name.
  if (peers.some((peer) => wildcardMatches(glob.peer, peer))) return []
  const meant = nearest(glob.peer, peers)
  const hint = meant === undefined ? '' : `; did you mean ${meant}/${glob.capability}?`
  const message = `no peer of this file is called ${sayValue(glob.peer, path)} (the part before the first /)${hint}`
  return [{ path, message }]
}

function checkWhen(path: ConfigPath, value: unknown): Mistake[] {
  const text = asText(value)
  if (text === undefined || text === '') return []
  try {
    parseCondition(text)
    return []
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it does not parse'
    const message = `not a CEL condition over principal, peer, capability, kind, risk and arguments: ${reason}`
    return [{ path: [...path, 'when'], message }]
  }
}

function checkTtl(path: ConfigPath, rule: Readonly<Record<string, unknown>>): Mistake[] {
  const mistakes: Mistake[] = []
  const ttl = asText(rule['ttl'])
  if (ttl !== undefined && ttl !== '') {
    const ms = parseDuration(ttl)
    if (ms === undefined || ms < 1_000 || ms > MAX_TTL_MS) {
      const message = `expected a duration from 1s to 7d, such as 15m; got ${sayValue(ttl, path)}`
      mistakes.push({ path: [...path, 'ttl'], message })
    }
  }
  for (const key of ['ttl', 'approver']) {
    if (rule[key] !== undefined && rule['effect'] !== 'ask') {
      mistakes.push({
        path: [...path, key],
        message: `${key} has a meaning only beside effect: ask`,
      })
    }
  }
  return mistakes
}

/**
 * The policy check: what the operator's rules say of one call, and what a principal may know of at all.
 *
 * Among matching rules deny wins over ask, ask over allow, whatever their order; without one the preset decides.
 * Fails closed: a deny whose condition throws denies, an ask asks, an allow does not match.
 */
import { createHash } from 'node:crypto'
import type { PolicyCheck } from '../../core/ports/checks.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Decision, Effect } from '../../core/words/policy.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { QuestionKind } from '../../core/words/question.ts'
import { graver, riskOf } from '../../core/words/risk.ts'
import type { Risk } from '../../core/words/risk.ts'
import type { Route } from '../../core/words/route.ts'
import { celArguments } from './condition.ts'
import type { ConditionFacts } from './condition.ts'
import { compileRule, ruleApplies } from './rule.ts'
import type { CompiledRule, Subject } from './rule.ts'
import type { PolicySection } from './section.ts'

/** How long an approval may be waited for when the rule that asks does not say. */
const DEFAULT_APPROVAL_TTL_MS = 15 * 60_000

const ORDER: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 }

/** What one rule says once its condition was looked at. */
interface Voice {
  readonly effect: Effect
  readonly rule: string
  readonly ttlMs: number
}

/**
 * Makes the policy check of one policy section.
 *
 * @throws Error when a rule does not compile; a section that `loadConfig` returned always does.
 */
export function createPolicy(section: PolicySection): PolicyCheck {
  const rules = section.rules.map(compileRule)
  const version = digestOf(section)

  const judge = (
    applying: readonly CompiledRule[],
    principal: Principal,
    route: Subject,
    args: JsonText,
  ): Decision => {
    const facts = factsOf(principal, route, lazyArguments(applying, args))
    const risk = judgeRisk(applying, route, facts)
    const voice = loudest(applying, { ...facts, risk }) ?? presetVoice(section.preset, risk)
    const enforced =
      section.shadow && voice.effect !== 'allow'
        ? {
            ...voice,
            effect: 'allow' as const,
            rule: `shadow: would ${voice.effect} by ${voice.rule}`,
          }
        : voice
    return {
      effect: enforced.effect,
      rule: enforced.rule,
      version,
      risk,
      approvalTtlMs: enforced.ttlMs,
    }
  }

  const standingOf = rememberStandings((principal, route) => ({
    applying: rules.filter((rule) => ruleApplies(rule, principal, route)),
    visible: section.shadow || couldPass(rules, section.preset, principal, route),
    decision: undefined,
    questions: {},
  }))

  const visible = (principal: Principal, route: Route): boolean =>
    standingOf(principal, route).visible

  const decide = (principal: Principal, route: Route, args: JsonText): Decision => {
    const standing = standingOf(principal, route)
    if (standing.decision !== undefined) return standing.decision
    const { applying } = standing
    const decision = judge(applying, principal, route, args)
    if (!applying.some(looksAtArguments)) standing.decision = decision
    return decision
  }

  const decideQuestion = (principal: Principal, route: Route, kind: QuestionKind): Decision => {
    const { questions } = standingOf(principal, route)
    const known = questions[kind]
    if (known !== undefined) return known
    const { peer, hints, trusted } = route
    const subject = { peer, hints, trusted, kind: 'question', capability: `?${kind}` } as const
    const applying = rules.filter((rule) => ruleApplies(rule, principal, subject))
    const decision = judge(applying, principal, subject, NO_ARGUMENTS)
    questions[kind] = decision
    return decision
  }

  return { visible, decide, decideQuestion }
}

/** What the rules say of a capability for a principal, whatever the arguments: one policy never says anything else. */
interface Standing {
  /** Rules that are about the two, their conditions aside. */
  readonly applying: readonly CompiledRule[]
  readonly visible: boolean
  /** Once it was asked for, and where no condition looks at arguments. */
  decision: Decision | undefined
  /** Questions have no arguments. */
  readonly questions: Partial<Record<QuestionKind, Decision>>
}

type StandingOf = (principal: Principal, route: Route) => Standing

/** Remembers by identity: routes stand in a table, principals in a door, and neither is ever changed. */
function rememberStandings(make: StandingOf): StandingOf {
  const known = new WeakMap<Principal, WeakMap<Route, Standing>>()
  // Of one call it is asked several times.
  let last:
    | { readonly principal: Principal; readonly route: Route; readonly standing: Standing }
    | undefined
  const find: StandingOf = (principal, route) => {
    let ofPrincipal = known.get(principal)
    if (ofPrincipal === undefined) known.set(principal, (ofPrincipal = new WeakMap()))
    let standing = ofPrincipal.get(route)
    if (standing === undefined) ofPrincipal.set(route, (standing = make(principal, route)))
    return standing
  }
  return (principal, route) => {
    if (last?.principal === principal && last.route === route) return last.standing
    const standing = find(principal, route)
    last = { principal, route, standing }
    return standing
  }
}

function looksAtArguments({ condition }: CompiledRule): boolean {
  return condition?.usesArguments === true
}

const NO_ARGUMENTS: JsonText = { bytes: new TextEncoder().encode('{}'), value: () => ({}) }

function factsOf(principal: Principal, route: Subject, args: unknown): ConditionFacts {
  return {
    principal: { id: principal.id, groups: principal.groups, via: principal.via },
    peer: route.peer,
    capability: route.capability,
    kind: route.kind,
    risk: '',
    arguments: args,
  }
}

/** Arguments are parsed a second time, with exact numbers, only when a condition looks at them. */
function lazyArguments(rules: readonly CompiledRule[], args: JsonText): unknown {
  if (!rules.some(looksAtArguments)) return undefined
  try {
    return celArguments(args)
  } catch {
    // Not an object the conditions can look into: each throws, and its rule fails closed.
    return undefined
  }
}

/**
 * The risk: what the peer's hints say, unless a matching rule says otherwise; the last such rule wins.
 *
 * A rule whose condition throws may make the call graver, never milder.
 */
function judgeRisk(rules: readonly CompiledRule[], route: Subject, facts: ConditionFacts): Risk {
  let risk =
    route.kind === 'question' ? ('read' as const) : riskOf(route.kind, route.hints, route.trusted)
  for (const { rule, condition } of rules) {
    if (rule.risk === undefined) continue
    try {
      if (condition === undefined || condition.holds({ ...facts, risk })) risk = rule.risk
    } catch {
      risk = graver(risk, rule.risk)
    }
  }
  return risk
}

function loudest(rules: readonly CompiledRule[], facts: ConditionFacts): Voice | undefined {
  let loudestYet: Voice | undefined
  for (const compiled of rules) {
    const voice = voiceOf(compiled, facts)
    if (voice === undefined) continue
    // The first of equals is named: its number is the lower one in the file.
    if (loudestYet === undefined || ORDER[voice.effect] > ORDER[loudestYet.effect])
      loudestYet = voice
  }
  return loudestYet
}

function voiceOf(compiled: CompiledRule, facts: ConditionFacts): Voice | undefined {
  const { effect, ttlMs = DEFAULT_APPROVAL_TTL_MS } = compiled.rule
  if (effect === undefined) return undefined
  if (compiled.condition === undefined) return { effect, rule: compiled.said, ttlMs }
  try {
    return compiled.condition.holds(facts) ? { effect, rule: compiled.said, ttlMs } : undefined
  } catch {
    return effect === 'allow'
      ? undefined
      : { effect, rule: `${compiled.said} (its condition could not be evaluated)`, ttlMs }
  }
}

function presetVoice(preset: PolicySection['preset'], risk: Risk): Voice {
  const effect = preset === 'team' ? 'deny' : risk === 'destructive' ? 'ask' : 'allow'
  return { effect, rule: `preset ${preset}`, ttlMs: DEFAULT_APPROVAL_TTL_MS }
}

/**
 * Whether some arguments could pass, now or after an approval.
 *
 * Conditions that look at nothing but the principal and the capability are evaluated; one that needs the arguments
 * might hold. Never says no where `decide` could say anything but deny.
 */
function couldPass(
  rules: readonly CompiledRule[],
  preset: PolicySection['preset'],
  principal: Principal,
  route: Route,
): boolean {
  const applying = rules.filter((rule) => ruleApplies(rule, principal, route))
  const openRisk = applying.some(
    ({ rule, condition }) => rule.risk !== undefined && condition?.usesArguments === true,
  )
  const known = ({ condition }: CompiledRule): boolean =>
    condition === undefined || (!condition.usesArguments && !(condition.usesRisk && openRisk))
  const facts = factsOf(principal, route, undefined)
  const settled = { ...facts, risk: openRisk ? '' : judgeRisk(applying, route, facts) }
  const surely = loudest(applying.filter(known), settled)
  if (surely?.effect === 'deny') return false
  if (preset === 'personal' || surely !== undefined) return true
  return applying.some(
    (compiled) =>
      !known(compiled) && (compiled.rule.effect === 'allow' || compiled.rule.effect === 'ask'),
  )
}

/** Over the whole section: any change to any rule is another version. */
function digestOf(section: PolicySection): string {
  const canonical = JSON.stringify(section, (_key, value: unknown) =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)),
        )
      : value,
  )
  return createHash('sha256').update(canonical).digest('hex')
}

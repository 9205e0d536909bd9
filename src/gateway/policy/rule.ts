/** One rule made ready: its globs, its condition, and whether it is about this principal and this capability. */
import type { CapabilityKind } from '../../core/words/capability.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import type { Condition } from './condition.ts'
import { parseCondition } from './condition.ts'
import type { Glob } from './glob.ts'
import { globMatches, parseGlob } from './glob.ts'
import type { PolicyRule } from './section.ts'

/** What rules are about: a capability, or (as `?form`, `?url`, `?sampling`, `?roots`) a question that a peer asks in mid-call. */
export type Subject = Pick<Route, 'peer' | 'capability' | 'hints' | 'trusted'> & {
  readonly kind: CapabilityKind | 'question'
}

export interface CompiledRule {
  readonly rule: PolicyRule
  /** As people refer to it: `rules[2] tickets/delete_*`. */
  readonly said: string
  readonly match: readonly Glob[]
  readonly except: readonly Glob[]
  readonly condition?: Condition
}

/** @param index position in the section. @throws Error when a glob or the condition does not parse. */
export function compileRule(rule: PolicyRule, index: number): CompiledRule {
  const said = `rules[${index}] ${rule.match.join(', ')}`
  return {
    rule,
    said,
    match: rule.match.map((text) => compileGlob(text, said)),
    except: (rule.except ?? []).map((text) => compileGlob(text, said)),
    ...(rule.when === undefined ? {} : { condition: parseCondition(rule.when) }),
  }
}

function compileGlob(text: string, said: string): Glob {
  const glob = parseGlob(text)
  if (glob === undefined) throw new Error(`${said}: expected peer/capability, got ${text}`)
  return glob
}

/**
 * Whether the rule is about this call, its condition aside.
 *
 * Looks at the registered peer and the peer's own name, never at the exposed one: an alias that looks like another
 * capability moves nothing.
 */
export function ruleApplies(compiled: CompiledRule, principal: Principal, route: Subject): boolean {
  const { rule, match, except } = compiled
  const matches = (glob: Glob): boolean => globMatches(glob, route.peer, route.capability)
  return (
    includes(rule.kind, route.kind) &&
    includes(rule.principal, principal.id) &&
    (rule.groups === undefined || rule.groups.some((group) => principal.groups.includes(group))) &&
    match.some(matches) &&
    !except.some(matches)
  )
}

/** A list left out restricts nothing; an empty one lets nothing through. */
function includes<T>(list: readonly T[] | undefined, item: T): boolean {
  return list === undefined || list.includes(item)
}

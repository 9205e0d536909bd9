/** The faults that are found on the way: each told once at each place, and no more of one rule than people read. */
import type { Finding } from './report.ts'
import { RULES, type Rule, type RuleId } from './rules.ts'

export interface Findings {
  /** @param saw the server's own words or what came in their place: cut here. @param place where. */
  add(rule: RuleId, saw?: string, place?: string): void
  /** Something that was not looked at. */
  skip(what: string): void
  /** Until `resume` nothing more is held against the server: what it does not answer any more is one fault, not many. */
  pause(why: string): void
  resume(): void
  all(): readonly Finding[]
  more(): Readonly<Record<string, number>>
  skipped(): readonly string[]
}

/** Of one rule. */
const MOST = 50
const MOST_SKIPPED = 50
const LONGEST = 300
const ORDER = { error: 0, warning: 1, advice: 2 } as const

/** What is no matter of silence: how a process ends, what others say of it, what was seen before. */
const ALWAYS = /^(?:stdio|auth|era|ask|deprecated)\./

/** Makes the collection; `all` sorts errors first. @param isOver no time is left: silence says nothing then. */
export function createFindings(isOver: () => boolean): Findings {
  const found: Finding[] = []
  const known = new Set<string>()
  const counts = new Map<RuleId, number>()
  const skipped = new Set<string>()
  let paused = false
  return {
    add(rule, saw, place) {
      if ((paused || isOver()) && !ALWAYS.test(rule)) return
      const shownPlace = place === undefined ? undefined : cut(place)
      const key = JSON.stringify([rule, shownPlace])
      if (known.has(key)) return
      const count = (counts.get(rule) ?? 0) + 1
      counts.set(rule, count)
      if (count > MOST) return
      known.add(key)
      const { severity, section, broken, wayOut }: Rule = RULES[rule]
      found.push({
        rule,
        severity,
        section,
        broken,
        wayOut,
        ...(shownPlace === undefined ? {} : { place: shownPlace }),
        ...(saw === undefined ? {} : { saw: cut(saw) }),
      })
    },
    skip(what) {
      if (skipped.size < MOST_SKIPPED) skipped.add(what)
    },
    pause(why) {
      paused = true
      this.skip(why)
    },
    resume() {
      paused = false
    },
    all: () => found.toSorted((one, other) => ORDER[one.severity] - ORDER[other.severity]),
    more: () =>
      Object.fromEntries(
        [...counts]
          .filter(([, count]) => count > MOST)
          .map(([rule, count]) => [rule, count - MOST]),
      ),
    skipped: () => [...skipped],
  }
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`
}

/**
 * What the operator lets a server be: capabilities it must have or must not have, and what it may ask.
 * One that is something else is not used, and told apart by name.
 */
import type { MayAsk } from './asks.ts'

/** Capabilities of a server: `true` it must declare it, `false` it must not. Left out: as it likes. */
export const LOCKED_OFFERS = ['tools', 'resources', 'prompts', 'completions', 'logging'] as const

/** What a server may ask of callers: `false` it is not declared and refused. Left out: true. */
export const LOCKED_ASKS = ['elicitation', 'sampling', 'roots'] as const

export type CapabilityLock = Readonly<
  Partial<Record<(typeof LOCKED_OFFERS)[number] | (typeof LOCKED_ASKS)[number], boolean>>
>

/** What a server under this lock may ask. */
export function mayAsk(lock: CapabilityLock): MayAsk {
  return {
    elicitation: lock.elicitation !== false,
    sampling: lock.sampling !== false,
    roots: lock.roots !== false,
  }
}

/** Whether the lock says anything of what a server declares. */
export function locksOffers(lock: CapabilityLock): boolean {
  return LOCKED_OFFERS.some((name) => lock[name] !== undefined)
}

/** The difference between the lock and what the server declares. @returns undefined when there is none. */
export function driftFrom(
  lock: CapabilityLock,
  declared: Readonly<Record<string, unknown>>,
): string | undefined {
  const differing = LOCKED_OFFERS.flatMap((name) => {
    const has = typeof declared[name] === 'object' && declared[name] !== null
    if (lock[name] === undefined || lock[name] === has) return []
    return [`${name} (locked to ${lock[name]}, the server ${has ? 'declares it' : 'does not'})`]
  })
  if (differing.length === 0) return undefined
  return `it differs from \`capabilities:\` in the configuration: ${differing.join(', ')}; change the lock if that is meant`
}

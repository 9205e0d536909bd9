/** What a server says of itself when it is reached: claims, which drive nothing but what is asked of it. */
import { isObject } from '../../core/words/is-object.ts'
import type { Agreement } from './link.ts'

/** What the server said of itself. Claims; they drive nothing but what is asked of it. */
export interface PeerFacts extends Agreement {
  readonly capabilities: Readonly<Record<string, unknown>>
  /** Name and version. */
  readonly callsItself?: string
  readonly instructions?: string
}

/** How much of its instructions is passed on, characters: every caller's model reads them. */
const MAX_INSTRUCTIONS = 64 * 1024

/** Reads the claims of a discover or initialize result. @param info its Implementation. */
export function readFacts(
  agreement: Agreement,
  result: Readonly<Record<string, unknown>>,
  info: unknown,
): PeerFacts {
  const { name, version } = objectOf(info)
  const { instructions } = result
  return {
    ...agreement,
    capabilities: objectOf(result.capabilities),
    ...(typeof name === 'string'
      ? {
          callsItself: `${name} ${typeof version === 'string' ? version : ''}`.trim().slice(0, 200),
        }
      : {}),
    ...(typeof instructions === 'string' ? { instructions: shortened(instructions) } : {}),
  }
}

function shortened(instructions: string): string {
  if (instructions.length <= MAX_INSTRUCTIONS) return instructions
  const left = instructions.length - MAX_INSTRUCTIONS
  // Cut between characters, not within one.
  const kept = instructions.slice(0, MAX_INSTRUCTIONS).replace(/[\ud800-\udbff]$/, '')
  return `${kept}\n(cut here by comity: ${left} more characters)`
}

/** The value, or an empty object where it is none. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

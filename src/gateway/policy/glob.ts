/**
 * Globs over `peer/capability`: the registered name and the peer's own name, byte for byte, no case folding.
 *
 * `*` is the only special character. Matching is linear in text times stars: no regular expression is built.
 */

export interface Glob {
  readonly peer: string
  readonly capability: string
}

/** @returns undefined when there is no `/` or an empty part; the peer part ends at the first `/`. */
export function parseGlob(text: string): Glob | undefined {
  const slash = text.indexOf('/')
  if (slash <= 0 || slash === text.length - 1) return undefined
  return { peer: text.slice(0, slash), capability: text.slice(slash + 1) }
}

/** Whether both parts match whole. */
export function globMatches(glob: Glob, peer: string, capability: string): boolean {
  return wildcardMatches(glob.peer, peer) && wildcardMatches(glob.capability, capability)
}

/** Whether `text` is `pattern` with each `*` standing for any run of characters, none too. */
export function wildcardMatches(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const first = parts.shift() ?? ''
  const last = parts.pop()
  if (last === undefined) return first === text
  if (!text.startsWith(first)) return false
  let position = first.length
  for (const part of parts) {
    const found = text.indexOf(part, position)
    if (found < 0) return false
    position = found + part.length
  }
  return text.length - last.length >= position && text.endsWith(last)
}

/**
 * Readers: who may see a document.
 *
 * Several lists may speak about one document (its own header, one or more patterns of the
 * folder). A reader must stand in every one of them: a wide pattern never opens what a narrow
 * one, or the document itself, has closed.
 */

/** The principal of a caller without a token. */
export const ANONYMOUS = 'anonymous'

/** Who may read: everyone (undefined), or exactly these names, sorted. An empty list is nobody. */
export type Audience = readonly string[] | undefined

/** The audience of a document about which these lists speak; no list is everyone. */
export function intersectReaders(lists: readonly (readonly string[])[]): Audience {
  const [first, ...others] = lists
  if (first === undefined) return undefined
  const names = first.filter((name) => others.every((list) => list.includes(name)))
  return [...new Set(names)].toSorted()
}

/** Whether this principal may see a document of this audience. */
export function mayRead(audience: Audience, principal: string): boolean {
  return audience === undefined || audience.includes(principal)
}

/**
 * Whether a path matches a pattern: `*` within a segment, `?` one character, `**` any segments.
 *
 * @param path relative, with `/`.
 */
export function matchesPattern(path: string, pattern: string): boolean {
  return matchSegments(path.split('/'), pattern.split('/'))
}

function matchSegments(path: readonly string[], pattern: readonly string[]): boolean {
  const [wanted, ...restOfPattern] = pattern
  if (wanted === undefined) return path.length === 0
  if (wanted === '**') {
    return (
      matchSegments(path, restOfPattern) ||
      (path.length > 0 && matchSegments(path.slice(1), pattern))
    )
  }
  const [segment, ...restOfPath] = path
  if (segment === undefined) return false
  return matchSegment(segment, wanted) && matchSegments(restOfPath, restOfPattern)
}

function matchSegment(segment: string, wanted: string): boolean {
  const source = wanted
    .replaceAll(/[\\^$.|+()[\]{}]/gu, String.raw`\$&`)
    .replaceAll(/\*+/gu, '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 'su').test(segment)
}

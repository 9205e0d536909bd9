/** JSON values compared as JSON: the order of keys says nothing. */

/** Whether two values are equal as JSON. */
export function sameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(sortedJson(left)) === JSON.stringify(sortedJson(right))
}

/** The same value with the keys of every object in order. @throws RangeError when it is nested too deeply. */
export function sortedJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
      .map(([key, item]) => [key, sortedJson(item)]),
  )
}

/**
 * JSON read for passing on: a number whose lexeme a double would change keeps it, so that `JSON.stringify` writes what came.
 *
 * For values that are only handed over (an agent's data, an answer, a result shown). Where a number is looked at, parse plainly.
 *
 * @source ECMAScript, JSON.parse source text access and JSON.rawJSON
 */

// Not in the compiler's library yet.
type Reviver = (
  this: unknown,
  key: string,
  value: unknown,
  context: { readonly source?: string },
) => unknown
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** @throws SyntaxError as JSON.parse does. */
export function parseExact(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value)
      ? rawJSON(source)
      : value,
  )
}

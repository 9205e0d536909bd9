/**
 * Which request a line was meant to answer that is no message: bytes that are no UTF-8, an escape or a number that is none.
 *
 * Its call would wait for its whole time for what will not come again. Only where JSON-RPC writers put an id is looked, at the
 * beginning and at the end of the message: what stands inside may be anybody's text.
 */

/** How much of either end is looked at, bytes. */
const LOOKED_AT = 256
const AT_BEGIN =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/u
const AT_END = /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/u
const SAYS_SO = /"jsonrpc"\s*:\s*"2\.0"/u
const ANSWERS = /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/u

/** @returns the number; undefined when the line does not look like an answer. */
export function brokenAnswerId(line: Uint8Array): number | undefined {
  const begin = Buffer.from(line.subarray(0, LOOKED_AT)).toString('latin1')
  const end = Buffer.from(line.subarray(-LOOKED_AT)).toString('latin1')
  if (!SAYS_SO.test(begin) && !SAYS_SO.test(end)) return undefined
  const found = AT_BEGIN.exec(begin) ?? (ANSWERS.test(begin) ? AT_END.exec(end) : null)
  return found?.[1] === undefined ? undefined : Number(found[1])
}

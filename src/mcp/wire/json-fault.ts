/**
 * What a JSON text can be refused for, and where.
 *
 * The codes are stable: doors and peers turn them into their own words. A fault never quotes the
 * text, since the text may hold a secret; it says the place and what was expected there.
 */

/** Why a text was refused. `truncated` alone means that more bytes could still make it valid. */
export type JsonFaultCode =
  | 'truncated'
  | 'syntax'
  | 'utf8'
  | 'bom'
  | 'too_deep'
  | 'trailing'
  | 'not_object'
  | 'not_array'
  | 'duplicate_key'
  | 'lone_surrogate'
  | 'nul_in_key'
  | 'number_range'

/** A refused JSON text: the only error that the readers of this folder throw for what they read. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault'
  readonly code: JsonFaultCode
  /** Byte offset in the whole buffer that was given, not in the span. */
  readonly offset: number
  /** JSON pointer (RFC 6901) of the innermost place that was open, cut at 200 characters. */
  readonly pointer: string

  constructor(code: JsonFaultCode, offset: number, pointer: string, expected: string) {
    super(`${expected} (byte ${offset}${pointer === '' ? '' : `, at ${pointer}`})`)
    this.code = code
    this.offset = offset
    this.pointer = pointer
  }
}

const MAX_POINTER = 200

/**
 * The pointer of the innermost place that is open at `offset`.
 *
 * Worked out only once something is wrong; all before `offset` is known to be sound. Characters
 * that could disturb a log are left escaped.
 *
 * @param span where the text starts and ends within the bytes.
 */
export function pointerAt(
  bytes: Uint8Array,
  span: { readonly start: number; readonly end: number },
  offset: number,
): string {
  const end = Math.min(offset, span.end)
  const path: (string | number | undefined)[] = []
  let awaitsKey = false
  let at = span.start
  while (at < end) {
    const character = String.fromCharCode(bytes[at]!)
    const top = path.length - 1
    if (character === '"') {
      const close = endOfString(bytes, at, end)
      if (awaitsKey) path[top] = pointerKey(bytes, at, close)
      awaitsKey = false
      at = close
      continue
    }
    if (character === '{' || character === '[') {
      path.push(character === '[' ? 0 : undefined)
      awaitsKey = character === '{'
    } else if (character === '}' || character === ']') {
      path.pop()
      awaitsKey = false
    } else if (character === ',') {
      const place = path[top]
      awaitsKey = typeof place !== 'number'
      path[top] = typeof place === 'number' ? place + 1 : undefined
    }
    at += 1
  }
  const known = path.filter((part) => part !== undefined)
  return known
    .map((part) => `/${part}`)
    .join('')
    .slice(0, MAX_POINTER)
}

function endOfString(bytes: Uint8Array, position: number, end: number): number {
  let at = position + 1
  while (at < end && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1
  return at + 1
}

function pointerKey(bytes: Uint8Array, start: number, end: number): string {
  const lexeme = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    bytes.subarray(start, Math.min(end, start + MAX_POINTER)),
  )
  const shown = printable(lexeme)
  return shown.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** A key cut short cannot be unescaped and is shown as it stands. */
function printable(lexeme: string): string {
  try {
    return JSON.stringify(JSON.parse(lexeme)).slice(1, -1)
  } catch {
    return lexeme.slice(1)
  }
}

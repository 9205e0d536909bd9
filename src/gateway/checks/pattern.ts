/**
 * Patterns of schemas: RE2, which takes time linear in the text. What RE2 does not know (look-ahead, back-references:
 * common in e-mail patterns of schema generators) runs as written, and then the whole check has a deadline.
 */
import { RE2JS } from 're2js'

export interface Pattern {
  test(text: string): boolean
  /** Unique by pattern: the validator caches by it. */
  toString(): string
}

/** @throws Error when it is no pattern at all. @param native told when it is not RE2. */
export function compilePattern(source: string, native: () => void): Pattern {
  const linear = compileLinear(source)
  if (linear !== undefined) {
    return { test: (text) => linear.matcher(text).find(), toString: () => `re2:${source}` }
  }
  native()
  const pattern = compileNative(source)
  return { test: (text) => pattern.test(text), toString: () => `native:${source}` }
}

function compileLinear(source: string): RE2JS | undefined {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source))
  } catch {
    return undefined
  }
}

/** @source JSON Schema 2020-12, 6.3.3: patterns should be ECMA-262 with the unicode flag; many are written without. */
function compileNative(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(source)
  }
}

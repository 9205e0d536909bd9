/**
 * Whether a URI can come from a template, in linear time.
 *
 * Matching is by RE2: a peer's template is outside text and must not be able to stall us.
 *
 * @source RFC 6570; only the shape is needed here, not the variables
 */
import { RE2JS } from 're2js'

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/gu
const MAX_TEMPLATE = 2048
const MAX_EXPRESSIONS = 32

/** @returns undefined when the template is too long, or has too many expressions, to be matched. */
export function compileTemplate(template: string): ((uri: string) => boolean) | undefined {
  if (template.length > MAX_TEMPLATE) return undefined
  let pattern = ''
  let at = 0
  let expressions = 0
  for (const found of template.matchAll(EXPRESSION)) {
    expressions += 1
    pattern += RE2JS.quote(template.slice(at, found.index)) + shapeOf(found[1] ?? '')
    at = found.index + found[0].length
  }
  if (expressions > MAX_EXPRESSIONS) return undefined
  const compiled = RE2JS.compile(`${pattern}${RE2JS.quote(template.slice(at))}`)
  return (uri) => compiled.matcher(uri).matches()
}

function shapeOf(operator: string): string {
  switch (operator) {
    case '+':
      return '.+'
    case '#':
      return '(#.*)?'
    case '?':
      return '(\\?[^#]*)?'
    case '&':
      return '(&[^#]*)?'
    case '/':
      return '(/[^?#]*)?'
    case '.':
      return '(\\.[^/?#]*)?'
    case ';':
      return '(;[^/?#]*)?'
    default:
      return '[^/?#]+'
  }
}

/**
 * Which elements are open, and whether what stands in them is shown.
 *
 * A stack with the end tags that HTML lets people leave out; no tree is built, so that hostile
 * nesting costs no more than its bytes. Only what the markup itself hides counts: style sheets
 * are not applied, and nothing is run.
 *
 * @source HTML Living Standard, 13.1.2.4 Optional tags; 15.3.1 Hidden elements
 */
import type { Token } from 'parse5'

/** Deeper nesting is no document that anybody reads. */
const MAX_DEPTH = 50_000

const VOID = new Set(
  'area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr'.split(
    ' ',
  ),
)
/** Never shown as text: machinery, and stand-ins for what a browser shows in their place. */
const NOT_SHOWN = new Set(
  'head script style template noscript iframe noembed noframes object audio video canvas svg datalist annotation annotation-xml rp'.split(
    ' ',
  ),
)
/** Elements whose start ends an open paragraph. */
const ENDS_PARAGRAPH = new Set(
  'address article aside blockquote center details dialog dir div dl dd dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary ul xmp table'.split(
    ' ',
  ),
)
/** Beyond these an end tag left out is not looked for. */
const SCOPES = new Set(
  'table td th caption button html template object marquee applet select'.split(' '),
)
const LIST_SCOPES = new Set([...SCOPES, 'ul', 'ol', 'menu', 'dir', 'dl'])
/** An element's start ends these, when they are open within the same list or table. */
const ENDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['li', ['li']],
  ['dt', ['dt', 'dd']],
  ['dd', ['dt', 'dd']],
  ['option', ['option']],
  ['optgroup', ['option', 'optgroup']],
])
const SECTIONS = ['tr', 'thead', 'tbody', 'tfoot', 'caption', 'colgroup']
const TABLE_PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['td', ['td', 'th']],
  ['th', ['td', 'th']],
  ['tr', ['tr', 'caption', 'colgroup']],
  ['thead', SECTIONS],
  ['tbody', SECTIONS],
  ['tfoot', SECTIONS],
])

/** What may stand in a head; anything else ends it. */
const IN_HEAD = new Set(
  'html head base basefont bgsound link meta title noscript noframes style script template'.split(
    ' ',
  ),
)
/** Where HTML goes on within a drawing or a formula. */
const FOREIGN_SCOPES = ['foreignobject', 'annotation-xml']

interface Open {
  readonly name: string
  readonly hidden: boolean
}

/** The open elements. */
export interface HtmlScope {
  /** @returns false when the nesting is beyond all reason. */
  start(tag: Token.TagToken): boolean
  end(name: string): void
  /** Whether text at this place is shown. */
  shown(): boolean
  /** Whether an element of this name is open. */
  within(name: string): boolean
  /** Words came: they end a head that was left open. */
  words(): void
}

/** @param closed called for each element that ends, in order, whether its end tag is there or not. */
export function createHtmlScope(closed: (name: string) => void): HtmlScope {
  const stack: Open[] = []
  const places = new Map<string, number[]>()
  let hiddenDepth = 0
  const lastOf = (names: Iterable<string>): number => {
    let last = -1
    for (const name of names) last = Math.max(last, places.get(name)?.at(-1) ?? -1)
    return last
  }
  const popTo = (depth: number): void => {
    while (stack.length > depth) {
      const open = stack.pop()
      if (open === undefined) return
      places.get(open.name)?.pop()
      if (open.hidden) hiddenDepth -= 1
      closed(open.name)
    }
  }
  /** Ends the outermost of these that lies within the nearest of the scopes. */
  const endWithin = (names: readonly string[], scopes: Iterable<string>): void => {
    const scope = lastOf(scopes)
    const found = names.map((name) => lastOf([name])).filter((place) => place > scope)
    if (found.length > 0) popTo(Math.min(...found))
  }
  return {
    start(tag) {
      const name = tag.tagName
      if (ENDS_PARAGRAPH.has(name)) endWithin(['p'], SCOPES)
      if (!IN_HEAD.has(name)) endWithin(['head'], ['template'])
      if (ENDS_PARAGRAPH.has(name)) endWithin(['svg', 'math'], FOREIGN_SCOPES)
      endWithin(ENDS.get(name) ?? [], LIST_SCOPES)
      endWithin(TABLE_PARTS.get(name) ?? [], ['table', 'template'])
      if (VOID.has(name) || tag.selfClosing) return true
      if (stack.length >= MAX_DEPTH) return false
      const hidden = isHidden(tag)
      if (hidden) hiddenDepth += 1
      const known = places.get(name)
      if (known === undefined) places.set(name, [stack.length])
      else known.push(stack.length)
      stack.push({ name, hidden })
      return true
    },
    end(name) {
      const place = lastOf([name])
      // A cell, a table or a template is not ended from within by what stands around it.
      const barriers = TABLE_PARTS.has(name)
        ? ['table', 'template']
        : SCOPES.has(name)
          ? []
          : ['td', 'th', 'template']
      if (place > lastOf(barriers)) popTo(place)
    },
    shown: () => hiddenDepth === 0,
    within: (name) => (places.get(name)?.length ?? 0) > 0,
    words() {
      if (stack.at(-1)?.name === 'head') popTo(lastOf(['head']))
    },
  }
}

function isHidden({ tagName, attrs }: Token.TagToken): boolean {
  if (NOT_SHOWN.has(tagName)) return true
  const attribute = (name: string): string | undefined =>
    attrs.find((each) => each.name === name)?.value
  if (attribute('hidden') !== undefined) return true
  if (tagName === 'dialog' && attribute('open') === undefined) return true
  return hidesByStyle(attribute('style') ?? '')
}

/** What an element's own style hides: said outright, made invisible, or without size. */
function hidesByStyle(style: string): boolean {
  if (style === '') return false
  const bare = style.slice(0, 4_096).replaceAll(/\/\*.*?\*\//gsu, '')
  return bare.split(';').some((declaration) => {
    const colon = declaration.indexOf(':')
    const name = declaration.slice(0, Math.max(colon, 0)).trim().toLowerCase()
    const value = declaration
      .slice(colon + 1)
      .replace(/!\s*important\s*$/iu, '')
      .trim()
      .toLowerCase()
    switch (name) {
      case 'display':
        return value === 'none'
      case 'visibility':
        return value === 'hidden' || value === 'collapse'
      case 'content-visibility':
        return value === 'hidden'
      case 'opacity':
      case 'font-size':
        return /^[+]?0*\.?0*(?:[a-z]+|%)?$/u.test(value) && /0/u.test(value)
      case 'color':
        return value === 'transparent'
      default:
        return false
    }
  })
}

/**
 * HTML as text: what a person would read, line by line, with its headings. Nothing is run, nothing
 * is fetched.
 *
 * Decides where lines end. What is shown is html-scope.ts's. White space is folded as browsers do,
 * a block begins a line of its own, cells of a row are joined by ` | `.
 *
 * @source HTML Living Standard, 13.2.5 Tokenization; 15.3 Non-replaced elements
 */
import { Tokenizer, TokenizerMode } from 'parse5'
import type { Token, TokenHandler } from 'parse5'
import type { Heading } from './headings.ts'
import { createHtmlScope } from './html-scope.ts'
import { createLineWriter } from './line-writer.ts'

/** Above this size HTML is not read: it would hold up everybody else. */
const MAX_HTML_CHARACTERS = 8 * 1_048_576
const MAX_TITLE = 300
const MAX_META = 1_000

/** HTML that was read. */
export interface HtmlText {
  readonly text: string
  readonly headings: readonly Heading[]
  readonly title?: string
  /** `<meta name=…>` by lower-case name, in order; names without content are left out. */
  readonly meta: readonly { readonly name: string; readonly content: string }[]
}

const BLOCKS = new Set(
  'address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol optgroup option p plaintext pre search section summary table tbody tfoot thead tr ul xmp'.split(
    ' ',
  ),
)
/** Blocks with an empty line around them. */
const APART = new Set(
  'article aside blockquote details dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul'.split(
    ' ',
  ),
)
const RAW_TEXT = new Set(['style', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript'])

/** Reads HTML, or says why it is not read. */
export function readHtml(source: string): HtmlText | { readonly reason: string } {
  if (source.length > MAX_HTML_CHARACTERS) {
    return {
      reason: `it has ${source.length} characters; at most ${MAX_HTML_CHARACTERS} of HTML are read`,
    }
  }
  const reader = createReader()
  const tokenizer = new Tokenizer({ sourceCodeLocationInfo: false }, reader.handler)
  reader.attach(tokenizer)
  tokenizer.write(source, true)
  return reader.result()
}

interface Reader {
  readonly handler: TokenHandler
  attach(tokenizer: Tokenizer): void
  result(): HtmlText | { readonly reason: string }
}

function createReader(): Reader {
  const writer = createLineWriter()
  const headings: Heading[] = []
  const meta: { name: string; content: string }[] = []
  let title: string | undefined
  let tooDeep = false
  let tokenizer: Tokenizer | undefined
  /** Depth within `svg` or `math`, whose words for elements are not HTML's. */
  let foreign = 0

  const scope = createHtmlScope((name) => {
    if (name === 'svg' || name === 'math') foreign -= 1
    if (name === 'pre' || name === 'textarea' || name === 'listing' || name === 'xmp') {
      writer.preformatted(false)
    }
    if (name === 'li') writer.begin('')
    if (BLOCKS.has(name)) writer.endLine(APART.has(name))
    const level = /^h([1-6])$/u.exec(name)?.[1]
    const words = level === undefined ? undefined : writer.takeMark()
    if (level !== undefined && words !== undefined) {
      headings.push({ line: words.line, level: Number(level), text: words.text })
    }
    if (name === 'title' && title !== undefined) title = foldTitle(title)
  })

  const start = (tag: Token.TagToken): void => {
    const name = tag.tagName
    if (name === 'meta') noteMeta(tag, meta)
    if (BLOCKS.has(name) && scope.shown()) writer.endLine(APART.has(name))
    if (!scope.start(tag)) {
      tooDeep = true
      return
    }
    if (name === 'svg' || name === 'math') {
      if (!tag.selfClosing) foreign += 1
    }
    if (foreign === 0 && tokenizer !== undefined) tokenizer.state = stateFor(name, tokenizer.state)
    if (name === 'title' && foreign === 0) title ??= ''
    if (!scope.shown()) return
    if (name === 'br') writer.breakLine()
    else if (name === 'td' || name === 'th') writer.separate(' | ')
    else if (name === 'li') writer.begin('- ')
    else if (name === 'pre' || name === 'textarea' || name === 'listing' || name === 'xmp')
      writer.preformatted(true)
    else if (/^h[1-6]$/u.test(name)) writer.mark()
  }

  const characters = (chars: string): void => {
    if (/[^ \t\n\f\r]/u.test(chars)) scope.words()
    if (foreign === 0 && scope.within('title')) {
      if (title !== undefined && title.length < MAX_TITLE * 4) title += chars
      return
    }
    if (scope.shown()) writer.write(chars)
  }
  return {
    attach(value) {
      tokenizer = value
    },
    handler: {
      onStartTag: start,
      onEndTag: (tag) => {
        // A line break in the spelling of an end tag is one all the same.
        if (tag.tagName === 'br' && scope.shown()) writer.breakLine()
        else scope.end(tag.tagName)
      },
      onCharacter: ({ chars }) => characters(chars),
      onWhitespaceCharacter: ({ chars }) => characters(chars),
      onNullCharacter: () => undefined,
      onComment: () => undefined,
      onDoctype: () => undefined,
      onEof: () => undefined,
    },
    result() {
      if (tooDeep) return { reason: 'its elements are nested too deeply' }
      const { text } = writer.finish()
      const words = title === undefined ? '' : foldTitle(title)
      return { text, headings, ...(words === '' ? {} : { title: words }), meta }
    },
  }
}

/** Some elements hold text in which no tags are looked for. */
function stateFor(name: string, present: Tokenizer['state']): Tokenizer['state'] {
  if (name === 'script') return TokenizerMode.SCRIPT_DATA
  if (name === 'title' || name === 'textarea') return TokenizerMode.RCDATA
  if (name === 'plaintext') return TokenizerMode.PLAINTEXT
  return RAW_TEXT.has(name) ? TokenizerMode.RAWTEXT : present
}

function noteMeta(tag: Token.TagToken, meta: { name: string; content: string }[]): void {
  const valueOf = (wanted: string): string | undefined =>
    tag.attrs.find(({ name }) => name === wanted)?.value
  const name = valueOf('name')?.trim().toLowerCase()
  const content = valueOf('content')
  if (name === undefined || content === undefined || meta.length >= MAX_META) return
  meta.push({ name, content })
}

function foldTitle(title: string): string {
  return title
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, MAX_TITLE)
}

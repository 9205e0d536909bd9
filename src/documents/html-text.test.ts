import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readHtml } from './html-text.ts'
import type { HtmlText } from './html-text.ts'

function read(html: string): HtmlText {
  const found = readHtml(html)
  return 'reason' in found ? expect.fail(found.reason) : found
}

const textOf = (html: string): string => read(html).text

test('a page as a person reads it, with its headings and their lines', () => {
  const html = `<!doctype html><html><head><title> The
    page </title><meta name="Version" content="7"><style>p { color: red }</style>
    <script>document.write('<p>no</p>')</script></head>
    <body><h1>One &amp; <em>only</em></h1><p>First   paragraph,
    <b>in bold</b>&nbsp;here.<p>Second<br>after a break
    <ul><li>a<li>b <ul><li>c</ul></ul>
    <h2>Two</h2><table><tr><th>k<th>v<tr><td>x</td><td>y</td></table>
    <pre>
  kept   as
    it is</pre></body></html>`
  const { text, headings, title, meta } = read(html)
  expect(text.split('\n')).toEqual([
    'One & only',
    '',
    'First paragraph, in bold\u00A0here.',
    '',
    'Second',
    'after a break',
    '',
    '- a',
    '- b',
    '',
    '- c',
    '',
    'Two',
    '',
    'k | v',
    'x | y',
    '',
    '  kept   as',
    '    it is',
    '',
  ])
  expect(headings).toEqual([
    { line: 1, level: 1, text: 'One & only' },
    { line: 13, level: 2, text: 'Two' },
  ])
  expect(title).toBe('The page')
  expect(meta).toEqual([{ name: 'version', content: '7' }])
})

test.each([
  ['a script', '<script>x("</p>")</script>'],
  ['a script in a comment in a script', '<script><!--<script></script>x--></script>'],
  ['a style', '<style>x</style>'],
  ['a comment', '<!-- x --><!x><?x?>'],
  ['a template', '<template>x<p>x</template>'],
  ['what is shown without scripts', '<noscript>x<p>x</noscript>'],
  ['what a frame has instead', '<iframe>x</iframe>'],
  ['what a drawing holds', '<svg><title>x</title><text>x</text></svg>'],
  ['an attribute', '<img alt="x" title="x"><input type="hidden" value="x">'],
  ['hidden', '<div hidden>x<p>x</div>'],
  ['hidden, with its end tags left out', '<ul><li hidden>x</ul><table><tr><td hidden>x</table>'],
  ['display none', '<p style="color:red; DISPLAY : none !important">x</p>'],
  ['display none between comments', '<p style="display:/* block */none">x</p>'],
  ['visibility', '<span style="visibility:hidden">x</span>'],
  ['no size', '<span style="font-size:0px">x</span><span style="opacity:0">x</span>'],
  ['a dialog that is not open', '<dialog>x</dialog>'],
  ['a hidden element in a hidden element', '<div hidden><p hidden>x</p>x</div>'],
])('%s is not text, and what follows is', (_what, html) => {
  expect(textOf(`<p>before</p>${html}<p>after</p>`)).toBe('before\n\nafter\n')
})

test('a hidden paragraph ends where the next one begins; an end tag of its parent ends it too', () => {
  expect(textOf('<p hidden>x<p>shown')).toBe('shown\n')
  expect(textOf('<div><span hidden>x</div>shown')).toBe('shown\n')
  expect(textOf('<svg><p>shown')).toBe('shown\n')
  expect(textOf('<head><title>t</title>shown')).toBe('shown\n')
  expect(textOf('<table><tr><td><div hidden>x</td><td>shown</table>')).toBe('shown\n')
})

test('entities, once: what they spell is text and never markup', () => {
  expect(textOf('&lt;script&gt;&#x4E2D;&#25991;&eacute;&amp;lt;&notit;&bogus;')).toBe(
    '<script>中文é&lt;¬it;&bogus;\n',
  )
  expect(textOf('a&#13;b&#0;')).toBe('a b\uFFFD\n')
})

test('broken markup is read like a browser reads it', () => {
  expect(textOf('</p></div>a<b>b</i>c<d e=f')).toBe('abc\n')
  expect(textOf('<p>a < b && c</p>')).toBe('a < b && c\n')
  expect(textOf('<textarea><p>kept</textarea>')).toBe('<p>kept\n')
  expect(textOf('')).toBe('')
})

test('hostile nesting costs no more than its bytes, and beyond reason is refused', () => {
  const startedAt = performance.now()
  expect(textOf(`${'<b><p>'.repeat(20_000)}x${'</i></b>'.repeat(20_000)}`)).toBe('x\n')
  expect(textOf('<a></b>'.repeat(40_000))).toBe('')
  expect(readHtml('<div>'.repeat(100_000))).toEqual({
    reason: 'its elements are nested too deeply',
  })
  expect(readHtml('x'.repeat(8 * 1_048_576 + 1))).toHaveProperty('reason')
  // Quadratic work would take minutes here.
  expect(performance.now() - startedAt).toBeLessThan(20_000)
})

test('any text is read, into lines that end with one line feed and hold no carriage return', () => {
  const piece = fc.constantFrom(
    ...'<p> </p> <div hidden> </div> <h1> </h1> <table> <tr> <td> </table> <svg> </svg> <pre> </pre> <script> </script> <!-- --> &amp; a \n \r < > <template> </template> <li> <br> </br> <title> </title>'.split(
      ' ',
    ),
    ' ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { text, headings } = read(pieces.join(''))
      expect(text).not.toMatch(/\r|\n\n\n$|^\n/u)
      const lines = text.split('\n')
      for (const { line, text: words } of headings) expect(lines[line - 1]).toContain(words[0])
    }),
    { numRuns: 500 },
  )
})

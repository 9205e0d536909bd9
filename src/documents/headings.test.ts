import { expect, test } from 'vitest'
import type { Format } from './header.ts'
import { findHeadings } from './headings.ts'
import { findLineStarts } from './lines.ts'

function headingsOf(format: Format, text: string): string[] {
  return findHeadings({ format, text, lineStarts: findLineStarts(text) }).map(
    ({ line, level, text: words }) => `${line} ${'#'.repeat(level)} ${words}`,
  )
}

test('Markdown headings with their lines, not those in front matter and code', () => {
  const text = [
    '---',
    '# not: a heading',
    '---',
    '# One ##',
    '```js',
    '# not a heading',
    '``',
    '```',
    '## Two\r',
    '~~~',
    '# nor this',
  ].join('\n')
  expect(headingsOf('markdown', text)).toEqual(['4 # One', '9 ## Two'])
})

test('a ruler on the first line without a second one is no front matter', () => {
  expect(headingsOf('markdown', '---\n# One\n')).toEqual(['2 # One'])
})

test('an empty heading and a "#" inside a word are none', () => {
  expect(headingsOf('markdown', '#\n# #\n#tag\n####### seven\n')).toEqual([])
})

test('of YAML the top-level keys', () => {
  const text = '# comment\nserver:\n  - a: 1\n"quoted key": 1\n- item: 2\nurl: http://x\n'
  expect(headingsOf('yaml', text)).toEqual(['2 # server', '4 # quoted key', '6 # url'])
})

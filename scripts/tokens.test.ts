import { expect, test } from 'vitest'
import { closingOf, tokenize } from './tokens.ts'

function words(source: string): string[] {
  return tokenize(source)
    .tokens.filter(({ kind }) => kind === 'word')
    .map(({ text }) => text)
}

test('a comment or a string never reads as code', () => {
  const source = `// import a\n/* import b */ const c = 'import d' + "it's import e"`
  expect(words(source)).toEqual(['const', 'c'])
})

test('code within a template is code again, and nests', () => {
  const source = 'const x = `import a ${b(`import c ${{ d: 1 }.d}`)} import e`; f'
  expect(words(source)).toEqual(['const', 'x', 'b', 'd', 'd', 'f'])
})

test('a regular expression with quotes and slashes is one token', () => {
  const { tokens } = tokenize(`const a = /["'/]\\/x[/\`]/g; b`)
  expect(tokens.map(({ text }) => text)).toEqual(['const', 'a', '=', `/["'/]\\/x[/\`]/g`, ';', 'b'])
})

test('division after a value is not a regular expression', () => {
  expect(words(`const a = b / c; const d = (e) / f[0] / 2; 'x'`)).toEqual([
    'const',
    'a',
    'b',
    'c',
    'const',
    'd',
    'e',
    'f',
  ])
})

test('an escape does not hide a name or a text', () => {
  const { tokens } = tokenize(`\\u0070rocess.\\u{65}nv; import('\\x6eode:fs')`)
  expect(tokens.map(({ text }) => text)).toEqual([
    'process',
    '.',
    'env',
    ';',
    'import',
    '(',
    'node:fs',
    ')',
  ])
})

test('comments keep their line, over several lines of templates and comments', () => {
  const { comments } = tokenize('const a = `\n${b}\n`\n/* one\ntwo */ // three')
  expect(comments).toEqual([
    { text: '/* one\ntwo */', line: 4 },
    { text: '// three', line: 5 },
  ])
})

test('a text that never ends is read to its end', () => {
  expect(words('a /* b')).toEqual(['a'])
  expect(words('a `b ${c')).toEqual(['a', 'c'])
  expect(words(`a 'b\nc`)).toEqual(['a', 'b', 'c'])
})

test('a bracket closes where its own kind does, templates included', () => {
  const { tokens } = tokenize('f({ a: `${[1]}` }, [2]) + 1')
  expect(tokens[closingOf(tokens, 1)]).toMatchObject({ text: ')' })
  expect(tokens[closingOf(tokens, 1) + 1]?.text).toBe('+')
})

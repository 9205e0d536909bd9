import { expect, test } from 'vitest'
import { findImports } from './imports.ts'
import { tokenize } from './tokens.ts'

function imports(source: string): string[] {
  return findImports(tokenize(source).tokens).map(
    ({ specifier, kind, typeOnly, names }) =>
      `${kind}${typeOnly ? ' type' : ''} ${specifier ?? '?'} [${names.join(' ')}]`,
  )
}

test.each([
  [`import './a.ts'`, 'static ./a.ts []'],
  [`import a from './a.ts'`, 'static ./a.ts []'],
  [`import * as a from './a.ts'`, 'static ./a.ts []'],
  [`import a, { b as c, type D, default as e } from './a.ts'`, 'static ./a.ts [b D default]'],
  [`import type { A, B as C } from './a.ts'`, 'static type ./a.ts [A B]'],
  [`import type A from './a.ts'`, 'static type ./a.ts []'],
  [`import type * as a from './a.ts'`, 'static type ./a.ts []'],
  [`import type from './a.ts'`, 'static ./a.ts []'],
  [`import { type A } from './a.ts'`, 'static ./a.ts [A]'],
  [`import { type as a, from } from './a.ts'`, 'static ./a.ts [type from]'],
  [`import a from './a.json' with { type: 'json' }`, 'static ./a.json []'],
  [`export { a } from './a.ts'`, 'reexport ./a.ts [a]'],
  [`export type { A } from './a.ts'`, 'reexport type ./a.ts [A]'],
  [`export * from './a.ts'`, 'reexport ./a.ts []'],
  [`export * as a from './a.ts'`, 'reexport ./a.ts []'],
  [`const a = await import('./a.ts')`, 'dynamic ./a.ts []'],
  ['const a = await import(`./a.ts`)', 'dynamic ./a.ts []'],
  [`type A = typeof import('./a.ts')`, 'dynamic type ./a.ts []'],
  [`const a = import(name)`, 'dynamic ? []'],
  [`const a = import('./a' + '.ts')`, 'dynamic ? []'],
  ['const a = import(`./${name}.ts`)', 'dynamic ? []'],
  [`const a = \`\${await import('./a.ts')}\``, 'dynamic ./a.ts []'],
  [`const a = require('a')`, 'require a []'],
  [`new Worker(new URL('./a.ts', import.meta.url))`, 'url ./a.ts []'],
  ['new URL(`./a.${kind}`, import.meta.url)', 'url ./a. []'],
  ['new URL(file, import.meta.url)', 'url ? []'],
  [`import.meta.resolve('./a.ts')`, 'url ./a.ts []'],
])('%s', (source, expected) => {
  expect(imports(source)).toEqual([expected])
})

test('both files of a chosen extension are seen', () => {
  expect(imports(`new URL(packed ? './a.js' : './a.ts', import.meta.url)`)).toEqual([
    'url ./a.js []',
    'url ./a.ts []',
  ])
})

test.each([
  `// import './a.ts'`,
  `const a = "import './a.ts'"`,
  `const a = { import: 1, export: 2 }; a.import('x'); a?.require('x')`,
  `export { a }; const from = './a.ts'`,
  `export const a = 1`,
  `new URL('./a.ts', base)`,
  `import.meta.url`,
])('%s asks for nothing', (source) => {
  expect(imports(source)).toEqual([])
})

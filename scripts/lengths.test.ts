import { expect, test } from 'vitest'
import { findFunctions, measureLengths } from './lengths.ts'
import { readSource } from './source-tree.ts'
import { tokenize } from './tokens.ts'

function lengths(source: string): number[] {
  return findFunctions(tokenize(source).tokens).map(({ lines }) => lines)
}

test.each([
  [`function a() {\n}`, [2]],
  [`async function* a<T extends { b: 1 }>(x: T): AsyncIterable<{ y: T }> {\n\n}`, [3]],
  [`function a(): { b: number } {\n}`, [2]],
  [`function a(b: unknown): b is { c: 1 } | undefined {\n}`, [2]],
  [`function a(b: () => void): asserts b {\n}`, [2]],
  [`const a = (b: number): string => {\n}`, [2]],
  [`class A { #b(c: number): Promise<void> {\n} get d() {\n} }`, [2, 2]],
  [`const a = { b() {\n}, async c(): Promise<number[]> {\n} }`, [2, 2]],
])('%s', (source, expected) => {
  expect(lengths(source)).toEqual(expected)
})

test.each([
  `if (a) {\n}`,
  `for (const a of b) {\n}`,
  `interface A { b(c: number): { d: 1 }\n e: 1 }`,
  `const a = b ? c(d) : { e: 1 }`,
  `const a = (b: number) => b + 1`,
  `const a = b ? c(d) : e < f`,
])('%s has no body to measure', (source) => {
  expect(lengths(source)).toEqual([])
})

test('tests and generated files are not measured', () => {
  const files = ['src/a.ts', 'src/b.test.ts', 'src/c.gen.ts'].map((path, index) =>
    readSource(path, 'function a() {}\n'.repeat(index + 1)),
  )
  expect(measureLengths(files)).toEqual({
    files: { count: 1, median: 1, p90: 1, largest: 1, where: 'src/a.ts' },
    functions: { count: 1, median: 1, p90: 1, largest: 1, where: 'src/a.ts:1' },
  })
})

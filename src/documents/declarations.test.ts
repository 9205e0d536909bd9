import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findDeclarations } from './declarations.ts'

function read(text: string): { headings: string[]; starts: readonly number[] } {
  const { headings, starts } = findDeclarations(text)
  return {
    headings: headings.map(({ line, level, text: words }) => `${line} ${level} ${words}`),
    starts,
  }
}

test('declarations with the lines of their names, passages from the line of their comment', () => {
  const text = `/** What this file is. */
import type { A } from './a.ts';

/**
 * Opens it.
 */
export declare function open(path: string, options?: { deep: boolean }): void;
export interface Reader<T extends { x: 1 } = { x: 1 }> {
  /** Reads. */
  read(): Promise<T>;
  readonly name: 'a;b' | "interface Fake {";
}
export declare abstract class Store extends Base<{ a: 1 }> {
  #private;
  /** Closes. */
  close(): void;
}
/** Modes. */
export type Mode = 'r' | 'w';
declare const enum Kind { A = 1, B = 2 }
declare module "thing" {
  /** Inner. */
  export const inner: number;
  namespace Deep.Er {
    function f(): void;
  }
}
declare global {
  interface Window { x: 1 }
}
export default open;
// interface Commented {}
`
  expect(read(text)).toEqual({
    headings: [
      '7 1 function open',
      '8 1 interface Reader',
      '13 1 class Store',
      '19 1 type Mode',
      '20 1 const enum Kind',
      '21 1 module "thing"',
      '23 2 const inner',
      '24 2 namespace Deep.Er',
      '25 3 function f',
      '28 1 global',
      '29 2 interface Window',
      '31 1 default open',
    ],
    starts: [1, 4, 8, 9, 13, 15, 18, 20, 21, 22, 24, 25, 28, 29, 31],
  })
})

test('without semicolons, and with words that only look like declarations', () => {
  const text = `export declare const a: number
export declare function b(): { interface: string }
type C = { type: 'x' } | \`module \${string}\`
/** D. */
interface D { class: string }
`
  expect(read(text)).toEqual({
    headings: ['1 1 const a', '2 1 function b', '3 1 type C', '5 1 interface D'],
    starts: [1, 2, 3, 4],
  })
})

test('any text is passed over: lines are within it and in order', () => {
  const piece = fc.constantFrom(
    ...'/** */ // { } ( ) < > => ; " \' ` \\ export declare class x'.split(' '),
    'interface A ',
    'namespace B ',
    '\n',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join('')
      const { headings, starts } = findDeclarations(text)
      const lines = text.split('\n').length
      for (const line of [...starts, ...headings.map((heading) => heading.line)]) {
        expect(line).toBeGreaterThan(0)
        expect(line).toBeLessThanOrEqual(lines)
      }
      expect([...starts]).toEqual(starts.toSorted((one, other) => one - other))
    }),
    { numRuns: 1_000 },
  )
})

/** What V8 is told keeps what it would have taken for long-lived young. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('what is written out in a call stays young, though all there was lived on when V8 looked', () => {
  expect(bornYoung('')).toBe('false')
  expect(bornYoung('keepCallsYoung()')).toBe('true')
})

/** @param first what is done before. */
function bornYoung(first: string): string {
  const program = `
    import { keepCallsYoung } from ${JSON.stringify(import.meta.resolve('./keep-calls-young.ts'))};
    ${first};
    const make = (of) => ({ of });
    let held = [];
    for (let round = 0; round < 200; round++) {
      for (let one = 0; one < 300; one++) held.push(make(one));
      gc({ type: 'minor' });
      held = [];
    }
    for (let one = 0; one < 20_000; one++) held[one % 16] = make(one);
    const last = make(0);
    console.log(%InYoungGeneration(last));
  `
  // V8 makes up its mind when its young space is as large as it may become.
  const space = ['--min-semi-space-size=1', '--max-semi-space-size=1']
  const flags = ['--expose-gc', '--allow-natives-syntax', ...space, '--input-type=module']
  return execFileSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8' }).trim()
}

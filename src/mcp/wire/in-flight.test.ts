/** What is under way stays in order whatever is removed from it, and costs no more than it holds. */
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InFlight, type Place } from './in-flight.ts'

test('holds what was added and not removed, oldest first', () => {
  const step = fc.record({ add: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const inFlight = new InFlight<number>()
      const model: Place<number>[] = []
      for (const [item, { add, which }] of steps.entries()) {
        if (add || model.length === 0) model.push(inFlight.add(item))
        else {
          const [place] = model.splice(which % model.length, 1)
          inFlight.remove(place!)
          inFlight.remove(place!)
          expect(place?.isHeld).toBe(false)
        }
        const items = model.map((place) => place.item)
        expect(inFlight.all()).toEqual(items)
        expect(inFlight.size).toBe(items.length)
        expect(inFlight.oldest()).toBe(items[0])
        expect(inFlight.find((one) => one === items.at(-1))?.item).toBe(items.at(-1))
      }
    }),
  )
})

test('what is added stays young, though all there are were in flight when V8 looked first', () => {
  const program = `
    import { InFlight } from ${JSON.stringify(import.meta.resolve('./in-flight.ts'))};
    const inFlight = new InFlight();
    const held = [];
    for (let round = 0; round < 200; round++) {
      for (let one = 0; one < 300; one++) held.push(inFlight.add(one));
      gc({ type: 'minor' });
      for (const place of held.splice(0)) inFlight.remove(place);
    }
    for (let one = 0; one < 20_000; one++) inFlight.remove(inFlight.add(one));
    const place = inFlight.add(0);
    console.log(%InYoungGeneration(place));
  `
  // V8 makes up its mind when its young space is as large as it may become.
  const space = ['--min-semi-space-size=1', '--max-semi-space-size=1']
  const flags = ['--expose-gc', '--allow-natives-syntax', ...space, '--input-type=module']
  const said = execFileSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8' })
  expect(said.trim()).toBe('true')
})

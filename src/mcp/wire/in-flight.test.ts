/** What is under way stays in order whatever is removed from it, and costs no more than it holds. */
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

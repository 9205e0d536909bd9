import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonFault } from './json-fault.ts'
import { openText, scanString } from './scan.ts'
import { scanJson } from './spans.ts'

/** A string of `x`, 200 of them, with `odd` at one place, beginning at any alignment of its buffer. */
function longString(odd: readonly number[], place: number, alignment: number): Uint8Array {
  const buffer = new ArrayBuffer(alignment + 202 + odd.length)
  const bytes = new Uint8Array(buffer, alignment).fill(0x78)
  bytes[0] = 0x22
  bytes.set(odd, 1 + place)
  bytes[bytes.length - 1] = 0x22
  return bytes
}

function everyPlace(
  odd: readonly number[],
  look: (bytes: Uint8Array, place: number) => void,
): void {
  for (let alignment = 0; alignment < 4; alignment += 1)
    for (let place = 0; place <= 200; place += 1) look(longString(odd, place, alignment), place)
}

describe('a long string is read as strictly as a short one', () => {
  test.each([0x00, 0x01, 0x0a, 0x1f, 0x80, 0xbf, 0xc1, 0xff])(
    'byte 0x%x is refused where it stands',
    (byte) => {
      everyPlace([byte], (bytes, place) => {
        const scan = (): number => scanString(openText(bytes), 0)
        expect(scan).toThrow(JsonFault)
        try {
          scan()
        } catch (fault) {
          expect((fault as JsonFault).offset).toBe(1 + place)
        }
      })
    },
  )

  test('a quote ends it wherever it stands', () => {
    everyPlace([0x22], (bytes, place) => expect(scanString(openText(bytes), 0)).toBe(place + 2))
  })

  test.each([
    ['an escaped quote', [0x5c, 0x22]],
    ['two bytes of UTF-8', [0xc3, 0xa9]],
    ['four bytes of UTF-8', [0xf0, 0x9f, 0x98, 0x80]],
    ['the highest and the lowest that stand for themselves', [0x7f, 0x20, 0x21, 0x23, 0x5b, 0x5d]],
  ])('%s is part of it', (_what, odd) => {
    everyPlace(odd, (bytes) => expect(scanString(openText(bytes), 0)).toBe(bytes.length))
  })

  test('it does not end where its span does not', () => {
    everyPlace([], (bytes) => {
      const span = { start: 0, end: bytes.length - 1 }
      expect(() => scanString(openText(bytes, span), 0)).toThrow('expected the end of a string')
    })
  })
})

test('a large string is read as JSON.parse reads it, whatever stands in it and wherever it begins', () => {
  const odd = fc.constantFrom(
    '',
    '\\n',
    '\\"',
    '\n',
    '\u0000',
    '\u001f',
    '\u007f',
    'é',
    '😀',
    '\\',
    '"',
    '\\ud800',
  )
  fc.assert(
    fc.property(
      fc.nat(3),
      fc.array(fc.tuple(odd, fc.integer({ min: 0, max: 3000 })), { minLength: 1, maxLength: 4 }),
      (lead, parts) => {
        const inside = parts.map(([what, plain]) => what + 'x'.repeat(plain)).join('')
        const text = `${' '.repeat(lead)}["${inside}","${inside}"]`
        expect(accepts(() => scanJson(new TextEncoder().encode(text)))).toBe(
          accepts(() => JSON.parse(text)),
        )
      },
    ),
  )
})

function accepts(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

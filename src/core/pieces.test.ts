/** Pieces, by what is in them and by how many are left of them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Pieces } from './pieces.ts'

const taken = (sent: readonly Uint8Array[]): readonly Uint8Array[] => {
  const pieces = new Pieces()
  for (const one of sent) {
    pieces.add(one)
    // Whoever sends may write to it again.
    if (sent.length > 1000) one.fill(0)
  }
  return pieces.take()
}

test('what was sent is there, in its order, however it was cut', () => {
  const sizes = fc.array(fc.oneof(fc.nat(3), fc.nat(1100), fc.constant(1024)), { maxLength: 200 })
  fc.assert(
    fc.property(sizes, (cuts) => {
      let byte = 0
      const sent = cuts.map((size) => Uint8Array.from({ length: size }, () => (byte += 7)))
      expect(Buffer.concat(taken(sent))).toEqual(Buffer.concat(sent))
    }),
  )
})

test('a message of single bytes is a few pieces, not one for each', () => {
  const parts = taken(Array.from({ length: 1_000_000 }, () => Uint8Array.of(0x20)))
  expect(parts.length).toBeLessThan(100)
  expect(parts.reduce((size, { length }) => size + length, 0)).toBe(1_000_000)
})

test('small ones between large ones take no room of their own', () => {
  const large = new Uint8Array(1024)
  const parts = taken(
    Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? large : Uint8Array.of(1))),
  )
  const memory = parts.reduce(
    (size, { buffer }) => size + (buffer === large.buffer ? 0 : buffer.byteLength),
    0,
  )
  expect(memory).toBeLessThan(1000)
})

test('taking them leaves nothing behind', () => {
  const pieces = new Pieces()
  for (let at = 0; at < 100; at += 1) pieces.add(Uint8Array.of(at))
  expect(Buffer.concat(pieces.take())).toHaveLength(100)
  expect(pieces.take()).toEqual([])
})

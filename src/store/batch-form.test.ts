import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BatchReader, BatchWriter } from './batch-form.ts'
import { canonicalText } from './canonical-text.ts'
import type { Command, OpenWords, Payload, PayloadBytes, SettleWords } from './commands.ts'
import { SALT_BYTES } from './payload-limits.ts'

const bytes = fc.uint8Array({ maxLength: 300 })
const payload: fc.Arbitrary<Payload> = fc.oneof(
  bytes.map((some) => ({ latin1: Buffer.from(some).toString('latin1') })),
  bytes.map((some) => ({ bytes: some })),
  fc
    .record({
      salt: fc.uint8Array({ minLength: SALT_BYTES, maxLength: SALT_BYTES }),
      size: fc.nat(),
      digest: fc.stringMatching(/^[0-9a-f]{64}$/),
    })
    .map(({ salt, ...rest }) => ({ ...rest, salt: Buffer.from(salt).toString('latin1') })),
)
const text = fc.string({ unit: 'binary' }).map((some) => canonicalText({ text: some }))
const facts = fc.record({ head: text, tail: text })
const now = fc.nat({ max: 8_640_000_000_000_000 })
const opened: fc.Arbitrary<OpenWords> = fc
  .record({
    now,
    openedAt: now,
    sideEffect: fc.boolean(),
    actKey: fc.stringMatching(/^[0-9a-f]{64}$/),
    principal: fc.string({ unit: 'binary' }),
    facts,
    payload: payload.map((given) => ({ kind: 'arguments' as const, ...given })),
  })
  .map((open) => (open.sideEffect ? open : { ...open, actKey: '' }))
const settled: fc.Arbitrary<SettleWords> = fc.record({
  now,
  state: fc.constantFrom('settled', 'unknown'),
  neverRan: fc.boolean(),
  outcome: facts,
  payload: fc.option(payload.map((given) => ({ kind: 'result' as const, ...given }))),
})
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    do: fc.constant('call' as const),
    callId: fc.string({ unit: 'binary' }),
    opened: fc.option(opened),
    notes: fc.array(fc.record({ now, kind: fc.constant('asked' as const), facts: text }), {
      maxLength: 3,
    }),
    settled: fc.option(settled),
  }),
  fc.record({
    do: fc.constant('caller_gone' as const),
    callId: fc.string({ unit: 'binary' }),
    now,
  }),
)

/** Bytes are the same in whatever way they came. */
function plain(given: PayloadBytes | null): unknown {
  if (given === null || 'digest' in given) return given
  const { kind } = given
  if ('latin1' in given) return { kind, hex: Buffer.from(given.latin1, 'latin1').toString('hex') }
  const some = 'room' in given ? given.room.subarray(SALT_BYTES) : given.bytes
  return { kind, hex: Buffer.from(some).toString('hex') }
}

function plainCommand(one: Command): unknown {
  if (one.do !== 'call') return one
  const { opened: open, settled: end } = one
  return {
    ...one,
    opened: open === null ? null : { ...open, payload: plain(open.payload) },
    settled: end === null ? null : { ...end, payload: plain(end.payload) },
  }
}

test('a batch is read as it was written, one after the other, whatever stands in it', () => {
  const reader = new BatchReader()
  const writer = new BatchWriter()
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 20 }), (commands) => {
      const form = structuredClone(writer.write(commands))
      // Twice, as a batch is that failed the first time.
      for (const read of [reader.read(form), reader.read(form)])
        expect(Array.from(read, plainCommand)).toEqual(commands.map(plainCommand))
    }),
  )
})

test('a batch whose payloads outgrow the room of the one before is read whole', () => {
  const reader = new BatchReader()
  const writer = new BatchWriter()
  const note = (size: number): Command => ({
    do: 'call',
    callId: `c-${size}`,
    opened: null,
    notes: [],
    settled: {
      now: 1,
      state: 'settled',
      neverRan: false,
      outcome: { head: '{', tail: '"state":"completed"}' },
      payload: { kind: 'result', latin1: 'x'.repeat(size) },
    },
  })
  for (const sizes of [[10], [4096, 4096, 1], Array.from({ length: 2000 }, () => 4096), [10]]) {
    const commands = sizes.map(note)
    const read = reader.read(writer.write(commands))
    expect(Array.from(read, plainCommand)).toEqual(commands.map(plainCommand))
  }
})

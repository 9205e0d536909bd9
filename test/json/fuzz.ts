/**
 * Damaged JSON bytes against the scanner: never another error than JsonFault, never accepting what
 * JSON.parse refuses, never refusing (but for the stricter rules) what it accepts.
 *
 * The suite runs a few thousand rounds; `node test/json/fuzz.ts 1000000 7` runs more, by seed.
 */
import fc from 'fast-check'
import { canonicalJson } from '../../src/mcp/wire/canonical.ts'
import { JsonFault } from '../../src/mcp/wire/json-fault.ts'
import { parseMessage } from '../../src/mcp/wire/json-rpc.ts'
import { scanJson } from '../../src/mcp/wire/spans.ts'
import { checkStrict } from '../../src/mcp/wire/strict.ts'
import { jsonText } from './arbitrary-json.ts'

/** What one damage does: a byte set, removed or doubled, or a piece cut out, at a place 0..1. */
const damage = fc.record({
  act: fc.constantFrom('set', 'remove', 'double', 'cut', 'insert'),
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  byte: fc.oneof(
    fc.nat(255),
    fc.constantFrom(...Buffer.from('{}[]",:\\u0eE-+.tfn \x00\xff\xed\xa0', 'latin1')),
  ),
})

const texts = fc.oneof(
  jsonText,
  jsonText.map((text) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${text}}`),
)

/** Runs the rounds. @throws an Error that holds the failing bytes and the seed. */
export function fuzz(runs: number, seed?: number): void {
  const property = fc.property(texts, fc.array(damage, { maxLength: 4 }), (text, damages) => {
    const bytes = damages.reduce(apply, new Uint8Array(Buffer.from(text, 'utf8')))
    judge(bytes)
  })
  fc.assert(property, seed === undefined ? { numRuns: runs } : { numRuns: runs, seed })
}

function apply(
  bytes: Uint8Array,
  { act, place, byte }: { act: string; place: number; byte: number },
): Uint8Array {
  const at = Math.min(Math.floor(place * bytes.length), bytes.length - 1)
  const parts = [...bytes]
  if (act === 'set') parts[at] = byte
  else if (act === 'remove') parts.splice(at, 1)
  else if (act === 'double') parts.splice(at, 0, parts[at] ?? byte)
  else if (act === 'cut') parts.splice(at, 1 + (byte % 7))
  else parts.splice(at, 0, byte)
  return Uint8Array.from(parts)
}

function judge(bytes: Uint8Array): void {
  const oracle = parses(bytes)
  const scanned = accepts(() => scanJson(bytes))
  if (scanned !== oracle)
    throw new Error(`scanner says ${scanned}, JSON.parse says ${oracle}: ${show(bytes)}`)
  const strict = accepts(() => checkStrict(bytes))
  const canonical = accepts(() => canonicalJson(bytes))
  if ((strict || canonical) && !oracle)
    throw new Error(`accepted what JSON.parse refuses: ${show(bytes)}`)
  const message = parseMessage(bytes)
  if (message.kind !== 'fault' && !oracle)
    throw new Error(`a message that is no JSON: ${show(bytes)}`)
}

function parses(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    return true
  } catch {
    return false
  }
}

function accepts(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch (error) {
    if (error instanceof JsonFault) return false
    throw error
  }
}

function show(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

if (import.meta.main) {
  const [runs = '100000', seed] = process.argv.slice(2)
  fuzz(Number(runs), seed === undefined ? undefined : Number(seed))
  console.log(`${runs} damaged texts: no hang, no foreign error, no false acceptance`)
}

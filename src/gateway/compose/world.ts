/** Clock, ids and digests for core, made from the platform. */
import { hash, randomBytes } from 'node:crypto'
import type { Clock, Digest, Ids } from '../../core/ports/world.ts'
import { canonicalJson } from '../../mcp/wire/canonical.ts'

export const systemClock: Clock = { now: () => Date.now() }

// Crockford's alphabet, lower case: no i, l, o, u, so that an id survives being read aloud.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_LENGTH = 9
const RANDOM_LENGTH = 16
/** Ids that one draw of random bytes lasts for. */
const STOCK = 64

/** Ids that sort by time and carry 80 random bits: `c-…` for calls, `t-…` for tasks. Not credentials all the same. */
export function createIds(clock: Clock): Ids {
  const draw = createLetters()
  return { call: () => `c-${makeId(clock, draw)}`, task: () => `t-${makeId(clock, draw)}` }
}

export const digest: Digest = {
  text: (text) => hash('sha256', text),
  json: (json) => hash('sha256', canonicalJson(json.bytes)),
  jsonValue: ({ bytes }) => hash('sha256', canonicalJson(bytes, undefined, { numbers: 'value' })),
}

function makeId(clock: Clock, draw: () => string): string {
  let time = ''
  for (let rest = clock.now(), place = 0; place < TIME_LENGTH; place += 1) {
    time = ALPHABET.charAt(rest % 32) + time
    rest = Math.floor(rest / 32)
  }
  return time + draw()
}

/** Random letters, from bytes drawn a thousand at a time: one draw costs as much as a hundred ids. */
function createLetters(): () => string {
  let stock: Uint8Array = new Uint8Array(0)
  let used = 0
  return () => {
    if (used === stock.length) {
      stock = randomBytes(RANDOM_LENGTH * STOCK)
      used = 0
    }
    let letters = ''
    for (const end = used + RANDOM_LENGTH; used < end; used += 1)
      letters += ALPHABET.charAt((stock[used] ?? 0) & 31)
    return letters
  }
}

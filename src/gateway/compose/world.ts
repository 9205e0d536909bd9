/** Clock, ids and digests for core, made from the platform. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock, Digest, Ids } from '../../core/ports/world.ts'
import { canonicalJson } from '../../mcp/wire/canonical.ts'

export const systemClock: Clock = { now: () => Date.now() }

// Crockford's alphabet, lower case: no i, l, o, u, so that an id survives being read aloud.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_LENGTH = 9
const RANDOM_LENGTH = 16

/** Ids that sort by time and carry 80 random bits: `c-…` for calls, `t-…` for tasks. Not credentials all the same. */
export function createIds(clock: Clock): Ids {
  return { call: () => `c-${makeId(clock)}`, task: () => `t-${makeId(clock)}` }
}

export const digest: Digest = {
  text: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
  json: (json) => createHash('sha256').update(canonicalJson(json.bytes)).digest('hex'),
  jsonValue: ({ bytes }) =>
    createHash('sha256')
      .update(canonicalJson(bytes, undefined, { numbers: 'value' }))
      .digest('hex'),
}

function makeId(clock: Clock): string {
  let time = ''
  for (let rest = clock.now(), place = 0; place < TIME_LENGTH; place += 1) {
    time = ALPHABET.charAt(rest % 32) + time
    rest = Math.floor(rest / 32)
  }
  const random = Array.from(randomBytes(RANDOM_LENGTH), (byte) => ALPHABET.charAt(byte & 31)).join(
    '',
  )
  return time + random
}

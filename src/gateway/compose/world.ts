/** Clock, ids and digests for core, made from the platform. */
import { createHash, hash, randomBytes } from 'node:crypto'
import type { Clock, Digest, Ids } from '../../core/ports/world.ts'
import { canonicalParts, type CanonicalOptions } from '../../mcp/wire/canonical.ts'

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
  const timeOf = createTimes()
  return {
    call: () => `c-${timeOf(clock.now())}${draw()}`,
    task: () => `t-${timeOf(clock.now())}${draw()}`,
  }
}

/** As core's port of that name. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

export const digest: Digest = {
  text: (text) => hash('sha256', text),
  json: ({ bytes }) => digestOf(bytes, LEXEMES),
  jsonValue: ({ bytes }) => digestOf(bytes, VALUES),
}

/** A JsonText was scanned before. */
const LEXEMES: CanonicalOptions = { validated: true }
const VALUES: CanonicalOptions = { validated: true, numbers: 'value' }
/** From so many bytes on, joining them costs more than a hash that takes them one by one. */
const MANY_BYTES = 4096

function digestOf(bytes: Uint8Array, options: CanonicalOptions): string {
  const parts = canonicalParts(bytes, undefined, options)
  const [first] = parts
  if (parts.length === 1 && first !== undefined) return hash('sha256', first)
  if (bytes.length < MANY_BYTES) return hash('sha256', Buffer.concat(parts))
  const hashing = createHash('sha256')
  for (const part of parts) hashing.update(part)
  return hashing.digest('hex')
}

/** A time in letters; ids of one millisecond share it. */
function createTimes(): (now: number) => string {
  let last = Number.NaN
  let letters = ''
  return (now) => {
    if (now === last) return letters
    last = now
    letters = ''
    for (let rest = now, place = 0; place < TIME_LENGTH; place += 1) {
      letters = ALPHABET.charAt(rest % 32) + letters
      rest = Math.floor(rest / 32)
    }
    return letters
  }
}

/** Random letters, from bytes drawn a thousand at a time: one draw costs as much as a hundred ids. */
function createLetters(): () => string {
  let stock = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used === stock.length) {
      stock = randomBytes(RANDOM_LENGTH * STOCK)
      for (let at = 0; at < stock.length; at += 1)
        stock[at] = ALPHABET.charCodeAt((stock[at] ?? 0) & 31)
      used = 0
    }
    used += RANDOM_LENGTH
    return stock.toString('latin1', used - RANDOM_LENGTH, used)
  }
}

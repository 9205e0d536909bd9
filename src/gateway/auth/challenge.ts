/**
 * What a peer says when it refuses: the Bearer and DPoP challenges of its `WWW-Authenticate` fields.
 *
 * Lenient in what servers get wrong (letter case, values without quotes), strict in what is taken: first word wins.
 *
 * @source RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9449, section 7.1; RFC 9728, section 5.1.
 */
import { splitScopes } from './scopes.ts'

/** One challenge that we can meet. Parameters are the peer's words, unchecked. */
export interface Challenge {
  readonly scheme: 'bearer' | 'dpop'
  readonly error?: string
  readonly errorDescription?: string
  readonly scope?: string
  readonly resourceMetadata?: string
}

/** More than this of a refusal is not read, characters. */
const MAX_FIELDS = 32 * 1024

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
const QUOTED = /"((?:[^"\\]|\\[\s\S])*)"/y
/** What servers leave without quotes, addresses among it. */
const UNQUOTED = /[^\s,"]+/y
const SPACE = /[ \t]*/y

/** @param fields each field as it came. @returns all Bearer and DPoP challenges, in their order. */
export function parseChallenges(fields: readonly string[]): Challenge[] {
  const found: { scheme: string; parameters: Map<string, string> }[] = []
  let room = MAX_FIELDS
  for (const field of fields) {
    room -= field.length
    if (room < 0) break
    found.push(...parseField(field))
  }
  return found.flatMap(({ scheme, parameters }) => {
    if (scheme !== 'bearer' && scheme !== 'dpop') return []
    const error = parameters.get('error')
    const errorDescription = parameters.get('error_description')
    const scope = parameters.get('scope')
    const resourceMetadata = parameters.get('resource_metadata')
    return [
      {
        scheme,
        ...(error !== undefined && { error }),
        ...(errorDescription !== undefined && { errorDescription }),
        ...(scope !== undefined && { scope }),
        ...(resourceMetadata !== undefined && { resourceMetadata }),
      },
    ]
  })
}

/** The challenge to go by: the first that says where its metadata lies, else the first with an error, else the first. */
export function pickChallenge(challenges: readonly Challenge[]): Challenge | undefined {
  return (
    challenges.find(({ resourceMetadata }) => resourceMetadata !== undefined) ??
    challenges.find(({ error }) => error !== undefined) ??
    challenges[0]
  )
}

/** The scopes that a challenge asks for. */
export function scopesOf(challenge: Challenge | undefined): readonly string[] | undefined {
  const scopes = splitScopes(challenge?.scope ?? '')
  return scopes.length === 0 ? undefined : scopes
}

function parseField(field: string) {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  const cursor = { text: field, at: 0 }
  while (cursor.at < field.length) {
    take(cursor, SPACE)
    const name = take(cursor, TOKEN)?.[0]
    if (name === undefined) {
      // A comma between elements, or something that is none: both are passed over.
      cursor.at += 1
      continue
    }
    const afterName = cursor.at
    take(cursor, SPACE)
    const current = challenges.at(-1)
    const isParameter = field[cursor.at] === '=' && current !== undefined
    if (!isParameter) {
      challenges.push({ scheme: name.toLowerCase(), parameters: new Map() })
      // After a space alone: tried at every letter, a long one would be read as often as it has letters.
      cursor.at = cursor.at > afterName ? skipToken68(field, cursor.at) : afterName
      continue
    }
    cursor.at += 1
    take(cursor, SPACE)
    const value = takeValue(cursor)
    const key = name.toLowerCase()
    // Said twice is said once: what comes later must not replace it.
    if (value !== undefined && !current.parameters.has(key)) current.parameters.set(key, value)
  }
  return challenges
}

/** The blob of schemes such as Negotiate, which is no parameter. @returns where it ends. */
function skipToken68(field: string, at: number): number {
  const blob = /[0-9A-Za-z\-._~+/]+=*(?=[ \t]*(?:,|$))/y
  blob.lastIndex = at
  return blob.test(field) ? blob.lastIndex : at
}

function takeValue(cursor: Cursor): string | undefined {
  const quoted = take(cursor, QUOTED)
  if (quoted !== undefined) return quoted[1]?.replaceAll(/\\([\s\S])/g, '$1')
  return take(cursor, UNQUOTED)?.[0]
}

interface Cursor {
  readonly text: string
  at: number
}

function take(cursor: Cursor, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = cursor.at
  const match = pattern.exec(cursor.text)
  if (match === null) return undefined
  cursor.at = pattern.lastIndex
  return match
}

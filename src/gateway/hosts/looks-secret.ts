/**
 * Whether a value of a host's file looks like a secret, by its name or by itself. Errs towards yes: a secret that is
 * moved to a file of its own does no harm when it was none.
 */

const NAMES =
  /token|key|secret|passw|passphrase|pwd|authorization|auth|credential|cookie|bearer|private|session|signature|dsn|connection/i
/** What well-known services put before theirs. */
const PREFIXES =
  /^(sk-|sk_|pk_|rk_|gh[opsu]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|AIza|eyJ[A-Za-z0-9_-]+\.|npm_|hf_|ntn_|secret_|Bearer |Basic )/
const PLAIN = /^(|true|false|yes|no|on|off|none|[0-9]{1,6}(\.[0-9]+)?)$/i
const PATH = /^(~?\/|\.{1,2}\/|[A-Za-z]:[\\/])[^:]*$/
const REFERENCE = /^\$\{(env|file):[^}]*\}$/
const REFERENCES = String.raw`\$\{(?:env|file):[^}]*\}`
const MIN_RANDOM_LENGTH = 20
const MIN_RANDOM_BITS = 3.5

/** @param name of the variable or header; empty when there is none. */
export function looksSecret(name: string, value: string): boolean {
  if (PLAIN.test(value) || REFERENCE.test(value)) return false
  if (hasReference(value)) return restLooksSecret(value)
  if (PREFIXES.test(value) || hasUserInfo(value)) return true
  if (PATH.test(value)) return false
  return NAMES.test(name) || looksRandom(value)
}

/** Whether a value takes something from a variable or a file. */
export function hasReference(value: string): boolean {
  return new RegExp(REFERENCES, 'u').test(value)
}

/** What stands beside the references: `Bearer ${env:TOKEN}` says nothing by itself. */
function restLooksSecret(value: string): boolean {
  const rest = value.replaceAll(new RegExp(REFERENCES, 'gu'), '').trim()
  if (/^(?:Bearer|Basic|Token)?$/i.test(rest)) return false
  return PREFIXES.test(rest) || hasUserInfo(rest) || looksRandom(rest)
}

/** `scheme://user:password@host`, as database addresses have it. */
function hasUserInfo(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/\s]*:[^/\s]*@/i.test(value) || hasSecretParameter(value)
}

function hasSecretParameter(value: string): boolean {
  const url = URL.parse(value)
  if (url === null || url.search === '') return false
  return [...url.searchParams].some(
    ([name, text]) => text !== '' && (NAMES.test(name) || looksRandom(text)),
  )
}

/** Long, without spaces, of letters and digits mixed, and hard to guess. */
function looksRandom(value: string): boolean {
  if (value.length < MIN_RANDOM_LENGTH || !/^[A-Za-z0-9+/=_.~-]+$/.test(value)) return false
  return /[0-9]/.test(value) && /[A-Za-z]/.test(value) && bitsPerCharacter(value) >= MIN_RANDOM_BITS
}

/** @source Shannon entropy over the characters of the value itself */
function bitsPerCharacter(value: string): number {
  const counts = new Map<string, number>()
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) {
    const share = count / value.length
    bits -= share * Math.log2(share)
  }
  return bits
}

/** A secret among arguments: where it begins in the argument, and what it is called. */
export interface SecretArgument {
  readonly index: number
  /** The secret is everything from here to the end of the argument. */
  readonly from: number
  readonly name: string
}

/** Finds `--api-key x`, `--token=x`, `Authorization: Bearer x` and values with a well-known beginning. */
export function secretArguments(args: readonly string[]): readonly SecretArgument[] {
  return args.flatMap((argument, index): SecretArgument[] => {
    const assigned = /^(-{0,2}[A-Za-z0-9_.-]+)(=|:\s*)(?=[^/])/.exec(argument)
    if (assigned !== null) {
      const name = assigned[1] ?? ''
      const from = assigned[0].length
      return looksNamedSecret(name, argument.slice(from)) ? [{ index, from, name }] : []
    }
    const flag = args[index - 1] ?? ''
    const name = /^--?[A-Za-z]/.test(flag) && !flag.includes('=') ? flag : ''
    if (argument.startsWith('-')) return []
    return looksNamedSecret(name, argument) ? [{ index, from: 0, name }] : []
  })
}

/** Among arguments a name or a known beginning decides: package names and paths look random too. */
function looksNamedSecret(name: string, value: string): boolean {
  if (PLAIN.test(value) || REFERENCE.test(value)) return false
  if (hasReference(value)) return restLooksSecret(value)
  if (PREFIXES.test(value) || hasUserInfo(value)) return true
  return name !== '' && NAMES.test(name) && !PATH.test(value)
}

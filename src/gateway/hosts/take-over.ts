/**
 * One server of a host's file as an entry of comity.yaml: which keys are taken, what becomes a secret file, and what a
 * person must be told. Pure.
 */
import { isOurHeader } from '../config/cross-checks.ts'
import { foreignKeyReason } from '../config/foreign-keys.ts'
import { hasReference, looksSecret, secretArguments } from './looks-secret.ts'

/** A secret that leaves the host's file for one of its own. */
export interface SecretFile {
  /** Relative to the config file, with forward slashes. */
  readonly path: string
  readonly value: string
}

export interface TakenServer {
  /** The peer's name in comity.yaml. */
  readonly name: string
  readonly entry: Readonly<Record<string, unknown>>
  readonly secrets: readonly SecretFile[]
  /** What starts or is reached, in full, as comity.yaml will have it: secrets by their files. */
  readonly launchLine: string
  /** What was not taken as it stood, and why. */
  readonly notes: readonly string[]
}

function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey)
}

/**
 * @param name a peer's name, no other server's in any case.
 * @returns `left` with the reason when the entry stays in the host's file.
 */
export function takeServer(name: string, value: unknown): TakenServer | { readonly left: string } {
  const taken = takeEntry(name, value)
  // In a file of its own a reference would be text like any other.
  if ('left' in taken || !taken.secrets.some((secret) => hasReference(secret.value))) return taken
  return { left: 'one of its values is a secret and a reference at once; name both by reference' }
}

function takeEntry(name: string, value: unknown): TakenServer | { readonly left: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { left: 'it is no JSON object' }
  }
  if (hasProtoKey(value))
    return { left: 'a key of it is called __proto__, which no config can have' }
  const given = value as Readonly<Record<string, unknown>>
  const secrets: SecretFile[] = []
  const keep = (key: string, text: string): string => {
    const path = `./secrets/${name}.${safeName(key)}`
    const used = secrets.some((secret) => secret.path.toLowerCase() === path.toLowerCase())
    const free = used ? `${path}-${secrets.length}` : path
    secrets.push({ path: free, value: text })
    return `\${file:${free}}`
  }
  const notes = notesOn(given)
  if (typeof given['command'] === 'string' && given['command'] !== '') {
    const args = takeArguments(given['args'], keep)
    if (args === undefined) return { left: 'its args are not a list of text' }
    const env = takeTexts(given['env'], keep)
    if (env === undefined) return { left: 'its env is not a mapping to text' }
    const entry = present({
      command: given['command'],
      args,
      env,
      cwd: textOf(given['cwd']),
      ...turned(given),
    })
    return { name, entry, secrets, notes, launchLine: launchLine(given['command'], args, env) }
  }
  if (typeof given['url'] === 'string' && /^https?:\/\//i.test(given['url'])) {
    const url = looksSecret('', given['url']) ? keep('url', given['url']) : given['url']
    const [ours, own] = splitHeaders(given['headers'])
    const headers = takeTexts(own, keep)
    if (headers === undefined) return { left: 'its headers are not a mapping to text' }
    const entry = present({ url, headers, ...turned(given) })
    const dropped = ours.map((header) => `the header ${header} is not taken over: comity sets it`)
    return {
      name,
      entry,
      secrets,
      notes: [...notes, ...dropped],
      launchLine: reachLine(url, headers),
    }
  }
  return { left: 'it has neither a command nor an http(s) url' }
}

const TAKEN = new Set(['command', 'args', 'env', 'cwd', 'url', 'headers', 'disabled', 'enabled'])

function notesOn(given: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(given)
    .filter((key) => !TAKEN.has(key))
    .map((key) => `${key} is not taken over: ${foreignKeyReason(key) ?? 'comity does not know it'}`)
}

function turned(given: Readonly<Record<string, unknown>>): { readonly disabled: true | undefined } {
  return { disabled: given['disabled'] === true || given['enabled'] === false ? true : undefined }
}

type Keep = (key: string, text: string) => string

function takeArguments(value: unknown, keep: Keep): readonly string[] | undefined {
  const given: unknown = value ?? []
  if (!Array.isArray(given)) return undefined
  const args = given.map(textOf)
  if (!args.every((argument) => argument !== undefined)) return undefined
  const secrets = secretArguments(args)
  return args.map((argument, index) => {
    const secret = secrets.find((found) => found.index === index)
    if (secret === undefined) return argument
    const name = secret.name.replace(/^-+/, '') || `arg${index}`
    return argument.slice(0, secret.from) + keep(name, argument.slice(secret.from))
  })
}

function takeTexts(value: unknown, keep: Keep): Readonly<Record<string, string>> | undefined {
  const given: unknown = value ?? {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  const taken: [string, string][] = []
  for (const [key, item] of Object.entries(given)) {
    const text = textOf(item)
    if (text === undefined) return undefined
    taken.push([key, looksSecret(key, text) ? keep(key, text) : text])
  }
  return Object.fromEntries(taken)
}

/** Names of headers that comity sets itself, and the rest. */
function splitHeaders(value: unknown): readonly [readonly string[], unknown] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[], value]
  const entries = Object.entries(value)
  const ours = entries.map(([header]) => header).filter(isOurHeader)
  return [ours, Object.fromEntries(entries.filter(([header]) => !isOurHeader(header)))]
}

/** Hosts accept numbers and switches where a program only ever sees text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

function present(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).filter(([, item]) => {
      if (item === undefined) return false
      return typeof item !== 'object' || item === null || Object.keys(item).length > 0
    }),
  )
}

function safeName(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, 60) || '_'
}

/** As one would type it: variables, then the program, then its arguments, each quoted where a shell would need it. */
function launchLine(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`)
  return [...variables, ...[command, ...args].map(quoted)].join(' ')
}

function reachLine(url: string, headers: Readonly<Record<string, string>>): string {
  const said = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return said.length === 0 ? url : `${url} with ${said.join(', ')}`
}

function quoted(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

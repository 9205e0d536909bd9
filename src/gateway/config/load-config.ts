/**
 * Reads, checks and expands `comity.yaml`. All mistakes are told at once, none with a value that may be a secret.
 *
 * Order: bytes, YAML, references, form (schema.ts), meaning (cross-checks.ts), defaults (build-config.ts).
 */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { z } from 'zod'
import { ComityError } from '../../core/words/errors.ts'
import { buildConfig } from './build-config.ts'
import type { Config } from './config.ts'
import { crossCheck } from './cross-checks.ts'
import { expandFile } from './expand-file.ts'
import type { Mistake } from './mistakes.ts'
import { sayMistakes, sayPath, sayValue } from './mistakes.ts'
import { asMapping } from './plain.ts'
import type { YamlText } from './read-yaml.ts'
import { readYaml } from './read-yaml.ts'
import { configSchema } from './schema.ts'

type Environment = Readonly<Record<string, string | undefined>>

const MAX_CONFIG_BYTES = 1024 * 1024

/**
 * Loads one config file.
 *
 * @param env for `${env:...}` and the user's directories.
 * @throws ComityError `config_invalid` with every mistake, each with path, line, what was expected and what came.
 */
export function loadConfig(file: string, env: Environment): Config {
  const checked = checkConfig(file, env)
  if ('config' in checked) return checked.config
  throw new ComityError('config_invalid', sayMistakes(file, checked.mistakes))
}

/** As `loadConfig`, with the mistakes as data. */
export function checkConfig(
  file: string,
  env: Environment,
): { readonly config: Config } | { readonly mistakes: readonly Mistake[] } {
  const read = readText(file)
  if ('mistakes' in read) return read
  try {
    const yaml = readYaml(read.text)
    return 'mistakes' in yaml ? yaml : checkValue(yaml, read.realFile, env)
  } catch (error) {
    // The parser and our walks recurse: what overflows the stack is no config.
    if (!(error instanceof RangeError)) throw error
    return { mistakes: [{ path: [], message: 'nested too deeply' }] }
  }
}

function checkValue(
  yaml: YamlText,
  realFile: string,
  env: Environment,
): { readonly config: Config } | { readonly mistakes: readonly Mistake[] } {
  const expanded = expandFile(yaml.value, { env, directory: dirname(realFile) })
  // Read once: code made for it would cost more than it saves.
  const parsed = configSchema.safeParse(expanded.value, { jitless: true })
  const form = parsed.success
    ? []
    : parsed.error.issues.flatMap((issue) => sayIssue(issue, yaml.value))
  const unresolved = new Set(expanded.mistakes.map(({ path }) => sayPath(path)))
  const rest = [...form, ...crossCheck(expanded.value)].filter(
    // A value whose reference failed is not judged as if it were what was meant.
    ({ path }) => !unresolved.has(sayPath(path)),
  )
  const mistakes = [...expanded.mistakes, ...rest].map((mistake) => {
    const line = yaml.lineOf(mistake.path)
    const path = hideTokenKey(mistake.path, yaml.value)
    return { ...mistake, path, ...(line === undefined ? {} : { line }) }
  })
  if (!parsed.success || mistakes.length > 0) return { mistakes }
  const { brought, foreign } = expanded
  return { config: buildConfig(parsed.data, yaml, { realFile, env, brought, foreign }) }
}

function readText(
  file: string,
):
  | { readonly text: string; readonly realFile: string }
  | { readonly mistakes: readonly Mistake[] } {
  const fault = (message: string): { readonly mistakes: readonly Mistake[] } => ({
    mistakes: [{ path: [], message }],
  })
  try {
    const realFile = realpathSync(file)
    const stat = statSync(realFile)
    if (!stat.isFile()) return fault('expected a file, this is none')
    if (stat.size > MAX_CONFIG_BYTES) {
      return fault(`expected at most ${MAX_CONFIG_BYTES} bytes, got ${stat.size}`)
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(realFile))
    return { text, realFile }
  } catch (error) {
    if (error instanceof TypeError) return fault('expected UTF-8 text, got other bytes')
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
    return fault(`cannot be read (${code})`)
  }
}

/** One issue of the schema as mistakes: an unknown key each has its own. */
function sayIssue(issue: z.core.$ZodIssue, value: unknown): Mistake[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
  if (issue.code === 'unrecognized_keys') {
    const messages = issue.message.split('\n')
    return issue.keys.map((key, index) => ({
      path: [...path, key],
      message: messages[index] ?? issue.message,
    }))
  }
  if (issue.code === 'invalid_key') {
    return [{ path, message: `expected ${issue.issues[0]?.message ?? 'another name'}` }]
  }
  const inner = issue.code === 'invalid_union' ? innermost(issue) : undefined
  if (inner !== undefined) return sayIssue({ ...inner, path: [...path, ...inner.path] }, value)
  return [
    { path, message: `expected ${issue.message}; got ${sayValue(valueAt(value, path), path)}` },
  ]
}

/** Of a union of text and list, the fault inside the list when a list came: it says more. */
function innermost(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue | undefined {
  return issue.errors.flat().find((fault) => fault.path.length > 0)
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let node = value
  for (const step of path) {
    node = Array.isArray(node) ? node[Number(step)] : asMapping(node)[String(step)]
  }
  return node
}

/** `tokens: { <secret>: alice }` is the section turned round: then the key is the secret. */
function hideTokenKey(path: Mistake['path'], value: unknown): Mistake['path'] {
  const [section, key, ...rest] = path
  if (section !== 'tokens' || key === undefined) return path
  const entry = valueAt(value, [section, key])
  return typeof entry === 'object' && entry !== null ? path : [section, '(a principal)', ...rest]
}

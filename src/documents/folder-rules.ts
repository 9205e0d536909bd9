/**
 * The file `comity-docs.yaml` at a folder's root: who may read what, and by which tokens callers
 * over HTTP are known.
 *
 * It is the operator's, so a mistake in it is reported whole and nothing of the folder is served
 * until it is mended: half of a set of rules may be the half that opens.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { ANONYMOUS } from './readers.ts'

/** The one name of the file. */
export const RULES_FILE = 'comity-docs.yaml'
const MAX_RULES_BYTES = 1_048_576

/** What a folder's file says. */
export interface FolderRules {
  readonly readers: readonly { readonly pattern: string; readonly names: readonly string[] }[]
  readonly tokens: readonly { readonly principal: string; readonly token: string }[]
  /** Absolute paths of the files that hold tokens: never documents. */
  readonly secretFiles: readonly string[]
}

/** Every mistake of one file, each with its path and what was expected. */
export interface RulesMistakes {
  readonly mistakes: readonly string[]
}

const NAME = z.string().min(1, 'expected a name')
const SHAPE = z.strictObject({
  documents: z
    .record(z.string(), z.strictObject({ readers: z.array(NAME, 'expected a list of names') }))
    .optional(),
  tokens: z.record(NAME, z.string('expected a token, ${file:…} or ${env:…}')).optional(),
})

/** Whether a file of this name is configuration of ours (or was meant to be) and so never a document. */
export function isRulesName(name: string): boolean {
  return /^comity-docs\.(?:ya?ml|json)$/iu.test(name)
}

/**
 * Parses the file's content.
 *
 * @param folder absolute; `${file:…}` is relative to it.
 * @param lookupEnvironment gives the value of `${env:NAME}`.
 */
export function parseFolderRules(
  content: string,
  folder: string,
  lookupEnvironment: (name: string) => string | undefined,
): FolderRules | RulesMistakes {
  if (content.length > MAX_RULES_BYTES) {
    return { mistakes: [`expected at most ${MAX_RULES_BYTES} characters, got ${content.length}`] }
  }
  const document = parseDocument(content, { logLevel: 'silent' })
  if (document.errors.length > 0) {
    const places = document.errors.map((error) => error.linePos?.[0].line)
    return { mistakes: places.map((line) => `line ${line ?? '?'}: expected valid YAML`) }
  }
  const parsed = SHAPE.safeParse(document.toJS() ?? {})
  if (!parsed.success) {
    return { mistakes: parsed.error.issues.map(sayIssue) }
  }
  const patterns = Object.keys(parsed.data.documents ?? {})
  const resolved = Object.entries(parsed.data.tokens ?? {}).map(([principal, reference]) =>
    resolveToken(principal, reference, folder, lookupEnvironment),
  )
  const mistakes = [
    ...patterns.filter((pattern) => /^[/\\]|^\.|^$/u.test(pattern)).map(sayBadPattern),
    ...resolved.flatMap((each) => ('mistake' in each ? [each.mistake] : [])),
  ]
  if (mistakes.length > 0) return { mistakes }
  const tokens = resolved.flatMap((each) => ('mistake' in each ? [] : [each]))
  return {
    readers: Object.entries(parsed.data.documents ?? {}).map(([pattern, { readers }]) => ({
      pattern,
      names: readers,
    })),
    tokens: tokens.map(({ principal, token }) => ({ principal, token })),
    secretFiles: tokens.flatMap(({ file }) => (file === undefined ? [] : [realpathSync(file)])),
  }
}

function sayIssue(issue: {
  readonly path: readonly PropertyKey[]
  readonly message: string
}): string {
  return issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`
}

function sayBadPattern(pattern: string): string {
  return `documents.${pattern}: expected a pattern relative to the folder, like "drafts/**"`
}

type Resolved =
  | { readonly principal: string; readonly token: string; readonly file?: string }
  | { readonly mistake: string }

function resolveToken(
  principal: string,
  reference: string,
  folder: string,
  lookupEnvironment: (name: string) => string | undefined,
): Resolved {
  const path = `tokens.${principal}`
  if (principal === ANONYMOUS) {
    return { mistake: `${path}: "${ANONYMOUS}" is who has no token; expected another name` }
  }
  const [, kind, name] = /^\$\{(env|file):(.+)\}$/u.exec(reference) ?? []
  if (kind === 'env' && name !== undefined) {
    const token = lookupEnvironment(name)
    if (token === undefined) return { mistake: `${path}: the variable ${name} is not set` }
    return checkToken(path, { principal, token })
  }
  if (kind === 'file' && name !== undefined) {
    const file = resolve(folder, name)
    try {
      return checkToken(path, { principal, token: readFileSync(file, 'utf8').trim(), file })
    } catch {
      return { mistake: `${path}: the file ${file} cannot be read` }
    }
  }
  return checkToken(path, { principal, token: reference })
}

/** Only what can stand in an Authorization header (RFC 6750, section 2.1); the token itself is never shown. */
function checkToken(
  path: string,
  found: { readonly principal: string; readonly token: string; readonly file?: string },
): Resolved {
  return /^[A-Za-z0-9\-._~+/]+=*$/u.test(found.token)
    ? found
    : { mistake: `${path}: expected letters, digits and -._~+/ only (RFC 6750)` }
}

/**
 * The repository's TypeScript as the checks see it: paths with `/`, tokens, and resolved imports.
 *
 * Reads files, judges nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { findImports, type ImportFound } from './imports.ts'
import { tokenize, type Tokens } from './tokens.ts'

/** An import with where it leads. */
export interface ResolvedImport extends ImportFound {
  /** Path from the repository's root when relative; undefined for packages and computed imports. */
  readonly target: string | undefined
}

/** One file, read once. */
export interface SourceFile extends Tokens {
  /** From the repository's root, with `/`. */
  readonly path: string
  readonly lines: number
  readonly imports: readonly ResolvedImport[]
}

/** Reads one source text as if it stood at `path`. */
export function readSource(path: string, source: string): SourceFile {
  const { tokens, comments } = tokenize(source)
  const imports = findImports(tokens).map((found) => ({ ...found, target: resolve(path, found) }))
  const lines = source.split('\n').length - (source.endsWith('\n') ? 1 : 0)
  return { path, tokens, comments, imports, lines }
}

function resolve(from: string, { specifier, kind }: ImportFound): string | undefined {
  if (specifier === undefined || !/^\.{1,2}(?:\/|$)/.test(specifier)) return undefined
  const target = posix.join(posix.dirname(from), specifier)
  // A worker may name what its source becomes; the rule is about the source.
  return kind === 'url' ? target.replace(/\.js$/, '.ts') : target
}

/**
 * Reads every TypeScript file below the given folders.
 *
 * @param folders from the root; one that does not exist has no files.
 * @returns in order of path.
 */
export function readTree(root: string, folders: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) => listFiles(root, folder))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .sort()
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')))
}

/** Every file below a folder of the root, in no order; none when the folder does not exist. */
export function listFiles(root: string, folder: string): string[] {
  let entries
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  return entries.flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (!entry.isDirectory()) return entry.isFile() ? [path] : []
    return entry.name === 'node_modules' || entry.name === 'out' ? [] : listFiles(root, path)
  })
}

/** Test code: never published, may use any development dependency. */
export function isTest(path: string): boolean {
  return /\.(?:test|fixture)\.ts$|\/testing\//.test(path)
}

/** Generated code: exempt from what is about reading. */
export function isGenerated(path: string): boolean {
  return path.endsWith('.gen.ts')
}

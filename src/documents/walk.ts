/**
 * The walk: which files under a folder may become documents.
 *
 * A link is followed only to a file within the folder, and such a file answers to the rules of
 * both its paths. Links to folders are not followed: what they show within the folder has its own
 * path already, and what lies outside is not ours to serve.
 */
import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { isRulesName } from './folder-rules.ts'
import type { Format } from './header.ts'

const MAX_DEPTH = 64

/** A file that may become a document. */
export interface FoundFile {
  /** Relative to the folder, with `/`. */
  readonly path: string
  /** The same of what a link leads to; equal to `path` without one. */
  readonly truePath: string
  /** Absolute, without links. */
  readonly file: string
  readonly format: Format
  /** Changes when the file's bytes may have changed. */
  readonly stamp: string
}

/** A file that will not be served, and why. */
export interface SkippedFile {
  readonly path: string
  readonly reason: string
}

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['.md', 'markdown'],
  ['.markdown', 'markdown'],
  ['.txt', 'text'],
  ['.yaml', 'yaml'],
  ['.yml', 'yaml'],
  ['.json', 'json'],
  ['.html', 'html'],
  ['.htm', 'html'],
])
/** Of TypeScript only declarations are documents. */
const DECLARATIONS = /\.d\.[cm]?ts$/iu

/**
 * Lists a folder's files, sorted by path.
 *
 * @param root absolute and without links.
 * @param maxFiles what is found beyond it is skipped.
 */
export async function walkFolder(
  root: string,
  maxFiles: number,
): Promise<{ readonly files: FoundFile[]; readonly skipped: SkippedFile[] }> {
  const files: FoundFile[] = []
  const skipped: SkippedFile[] = []
  const take = async (path: string, entry: Dirent): Promise<void> => {
    const isOurs = formatOf(path) !== undefined && (entry.isFile() || entry.isSymbolicLink())
    if (!isOurs || isRulesName(entry.name)) return
    const found = await inspectFile(root, path)
    if ('file' in found) files.push(found)
    else skipped.push({ path, reason: found.reason })
  }
  const enter = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(
      () => undefined,
    )
    if (entries === undefined || depth > MAX_DEPTH) {
      const reason =
        entries === undefined ? 'the folder cannot be read' : 'the folder lies too deep'
      skipped.push({ path: folder, reason })
      return
    }
    const pathOf = (entry: Dirent): string =>
      folder === '' ? entry.name : `${folder}/${entry.name}`
    await Promise.all(entries.map((entry) => take(pathOf(entry), entry)))
    for (const entry of entries) {
      if (files.length > maxFiles) return
      if (entry.isDirectory() && !isSkippedFolder(entry.name)) await enter(pathOf(entry), depth + 1)
    }
  }
  await enter('', 0)
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  for (const { path } of files.splice(maxFiles)) {
    skipped.push({ path, reason: `there are more than ${maxFiles} files` })
  }
  return { files, skipped }
}

/**
 * Looks at one file again: what it is now, or why it is not served.
 *
 * @param path one that a walk has found: its own segments are not judged again.
 */
export async function inspectFile(
  root: string,
  path: string,
): Promise<FoundFile | { readonly reason: string }> {
  const format = formatOf(path)
  if (format === undefined) return { reason: 'its format is not served' }
  try {
    const file = await realpath(join(root, path))
    const truePath = relative(root, file).split(sep).join('/')
    if (truePath === '..' || truePath.startsWith('../'))
      return { reason: 'a link out of the folder' }
    if (isHidden(truePath)) return { reason: 'a link to a file that is not served' }
    const stats = await lstat(file, { bigint: true })
    if (!stats.isFile()) return { reason: 'it is not a file' }
    return { path, truePath, file, format, stamp: stampOf(stats) }
  } catch {
    return { reason: 'it cannot be read' }
  }
}

/** What changes when a file's bytes may have changed. */
export function stampOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

function formatOf(path: string): Format | undefined {
  return DECLARATIONS.test(path) ? 'typescript' : FORMATS.get(extname(path).toLowerCase())
}

function isSkippedFolder(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.')
}

function isHidden(truePath: string): boolean {
  const segments = truePath.split('/')
  const name = segments.pop() ?? ''
  return segments.some(isSkippedFolder) || isRulesName(name) || formatOf(name) === undefined
}

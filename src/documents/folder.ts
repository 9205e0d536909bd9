/**
 * One folder: its files as documents, in step with the disk, under the rules at its root.
 *
 * Decides who may read each document and tells every change. When it looks again, and what is
 * done with the documents, is open-documents.ts's.
 */
import type { Document, Reading } from './document.ts'
import { readDocument } from './document.ts'
import type { Audience } from './readers.ts'
import { intersectReaders, matchesPattern } from './readers.ts'
import type { FoundFile, SkippedFile } from './walk.ts'
import { inspectFile, walkFolder } from './walk.ts'
import type { Rules } from './watch-rules.ts'
import { watchRules } from './watch-rules.ts'

const MAX_FILES = 50_000
const READ_AT_ONCE = 8
const NOBODY: Audience = []

/** What a folder needs from outside. */
export interface FolderDependencies {
  /** Value of an environment variable named in `comity-docs.yaml`. */
  readonly lookupEnvironment: (name: string) => string | undefined
  /** A document is new, has changed, or (undefined) is gone. */
  readonly changed: (id: string, document: Document | undefined) => void
  /** Whether a document of this size still fits into memory beside the others. */
  readonly fits: (bytes: number) => boolean
}

/** A folder that is served. */
export interface Folder {
  readonly name: string
  /** Absolute, without links. */
  readonly root: string
  /** Reads `comity-docs.yaml` again if it, or a file it takes a token from, has changed. */
  refreshRules(): Promise<void>
  /** Looks at everything again. */
  refresh(): Promise<void>
  /** Looks at one known document again; true when it changed. */
  refreshOne(id: string): Promise<boolean>
  rules(): Rules
  /** Files that are not served, and why. */
  leftOut(): readonly SkippedFile[]
  /** Patterns of the rules that match no document: likely mistakes. */
  idlePatterns(): readonly string[]
}

interface Entry {
  readonly found: FoundFile
  readonly reading: Reading | { readonly reason: string }
  readonly document: Document | undefined
}

/** A folder that is not looked at yet. */
export function createFolder(
  name: string,
  root: string,
  { lookupEnvironment, changed, fits }: FolderDependencies,
): Folder {
  const entries = new Map<string, Entry>()
  let skipped: readonly SkippedFile[] = []
  const watch = watchRules(root, lookupEnvironment)

  const idOf = (path: string): string => `${name}/${path}`
  const forget = (path: string): boolean => {
    const known = entries.get(path)
    entries.delete(path)
    if (known?.document !== undefined) changed(idOf(path), undefined)
    return known?.document !== undefined
  }
  const place = (entry: Omit<Entry, 'document'>): void => {
    const { found, reading } = entry
    const before = entries.get(found.path)?.document
    const document = 'reason' in reading ? undefined : withAudience(reading, found, watch.current())
    entries.set(found.path, { ...entry, document })
    if (before !== undefined && document !== undefined && isSame(before, document)) return
    if (before !== undefined || document !== undefined) changed(idOf(found.path), document)
  }
  /** @returns whether what is served under this path changed. */
  const take = async (found: FoundFile): Promise<boolean> => {
    if (isSecret(watch.current(), found.file)) return forget(found.path)
    const known = entries.get(found.path)
    if (known !== undefined && isCurrent(known, found)) return false
    const read = await readDocument(idOf(found.path), found)
    const isNew = known?.document === undefined
    const tooMuch = isNew && 'document' in read && !fits(read.document.bytes)
    place({ found, reading: tooMuch ? { reason: 'the folders hold too much already' } : read })
    return entries.get(found.path)?.document?.digest !== known?.document?.digest
  }
  const refreshRules = async (): Promise<void> => {
    if (!(await watch.refresh())) return
    for (const entry of entries.values()) {
      if (isSecret(watch.current(), entry.found.file)) forget(entry.found.path)
      else place(entry)
    }
  }
  return {
    name,
    root,
    refreshRules,
    async refresh() {
      await refreshRules()
      const walked = await walkFolder(root, MAX_FILES)
      const paths = new Set(walked.files.map((found) => found.path))
      for (const path of entries.keys()) if (!paths.has(path)) forget(path)
      for (let at = 0; at < walked.files.length; at += READ_AT_ONCE) {
        await Promise.all(walked.files.slice(at, at + READ_AT_ONCE).map(take))
      }
      skipped = walked.skipped
    },
    async refreshOne(id) {
      const path = id.slice(name.length + 1)
      const known = entries.get(path)
      if (known === undefined) return false
      const found = await inspectFile(root, path)
      return 'file' in found ? take(found) : forget(path)
    },
    rules: watch.current,
    leftOut: () => [...skipped, ...[...entries.values()].flatMap(sayLeftOut)],
    idlePatterns: () => findIdlePatterns(watch.current(), [...entries.values()]),
  }
}

function isSecret(rules: Rules, file: string): boolean {
  return !('mistakes' in rules) && rules.secretFiles.includes(file)
}

function findIdlePatterns(rules: Rules, entries: readonly Entry[]): readonly string[] {
  if ('mistakes' in rules) return []
  const patterns = rules.readers.map(({ pattern }) => pattern)
  return patterns.filter((pattern) => !entries.some(({ found }) => speaksOf(pattern, found)))
}

function isCurrent(known: Entry, found: FoundFile): boolean {
  if (known.found.truePath !== found.truePath || known.found.stamp !== found.stamp) return false
  return 'reason' in known.reading || (known.reading.settled && known.reading.stamp === found.stamp)
}

function isSame(before: Document, after: Document): boolean {
  return (
    before.digest === after.digest &&
    before.modifiedAt === after.modifiedAt &&
    JSON.stringify(before.audience) === JSON.stringify(after.audience)
  )
}

function sayLeftOut({ found, reading }: Entry): SkippedFile[] {
  return 'reason' in reading ? [{ path: found.path, reason: reading.reason }] : []
}

/** A link answers to the rules of both its paths. */
function speaksOf(pattern: string, { path, truePath }: FoundFile): boolean {
  return matchesPattern(path, pattern) || matchesPattern(truePath, pattern)
}

function withAudience({ document, readers }: Reading, found: FoundFile, rules: Rules): Document {
  if ('mistakes' in rules) return { ...document, audience: NOBODY }
  const lists = rules.readers.filter(({ pattern }) => speaksOf(pattern, found))
  const named = lists.map(({ names }) => names)
  return { ...document, audience: intersectReaders(readers ? [...named, readers] : named) }
}

/**
 * The documents: folders on disk, kept in step with an index.
 *
 * Files are looked at again on access. A scan of everything runs as often as it is cheap (it may
 * take a twentieth of the time); what is about to be handed out is looked at each time, so text,
 * digest and readers are those of the file as it is now.
 */
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, resolve, sep } from 'node:path'
import { ComityError } from '../core/words/errors.ts'
import type { Document } from './document.ts'
import type { Folder, FolderDependencies } from './folder.ts'
import { createFolder } from './folder.ts'
import { isRulesName, RULES_FILE } from './folder-rules.ts'
import type { PassageIndex } from './passage-index.ts'
import { openPassageIndex } from './passage-index.ts'
import { mayRead } from './readers.ts'
import type { Retrieve } from './retrieve.ts'
import { createRetrieve } from './retrieve.ts'
import type { SkippedFile } from './walk.ts'

const MAX_TOTAL_BYTES = 512 * 1_048_576
/** A scan may take one part in this many of the time. */
const SCAN_SHARE = 20
/** Hits beyond these are not handed out, so their files need no second look. */
const MAX_CHECKED = 51
const MAX_SEARCH_ROUNDS = 3

/** What the documents need from outside. */
export interface DocumentsDependencies {
  /** Value of an environment variable that a `comity-docs.yaml` names. */
  readonly lookupEnvironment: (name: string) => string | undefined
  /** Milliseconds that only go forward. */
  readonly now: () => number
  /** Tells the operator that the rules of a folder broke while it is served, or are mended. */
  readonly notify: (message: string) => void
}

/** Documents of several folders, for several principals. */
export interface Documents {
  readonly retrieve: Retrieve
  /** What this principal may see, sorted by id. */
  list(principal: string): Promise<readonly Document[]>
  /** Undefined for a document that does not exist and for one that this principal may not see. */
  find(id: string, principal: string): Promise<Document | undefined>
  /** Calls back when a look at the disk found changes; returns the way to stop. */
  onChanged(listener: () => void): () => void
  /** Principals by their token. */
  tokens(): Promise<ReadonlyMap<string, string>>
  /** Everything that is not served, and likely mistakes in the rules, one sentence each. */
  notices(): readonly string[]
  close(): void
}

/**
 * Opens folders.
 *
 * @param folders absolute or relative paths; none may lie within another.
 * @throws ComityError `config_invalid` with every mistake: folders that are none, and all of
 *   what is wrong in their `comity-docs.yaml`.
 */
export async function openDocuments(
  folders: readonly string[],
  dependencies: DocumentsDependencies,
): Promise<Documents> {
  const roots = nameFolders(await resolveFolders(folders))
  const documents = new Map<string, Document>()
  const index = openPassageIndex()
  const listeners = new Set<() => void>()
  const folderPorts = folderDependencies(dependencies, documents, index, listeners)
  const opened = roots.map(({ name, root }) => createFolder(name, root, folderPorts))
  const mistakes: string[] = []
  for (const folder of opened) {
    await folder.refresh()
    mistakes.push(...sayMistakes(folder))
  }
  mistakes.push(...collectTokens(opened).mistakes)
  if (mistakes.length > 0) {
    index.close()
    throw new ComityError('config_invalid', mistakes.join('\n'))
  }
  return {
    ...createDocuments(opened, documents, index, dependencies),
    onChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function createDocuments(
  folders: readonly Folder[],
  documents: ReadonlyMap<string, Document>,
  index: PassageIndex,
  { now, notify }: DocumentsDependencies,
): Omit<Documents, 'onChanged'> {
  const inTurn = createTurns()
  const watchMistakes = createMistakeWatch(folders, notify)
  let nextScanAt = 0
  const lookAgain = async (): Promise<void> => {
    const startedAt = now()
    const isDue = startedAt >= nextScanAt
    for (const folder of folders) await (isDue ? folder.refresh() : folder.refreshRules())
    if (isDue) nextScanAt = now() + (now() - startedAt) * SCAN_SHARE
    watchMistakes()
  }
  const visible = (id: string, principal: string): Document | undefined => {
    const document = documents.get(id)
    return document !== undefined && mayRead(document.audience, principal) ? document : undefined
  }
  const refreshOne = async (id: string): Promise<boolean> => {
    const folder = folders.find(({ name }) => id.startsWith(`${name}/`))
    return folder === undefined ? false : folder.refreshOne(id)
  }
  const retrieve = createRetrieve({
    match: (units, share, principal) =>
      inTurn(async () => {
        await lookAgain()
        for (let round = 1; ; round++) {
          const matches = index.search(units, share, principal)
          const ids = new Set(matches.slice(0, MAX_CHECKED).map(({ document }) => document.id))
          let changed = false
          for (const id of ids) changed = (await refreshOne(id)) || changed
          if (!changed) return matches
          // The index follows every look, so this answer agrees with itself however fast files change.
          if (round === MAX_SEARCH_ROUNDS) return index.search(units, share, principal)
        }
      }),
  })
  return {
    retrieve,
    list: (principal) =>
      inTurn(async () => {
        await lookAgain()
        return [...documents.values()]
          .filter(({ audience }) => mayRead(audience, principal))
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      }),
    find: (id, principal) =>
      inTurn(async () => {
        await lookAgain()
        // What may not be seen is not looked at, so that it takes no longer than what is not there.
        if (visible(id, principal) !== undefined) await refreshOne(id)
        return visible(id, principal)
      }),
    tokens: () =>
      inTurn(async () => {
        for (const folder of folders) await folder.refreshRules()
        watchMistakes()
        return collectTokens(folders).principals
      }),
    notices: () => [...collectTokens(folders).mistakes, ...folders.flatMap(sayNotices)],
    close: () => index.close(),
  }
}

function folderDependencies(
  { lookupEnvironment }: DocumentsDependencies,
  documents: Map<string, Document>,
  index: PassageIndex,
  listeners: ReadonlySet<() => void>,
): FolderDependencies {
  let totalBytes = 0
  let isTelling = false
  // Many files change in one look; listeners hear of it once.
  const tell = (): void => {
    if (isTelling) return
    isTelling = true
    setImmediate(() => {
      isTelling = false
      for (const listener of listeners) listener()
    })
  }
  return {
    lookupEnvironment,
    fits: (bytes) => totalBytes + bytes <= MAX_TOTAL_BYTES,
    changed(id, document) {
      totalBytes += (document?.bytes ?? 0) - (documents.get(id)?.bytes ?? 0)
      if (document === undefined) {
        documents.delete(id)
        index.remove(id)
      } else {
        documents.set(id, document)
        index.put(document)
      }
      tell()
    },
  }
}

/** One look at the disk at a time: two would undo each other's findings. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
}

interface Root {
  readonly name: string
  /** Absolute, without links. */
  readonly root: string
}

async function resolveFolders(folders: readonly string[]): Promise<Root[]> {
  if (folders.length === 0) {
    throw new ComityError('config_invalid', 'expected at least one folder of documents')
  }
  const roots: Root[] = []
  const mistakes: string[] = []
  for (const folder of folders) {
    const root = await realpath(resolve(folder)).catch(() => undefined)
    const isFolder = root !== undefined && (await stat(root)).isDirectory()
    if (!isFolder) {
      mistakes.push(`${folder}: expected a folder that can be read`)
      continue
    }
    const misnamed = (await readdir(root)).filter(
      (name) => isRulesName(name) && name !== RULES_FILE,
    )
    mistakes.push(...misnamed.map((name) => `${folder}/${name}: expected the name ${RULES_FILE}`))
    // Nested folders would serve one file under two sets of rules.
    const other = roots.find((each) => contains(each.root, root) || contains(root, each.root))
    if (other !== undefined) {
      mistakes.push(`${folder}: lies within ${other.root} or around it; give one of the two`)
    }
    roots.push({ name: basename(resolve(folder)) || 'root', root })
  }
  if (mistakes.length > 0) throw new ComityError('config_invalid', mistakes.join('\n'))
  return roots
}

function contains(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep)
}

/** Folders are called by their last segment as it was given; the second of the same name gets `-2`. */
function nameFolders(roots: readonly Root[]): Root[] {
  const taken = new Set<string>()
  return roots.map(({ name: wanted, root }) => {
    let name = wanted
    for (let count = 2; taken.has(name); count++) name = `${wanted}-${count}`
    taken.add(name)
    return { name, root }
  })
}

function sayMistakes(folder: Folder): string[] {
  const rules = folder.rules()
  if (!('mistakes' in rules)) return []
  return rules.mistakes.map(
    (mistake) => `${folder.name}/${RULES_FILE}: ${mistake}; nothing of the folder is served`,
  )
}

function sayNotices(folder: Folder): string[] {
  const sayFile = ({ path, reason }: SkippedFile): string =>
    `left out ${folder.name}/${path}: ${reason}`
  return [
    ...sayMistakes(folder),
    ...folder
      .idlePatterns()
      .map((pattern) => `${folder.name}/${RULES_FILE}: "${pattern}" matches no document`),
    ...folder.leftOut().map(sayFile),
  ]
}

function createMistakeWatch(
  folders: readonly Folder[],
  notify: (message: string) => void,
): () => void {
  let told = ''
  return () => {
    const mistakes = [...folders.flatMap(sayMistakes), ...collectTokens(folders).mistakes]
    const message = mistakes.join('\n')
    if (message === told) return
    told = message
    notify(message === '' ? `${RULES_FILE}: mended, all folders are served again` : message)
  }
}

/** Tokens of all folders by token; one that stands for two principals is nobody's. */
function collectTokens(folders: readonly Folder[]): {
  readonly principals: ReadonlyMap<string, string>
  readonly mistakes: readonly string[]
} {
  const found = new Map<string, Set<string>>()
  for (const folder of folders) {
    const rules = folder.rules()
    if ('mistakes' in rules) continue
    for (const { principal, token } of rules.tokens) {
      found.set(token, (found.get(token) ?? new Set()).add(principal))
    }
  }
  const principals = new Map<string, string>()
  const mistakes: string[] = []
  for (const [token, names] of found) {
    const [name, ...others] = names
    if (name !== undefined && others.length === 0) principals.set(token, name)
    else mistakes.push(`tokens: ${[...names].join(' and ')} have the same token; expected one each`)
  }
  return { principals, mistakes }
}

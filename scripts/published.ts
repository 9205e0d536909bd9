/**
 * Which source the published package can ever run: what its doors reach, by any kind of import.
 *
 * The rest is either test code under a name that does not say so, or dead.
 */
import { isTest, type SourceFile } from './source-tree.ts'

/** Where a program enters: the library door and the command line. */
const DOORS: readonly string[] = ['src/index.ts', 'src/cli/main.ts']
/** Declared to the compiler for everybody, imported by nobody. */
const AMBIENT: readonly string[] = ['src/core/platform.ts']

/**
 * Finds the files that no door reaches.
 *
 * @returns in order of path; undefined while a door is missing, since then nobody can say.
 */
export function findUnreached(files: readonly SourceFile[]): string[] | undefined {
  const published = new Map(
    files.filter(({ path }) => !isTest(path) && !isTestkit(path)).map((file) => [file.path, file]),
  )
  if (!DOORS.every((door) => published.has(door))) return undefined
  const seen = new Set([...DOORS, ...AMBIENT])
  for (const path of seen) {
    for (const found of published.get(path)?.imports ?? []) {
      for (const target of targetsOf(found.target, found.kind, published)) seen.add(target)
    }
  }
  return [...published.keys()].filter((path) => !seen.has(path)).toSorted()
}

/** A `url` may name only the beginning of its file: the ending is chosen when it runs. */
function targetsOf(
  target: string | undefined,
  kind: string,
  published: ReadonlyMap<string, SourceFile>,
): string[] {
  if (target === undefined) return []
  if (published.has(target)) return [target]
  return kind === 'url' ? [...published.keys()].filter((path) => path === `${target}ts`) : []
}

function isTestkit(path: string): boolean {
  return path.startsWith('src/testkit/')
}

/**
 * The second half of the build: what the package runs, in few files.
 *
 * Every part of the command line that is loaded lazily stays so. What each start needs of npm is built in, with its licence
 * beside it; all else is imported from where npm installed it, so that a fix to it needs no release of ours.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { type OutputChunk, rolldown } from 'rolldown'
import { BUILT_IN } from './built-in.ts'

/** Programs that are started by their place beside the code that starts them. */
const BESIDE = 'parts'
const ENTRIES: Readonly<Record<string, string>> = {
  'cli/main': 'src/cli/main.ts',
  index: 'src/index.ts',
  [`${BESIDE}/commit-worker`]: 'src/store/commit-worker.ts',
  [`${BESIDE}/guard`]: 'src/mcp/upstream/guard.ts',
}
/** What must be found beside the file that names it. */
const NAMES_A_PLACE = /new URL\([`'"]\.\//

/**
 * Bundles a repository's sources.
 *
 * @param dist where to; what is there stays. @throws Error when an import leads nowhere, or code would look in the wrong place.
 */
export async function bundle(root: string, dist: string): Promise<void> {
  const input = Object.fromEntries(
    Object.entries(ENTRIES).map(([name, path]) => [name, join(root, path)]),
  )
  const bundled = await rolldown({ input, cwd: root, platform: 'node', external: isOutside })
  const { output } = await bundled.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: `${BESIDE}/[name]-[hash].js`,
  })
  await bundled.close()
  for (const file of output) if (file.type === 'chunk') expectInPlace(file)
  writeFileSync(join(dist, 'LICENSES.txt'), BUILT_IN.map((name) => licenceOf(root, name)).join(''))
}

/** Node's own modules and what npm installs; not our files, nor what the bundler makes itself. */
function isOutside(id: string): boolean {
  if (/^[.\0]/.test(id) || isAbsolute(id)) return false
  return !BUILT_IN.some((name) => id === name || id.startsWith(`${name}/`))
}

function expectInPlace({ fileName, code }: OutputChunk): void {
  if (NAMES_A_PLACE.test(code) && !fileName.startsWith(`${BESIDE}/`))
    throw new Error(`${fileName} looks for files beside itself, which are in ${BESIDE}/`)
}

function licenceOf(root: string, name: string): string {
  const folder = join(root, 'node_modules', name)
  const file = readdirSync(folder).find((one) => /^licen[cs]e(?:\.\w+)?$/i.test(one))
  if (file === undefined) throw new Error(`${name} has no licence to be handed on`)
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string
  }
  return `${name} ${version}, built in\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n\n\n`
}

if (import.meta.main) {
  const [root = '', dist = ''] = process.argv.slice(2)
  await bundle(root, dist)
}

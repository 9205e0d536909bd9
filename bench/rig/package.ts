/**
 * What is measured is what people run: the package as it is built, and the bench's own servers as plain JavaScript. Node
 * strips types of sources anew at each start and keeps the stripper in memory, which nobody who installed the package pays.
 *
 * Made once a run, in a scratch folder, from the sources as they are; `npm run build` is neither needed nor touched.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { build } from '../../scripts/build.ts'
import { makeScratch } from './processes.ts'

/** The repository. */
export const ROOT = join(import.meta.dirname, '..', '..')
const SERVERS = join(import.meta.dirname, '..', 'servers')

/** Programs to start. */
export interface Programs {
  /** `bin/comity.js` beside what it loads. */
  readonly comity: string
  /** Where that lies: what its files are named from in profiles. */
  readonly root: string
  /** @param name of a file in `servers`, without its ending. */
  server(name: string): string
}

let sources = false
let made: Programs | undefined

/** From now on the sources are started and nothing is built: for a look, and for tests. */
export function measureSources(): void {
  sources = true
}

/** The programs of this run. @throws Error when the package does not build. */
export function programs(): Programs {
  made ??= sources ? ofSources() : ofPackage()
  return made
}

function ofSources(): Programs {
  return {
    comity: join(ROOT, 'bin', 'comity.js'),
    root: ROOT,
    server: (name) => join(SERVERS, fileOf(name)),
  }
}

function ofPackage(): Programs {
  const scratch = makeScratch('package')
  process.on('exit', () => scratch.remove())
  const root = scratch.path
  const code = build(ROOT, join(root, 'dist'))
  if (!existsSync(join(root, 'dist', 'cli', 'main.js')))
    throw new Error(`the package does not build: the compiler ended with ${code}`)
  if (code !== 0) console.error('measured although the compiler found faults: see above')
  cpSync(join(ROOT, 'bin'), join(root, 'bin'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const servers = join(root, 'servers')
  cpSync(SERVERS, servers, { recursive: true })
  emit(servers)
  return {
    comity: join(root, 'bin', 'comity.js'),
    root,
    server: (name) => join(servers, fileOf(name).replace(/\.ts$/, '.js')),
  }
}

/** Plain JavaScript beside the bench's own servers; faults in them are `npm test`'s to find. */
function emit(folder: string): void {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const options = '--ignoreConfig --noCheck --target es2024 --module nodenext --types node'.split(
    ' ',
  )
  execFileSync(process.execPath, [compiler, ...options, ...files], { cwd: folder })
}

function fileOf(name: string): string {
  const file = readdirSync(SERVERS).find((one) => one.replace(/\.\w+$/, '') === name)
  if (file === undefined) throw new Error(`no server ${name} in ${SERVERS}`)
  return file
}

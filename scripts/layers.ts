/**
 * The import rules of the house, over every file under src: `node scripts/layers.ts`.
 *
 * Gathers and prints; what is allowed is in folders.ts, judge-file.ts and house.ts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT_IN } from './built-in.ts'
import { judgeHouse } from './house.ts'
import { judgeExample, judgeSource, type Finding, type Packages } from './judge-file.ts'
import { measureLengths, type Lengths } from './lengths.ts'
import { findUnreached } from './published.ts'
import { isTest, listFiles, readTree } from './source-tree.ts'

/** What the check prints, and whether the house stands. */
export interface LayersReport {
  readonly faults: readonly string[]
  readonly notes: readonly string[]
}

/** Checks a repository. @param root where its package.json is. */
export function checkLayers(root: string): LayersReport {
  const packages = readPackages(root)
  const source = readTree(root, ['src'])
  const findings = [
    ...source.flatMap((file) => judgeSource(file, packages)),
    ...readTree(root, ['examples']).flatMap(judgeExample),
    ...judgeNames(root),
  ]
  const house = judgeHouse(source)
  const unreached = findUnreached(source)
  const { files, functions } = measureLengths(source)
  return {
    faults: [
      ...findings.map(({ file, line, message }) => `${file}:${line} ${message}`),
      ...house.faults,
      ...(unreached ?? []).map(
        (path) =>
          `${path} is reached by no published door: test code is named .fixture.ts or lies in testing/, dead code goes`,
      ),
    ],
    notes: [
      ...house.proved.map((leg) => `proved   ${leg}`),
      ...house.notBuilt.map((journey) => `waiting  ${journey}`),
      ...(unreached === undefined
        ? [
            'waiting  what no door reaches: not told until src/index.ts and src/cli/main.ts are there',
          ]
        : []),
      `lines    ${describe('files', files)}`,
      `lines    ${describe('functions', functions)}`,
      `read     ${source.length} files, ${source.filter(({ path }) => isTest(path)).length} of them tests`,
    ],
  }
}

function readPackages(root: string): Packages {
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = (field: string) => {
    const value = isRecord(manifest) ? manifest[field] : undefined
    return isRecord(value) ? Object.keys(value) : []
  }
  return {
    name: isRecord(manifest) ? String(manifest['name']) : '',
    shipped: new Set([
      ...names('dependencies'),
      ...names('optionalDependencies'),
      ...names('peerDependencies'),
      ...names('devDependencies').filter((name) => BUILT_IN.includes(name)),
    ]),
    development: new Set(names('devDependencies')),
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Names that say nothing, other languages than ours, and a nested file that would loosen the linter. */
function judgeNames(root: string): Finding[] {
  return listFiles(root, 'src').flatMap((file) => {
    const name = file.slice(file.lastIndexOf('/') + 1)
    const refuse = (message: string) => [{ file, line: 1, message }]
    if (/^(?:utils?|helpers?|types|misc|common)\.ts$/.test(name))
      return refuse('a drawer, not a name')
    if (name.startsWith('.oxlint')) return refuse('the rules are in one place, at the root')
    if (/\.(?:[cm]ts|[cm]?js|jsx|tsx)$/.test(name))
      return refuse('source is .ts, one kind of module')
    if (name.endsWith('.ts') && !/^[a-z0-9]+(?:[.-][a-z0-9]+)*\.ts$/.test(name)) {
      return refuse('file names are kebab-case')
    }
    return []
  })
}

function describe(what: string, { count, median, p90, largest, where }: Lengths): string {
  return `${count} ${what}: median ${median}, p90 ${p90}, largest ${largest} (${where})`
}

if (import.meta.main) {
  const { faults, notes } = checkLayers(join(import.meta.dirname, '..'))
  for (const note of notes) console.log(note)
  for (const fault of faults) console.error(fault)
  console.log(faults.length === 0 ? 'layers: in order' : `layers: ${faults.length} not allowed`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

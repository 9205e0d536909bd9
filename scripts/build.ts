/**
 * `npm run build`: the package's dist, from nothing.
 *
 * The compiler says what the library door's types are; what runs is bundled, since a start would else read hundreds of files.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyDeclarations } from './declarations.ts'

/**
 * Builds a repository's dist.
 *
 * @param dist where to; what is there is removed. @returns an exit code; 0 when dist is whole. Faults of types leave a dist that runs.
 */
export function build(root: string, dist = join(root, 'dist')): number {
  rmSync(dist, { recursive: true, force: true })
  const bundled = run(root, [join(import.meta.dirname, 'bundle.ts'), root, dist])
  if (bundled !== 0) return bundled
  const types = mkdtempSync(join(tmpdir(), 'comity-build-'))
  try {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const checked = run(root, [compiler, '-p', 'tsconfig.build.json', '--outDir', types])
    copyDeclarations(types, dist)
    return checked
  } finally {
    rmSync(types, { recursive: true, force: true })
  }
}

function run(root: string, command: readonly string[]): number {
  return spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' }).status ?? 1
}

if (import.meta.main) process.exitCode = build(join(import.meta.dirname, '..'))

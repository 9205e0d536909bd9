/**
 * `npm run build`: the package's dist, from nothing.
 *
 * The compiler emits modules and declarations; what is not TypeScript (migrations, pages) is copied
 * beside them, because code finds it relative to itself.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listFiles } from './source-tree.ts'

/**
 * Builds a repository's dist.
 *
 * @param dist where to; what is there is removed. @returns the compiler's exit code; 0 when dist is whole.
 */
export function build(root: string, dist = join(root, 'dist')): number {
  rmSync(dist, { recursive: true, force: true })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const command = [compiler, '-p', 'tsconfig.build.json', '--outDir', dist]
  const compiled = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
  for (const path of listFiles(root, 'src').filter(isAsset)) {
    const copy = join(dist, path.slice('src/'.length))
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(join(root, path), copy)
  }
  return compiled.status ?? 1
}

function isAsset(path: string): boolean {
  return (
    !path.endsWith('.ts') && !path.startsWith('src/testkit/') && !path.endsWith('tsconfig.json')
  )
}

if (import.meta.main) process.exitCode = build(join(import.meta.dirname, '..'))

/**
 * Is this the Node that the repository brings?
 *
 * It is a development dependency, so that everybody runs the same one; npm scripts find it first.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Says in one line what is wrong with the Node that runs.
 *
 * @param version as in `process.version`.
 * @returns undefined when it is the one that package.json names.
 */
export function ownNodeComplaint(root: string, version: string): string | undefined {
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const wanted = readVersion(manifest)
  if (version === `v${wanted}`) return undefined
  return `expected Node v${wanted}, which this repository brings, got ${version} (${process.execPath}); run \`npm ci\`, then \`npm test\``
}

function readVersion(manifest: unknown): string {
  if (typeof manifest === 'object' && manifest !== null && 'devDependencies' in manifest) {
    const { devDependencies } = manifest
    if (
      typeof devDependencies === 'object' &&
      devDependencies !== null &&
      'node' in devDependencies
    ) {
      return String(devDependencies.node)
    }
  }
  throw new Error('package.json names no node under devDependencies')
}

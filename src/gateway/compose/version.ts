/** The version this package was published as. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

export function packageVersion(): string {
  // Looked for, since the sources and what is built of them lie at different depths.
  const file = findPackageJSON(import.meta.url)
  if (file === undefined) throw new Error('comity is not whole: its package.json is missing')
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version
}

/**
 * What the demo works on: published files that nobody here wrote, found in the installed packages.
 */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** The package whose concern it is. */
export const TARGET = '@modelcontextprotocol/server-everything'
/** The two revisions that are compared, older first. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const

/** An installed package. */
export interface InstalledPackage {
  readonly name: string
  readonly version: string
  readonly folder: string
}

/** The folders that the documents server serves, and the packages they come from. */
export interface DemoInput {
  readonly folders: readonly string[]
  readonly lists: InstalledPackage
  readonly target: InstalledPackage
}

/** @throws Error when a package is not installed. */
export function findInput(): DemoInput {
  const lists = findPackage('@modelcontextprotocol/conformance')
  const target = findPackage(TARGET)
  return { folders: [join(lists.folder, 'requirements'), target.folder], lists, target }
}

function findPackage(name: string): InstalledPackage {
  const manifest = findPackageJSON(name, import.meta.url)
  if (manifest === undefined) throw new Error(`${name} is not installed; run "npm ci" first`)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }
  return { name, version, folder: dirname(manifest) }
}

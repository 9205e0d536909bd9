/**
 * The real documents the tests work on, and what a documents server would say of them.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { citeLines, type Reading } from '../agent/citation.ts'
import type { Target } from '../agent/target.ts'

const requirements = join(packageFolder('@modelcontextprotocol/conformance'), 'requirements')
const everything = packageFolder('@modelcontextprotocol/server-everything')

/** The folders a documents server serves for these tests. */
export const FOLDERS = [requirements, everything]
export const FROM = 'requirements/2025-11-25.yaml'
export const TO = 'requirements/2026-07-28.yaml'
export const MANIFEST = 'server-everything/package.json'
export const PACKAGE = '@modelcontextprotocol/server-everything'

function packageFolder(name: string): string {
  const manifest = findPackageJSON(name, import.meta.url)
  if (manifest === undefined) throw new Error(`${name} is not installed`)
  return dirname(manifest)
}

/** A reading of any text, under the version it declares as JSON or the one its bytes give it. */
export function readingOf(document: string, text: string): Reading {
  const hex = createHash('sha256').update(text).digest('hex')
  const declared = document.endsWith('.json')
    ? (JSON.parse(text) as { readonly version?: string }).version
    : undefined
  return { document, version: declared ?? hex.slice(0, 12), digest: `sha256:${hex}`, text }
}

/** A reading of one of the real documents. */
export function realReading(document: string): Reading {
  const folder = document.startsWith('requirements/') ? dirname(requirements) : dirname(everything)
  return readingOf(document, readFileSync(`${folder}/${document}`, 'utf8'))
}

/** The target as its real manifest declares it. */
export function realTarget(): Target {
  const reading = realReading(MANIFEST)
  const line =
    reading.text.split('\n').findIndex((text) => text.includes('"@modelcontextprotocol/sdk"')) + 1
  return {
    package: PACKAGE,
    sdkRange: '^1.30.0',
    dependency: '@modelcontextprotocol/sdk',
    leg: 'server',
    citation: citeLines(reading, { start: line, end: line }),
  }
}

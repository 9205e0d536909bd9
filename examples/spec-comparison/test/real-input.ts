/**
 * The real documents the tests work on, and what a documents server would say of them.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { citeLines, type Reading } from '../agent/citation.ts'
import type { Target } from '../agent/target.ts'

const requirements = fileURLToPath(
  new URL('requirements', `${packageFolder('@modelcontextprotocol/conformance')}/`),
)
const everything = fileURLToPath(packageFolder('@modelcontextprotocol/server-everything'))

/** The folders a documents server serves for these tests. */
export const FOLDERS = [requirements, everything]
export const FROM = 'requirements/2025-11-25.yaml'
export const TO = 'requirements/2026-07-28.yaml'
export const MANIFEST = 'server-everything/package.json'
export const PACKAGE = '@modelcontextprotocol/server-everything'

/** Packages that export no manifest cannot be resolved by name, so their folder is looked up. */
function packageFolder(name: string): string {
  return new URL(`../../../node_modules/${name}`, import.meta.url).href
}

/** A reading of any text, under the identity its bytes give it. */
export function readingOf(document: string, text: string): Reading {
  const hex = createHash('sha256').update(text).digest('hex')
  return { document, version: hex.slice(0, 12), digest: `sha256:${hex}`, text }
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

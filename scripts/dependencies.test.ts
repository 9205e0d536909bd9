import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BUILT_IN } from './built-in.ts'
import { FOLDERS } from './folders.ts'

const root = join(import.meta.dirname, '..')
const manifest: Record<
  'dependencies' | 'devDependencies' | 'overrides',
  Record<string, string>
> = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The rows of one section of the page, as cells. */
function rows(section: string): string[][] {
  const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')
  const text = page.split(/^## /m).find((part) => part.startsWith(section)) ?? ''
  return text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

function names(section: string): string[] {
  return rows(section).map(([name = '']) => name.replaceAll('`', ''))
}

test('every dependency has its line of why, and no line is left of one that went', () => {
  expect(names('Shipped')).toEqual(Object.keys(manifest.dependencies).toSorted())
  expect(names('Built in')).toEqual(BUILT_IN)
  expect([...names('Built in'), ...names('Development')].toSorted()).toEqual(
    Object.keys(manifest.devDependencies).toSorted(),
  )
  expect(names('Held back')).toEqual(Object.keys(manifest.overrides))
})

test('a shipped dependency may be imported exactly where the page says', () => {
  for (const [name = '', where = ''] of [...rows('Shipped'), ...rows('Built in')]) {
    const allowed = Object.entries(FOLDERS).flatMap(([folder, { npm }]) =>
      folder !== 'testkit' && npm.includes(name.replaceAll('`', '')) ? [folder] : [],
    )
    expect(where.split(', ').toSorted(), name).toEqual(allowed.toSorted())
  }
})

test('versions are exact', () => {
  for (const version of Object.values({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)
  }
})

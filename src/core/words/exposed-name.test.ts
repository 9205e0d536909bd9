import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exposedName, parseScopedUri, scopedTree, scopedUri } from './exposed-name.ts'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
const name = (peer: string, own: string, peers: readonly string[]): string =>
  exposedName(peer, own, peers, digest)

test('a clean name is peer, underscore, name', () => {
  expect(name('docs', 'search_documents', ['docs', 'files'])).toBe('docs_search_documents')
})

test('a name that another configured peer could own carries a suffix; the longest peer name keeps the plain one', () => {
  const peers = ['docs', 'docs_v2']
  expect(name('docs_v2', 'search', peers)).toBe('docs_v2_search')
  expect(name('docs', 'v2_search', peers)).toMatch(/^docs_v2_search_[0-9a-f]{8}$/)
})

test('our own tools stand under reserved names: a peer cannot take task_status or delegate_x', () => {
  expect(name('docs', 'x', ['docs'])).toBe('docs_x')
  expect(name('task_force', 'go', ['task_force'])).toBe('task_force_go')
  expect(name('a', 'b', ['a'])).toBe('a_b')
})

test('cleaned, shortened and suffix-looking names all carry a suffix and stay within 64', () => {
  for (const own of ['calendar.list', 'Über-Suche', 'a b', 'x'.repeat(128), 'sum_0123abcd', '']) {
    const exposed = name('office', own, ['office'])
    expect(exposed).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(exposed).toMatch(/_[0-9a-f]{8}$/)
  }
})

test('C01: seven odd names get seven different legal aliases, whatever the order and whatever else is connected', async () => {
  const { default: given } = await import(
    '../../../test/cases/C01-names-dots-slashes-unicode.json',
    { with: { type: 'json' } }
  )
  const own = given.given.tools.map((tool) => tool.name)
  const aliases = own.map((tool) => name('office', tool, ['office', 'mail']))
  expect(new Set(aliases).size).toBe(7)
  for (const alias of aliases) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  expect([...own].reverse().map((tool) => name('office', tool, ['mail', 'office']))).toEqual(
    [...aliases].reverse(),
  )
})

test('different (peer, name) pairs never share an alias', () => {
  const peerName = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,8}$/)
  const own = fc.oneof(fc.stringMatching(/^[a-z_.]{0,12}$/), fc.string({ maxLength: 90 }))
  fc.assert(
    fc.property(
      fc.uniqueArray(peerName, { minLength: 1, maxLength: 4 }),
      fc.array(own, { maxLength: 8 }),
      (peers, names) => {
        const pairs = new Map<string, string>()
        for (const peer of peers) {
          for (const tool of names) {
            const alias = name(peer, tool, peers)
            const pair = JSON.stringify([peer, tool])
            expect(pairs.get(alias) ?? pair).toBe(pair)
            pairs.set(alias, pair)
          }
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('a scoped tree keeps its path a path, and reads back to the very address', () => {
  expect(scopedTree('b', 'skill://acme/refunds/SKILL.md')).toBe(
    'comity://b/skill%3A/acme/refunds/SKILL.md',
  )
  expect(scopedTree('b', 'urn:x')).toBe(scopedUri('b', 'urn:x'))
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z][a-z0-9+.-]{0,6}$/),
      fc.string({ minLength: 1, unit: 'grapheme' }).filter((path) => path.isWellFormed()),
      (scheme, path) => {
        const uri = `${scheme}://${path}`
        expect(parseScopedUri(scopedTree('docs', uri))).toEqual({ peer: 'docs', uri })
        expect(parseScopedUri(scopedUri('docs', uri))).toEqual({ peer: 'docs', uri })
      },
    ),
  )
})

import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { Document } from './document.ts'
import { findLineStarts } from './lines.ts'
import type { PassageIndex } from './passage-index.ts'
import { openPassageIndex } from './passage-index.ts'
import type { Audience } from './readers.ts'
import { countUnit, strictUnits, termsOf } from './terms.ts'

function documentOf(id: string, text: string, audience?: Audience): Document {
  return {
    id,
    uri: `docs://${id}`,
    title: id,
    version: '1',
    digest: 'sha256:0',
    format: 'text',
    mediaType: 'text/plain',
    bytes: text.length,
    modifiedAt: '2026-01-01T00:00:00.000Z',
    text,
    lineStarts: findLineStarts(text),
    audience,
  }
}

function open(): PassageIndex {
  const index = openPassageIndex()
  onTestFinished(() => index.close())
  return index
}

function find(index: PassageIndex, query: string, principal = 'anyone'): string[] {
  return index.search(strictUnits(query), 0, principal).map(({ document }) => document.id)
}

test('a document put again replaces what it was, and one removed is gone', () => {
  const index = open()
  index.put(documentOf('a', 'old words\n'))
  expect(find(index, 'old')).toEqual(['a'])
  index.put(documentOf('a', 'new words\n'))
  index.put(documentOf('b', 'old words\n'))
  expect(find(index, 'old')).toEqual(['b'])
  index.remove('b')
  index.remove('never there')
  expect(find(index, 'old')).toEqual([])
  expect(find(index, 'words')).toEqual(['a'])
})

test('a document moves with its audience', () => {
  const index = open()
  index.put(documentOf('a', 'words\n', ['alice']))
  expect([find(index, 'words', 'alice'), find(index, 'words', 'bob')]).toEqual([['a'], []])
  index.put(documentOf('a', 'words\n', ['bob']))
  expect([find(index, 'words', 'alice'), find(index, 'words', 'bob')]).toEqual([[], ['a']])
})

test('rarer words and shorter passages come first', () => {
  const index = open()
  index.put(documentOf('common', 'contract contract\n'))
  index.put(documentOf('long', `contract arbitration ${'filler '.repeat(60)}\n`))
  index.put(documentOf('short', 'contract arbitration\n'))
  expect(find(index, 'contract arbitration')).toEqual(['short', 'long', 'common'])
})

test('the index finds what a scan of the texts finds, for everyone exactly their own', () => {
  const words = fc.constantFrom('alpha', 'beta', '数据库', '库存', 'サーバー', 'tools/call', 'Ünï')
  const text = fc.array(words, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(' '))
  const audience = fc.constantFrom<Audience[]>(undefined, ['alice'], ['alice', 'bob'], [])
  const shelf = fc.array(fc.record({ text, audience }), { maxLength: 8 })
  const query = fc.constantFrom('alpha', 'BETA', '数', '据库', '库', 'バー', 'call', 'tools/call')
  fc.assert(
    fc.property(shelf, query, fc.constantFrom('alice', 'bob'), (documents, wanted, principal) => {
      const index = openPassageIndex()
      for (const [at, each] of documents.entries()) {
        index.put(documentOf(`d${at}`, each.text, each.audience))
      }
      const [unit] = strictUnits(wanted)
      const expected = documents.flatMap((each, at) => {
        const mine = each.audience === undefined || each.audience.includes(principal)
        return mine && unit && countUnit(termsOf(each.text), unit) > 0 ? [`d${at}`] : []
      })
      expect(find(index, wanted, principal).toSorted()).toEqual(expected.toSorted())
      index.close()
    }),
  )
})

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Documents } from './open-documents.ts'
import { openDocuments } from './open-documents.ts'

async function open(files: Readonly<Record<string, string>>): Promise<Documents> {
  const root = mkdtempSync(join(tmpdir(), 'comity-docs-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const folder = join(root, 'docs')
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const documents = await openDocuments([folder], {
    lookupEnvironment: () => undefined,
    now: () => performance.now(),
    notify: (message) => expect.fail(message),
  })
  onTestFinished(() => documents.close())
  return documents
}

async function idsFor(documents: Documents, query: string, who = 'anonymous'): Promise<string[]> {
  const { hits } = await documents.retrieve(query, 10, who)
  return hits.map((hit) => basename(hit.document.id))
}

const D1 = '---\nversion: "1.2"\n---\n# Retention of contracts\n\nContracts are kept ten years.\n'
const D2 = 'Retention: what the archive keeps, and how long contracts stay.\n'
const D3 = 'The canteen opens at noon.\n'
const D4 =
  '---\nreaders: [counsel]\n---\nRetention of contracts under dispute: contracts, contracts.\n'

test('R166: a legal query finds D1 and D2, and D4 has no part in the answer', async () => {
  const files = { 'D1.md': D1, 'D2.txt': D2, 'D3.md': D3 }
  const withD4 = await open({ ...files, 'D4.md': D4 })
  const withoutD4 = await open(files)

  expect(await idsFor(withD4, 'retention contracts')).toEqual(['D1.md', 'D2.txt'])
  // Not only unlisted: scores, order and `truncated` are what they would be without it.
  const seen = async (documents: Documents, k: number): Promise<unknown> => {
    const { hits, truncated } = await documents.retrieve('retention contracts', k, 'anonymous')
    return {
      truncated,
      hits: hits.map(({ document, score, lines }) => [document.id, score, lines]),
    }
  }
  for (const k of [1, 2, 10]) expect(await seen(withD4, k)).toEqual(await seen(withoutD4, k))
  expect(await withD4.find('docs/D4.md', 'anonymous')).toBeUndefined()
  expect((await withD4.list('anonymous')).map(({ id }) => id)).not.toContain('docs/D4.md')

  expect(await idsFor(withD4, 'retention contracts', 'counsel')).toContain('D4.md')
})

test('R164: k bounds the hits, and truncated says whether there were more', async () => {
  const files = Object.fromEntries([1, 2, 3].map((n) => [`${n}.txt`, 'the same words\n']))
  const documents = await open(files)
  expect(await documents.retrieve('words', 2, 'anonymous')).toMatchObject({
    hits: [{ document: { id: 'docs/1.txt' } }, { document: { id: 'docs/2.txt' } }],
    truncated: true,
  })
  expect(await documents.retrieve('words', 3, 'anonymous')).toMatchObject({ truncated: false })
})

test('a query that nothing matches is an empty answer, also one of signs only', async () => {
  const documents = await open({ 'a.txt': 'words\n' })
  for (const query of ['absent', '"; drop table', '*', 'OR', '数']) {
    expect(await documents.retrieve(query, 10, 'anonymous')).toEqual({ hits: [], truncated: false })
  }
})

test('a hit is the exact lines of its passage', async () => {
  const documents = await open({
    'a.md': '# One\r\n\r\ntext\r\n# Two\r\n\r\nneedle  \r\n\r\n# Three\r\n',
  })
  const { hits } = await documents.retrieve('needle', 10, 'anonymous')
  expect(hits).toMatchObject([{ lines: { start: 4, end: 6 }, text: '# Two\r\n\r\nneedle  \r' }])
})

test('Chinese and Japanese are found by words, by one character, and within a sentence', async () => {
  const documents = await open({
    'zh.md': '# 合同\n\n合同保存期限为十年。数据库每天备份。\n',
    'ja.md': '# 契約\n\nサーバーの再起動は毎週日曜日です。契約書は十年間保管します。\n',
    'en.md': '# Contracts\n\nContracts are kept for ten years.\n',
  })
  expect(await idsFor(documents, '数据库')).toEqual(['zh.md'])
  expect(await idsFor(documents, '库')).toEqual(['zh.md'])
  expect(await idsFor(documents, '份')).toEqual(['zh.md'])
  expect(await idsFor(documents, 'サーバー')).toEqual(['ja.md'])
  expect(await idsFor(documents, '再起動')).toEqual(['ja.md'])
  expect((await idsFor(documents, '十年')).toSorted()).toEqual(['ja.md', 'zh.md'])
  expect(await idsFor(documents, '合同的保存期限')).toEqual(['zh.md'])
  expect(await idsFor(documents, '据保')).toEqual([])
  expect(await idsFor(documents, 'CONTRACTS')).toEqual(['en.md'])
})

test('what stands together is found together first, and apart when there is nothing better', async () => {
  const documents = await open({
    'call.md': 'The method is tools/call.\n',
    'apart.md': 'Tools and how to call them.\n',
  })
  expect(await idsFor(documents, 'tools/call')).toEqual(['call.md'])
  expect(await idsFor(documents, 'call/tools')).toEqual(['call.md', 'apart.md'])
})

test('a very long line is found, its text cut and said to be', async () => {
  const documents = await open({
    'a.json': JSON.stringify({ key: `needle ${'x'.repeat(20_000)}` }),
  })
  const { hits, truncated } = await documents.retrieve('needle', 10, 'anonymous')
  expect(hits).toMatchObject([{ lines: { start: 1, end: 1 } }])
  expect(hits[0]?.text).toHaveLength(8_192)
  expect(truncated).toBe(true)
})

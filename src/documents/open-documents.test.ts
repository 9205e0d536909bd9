import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Documents } from './open-documents.ts'
import { openDocuments } from './open-documents.ts'

function temporaryFolder(files: Readonly<Record<string, string | Buffer>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'comity-docs-')))
  onTestFinished(() => rmSync(root, { recursive: true }))
  write(root, files)
  return root
}

function write(root: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
}

async function open(folders: readonly string[], told: string[] = []): Promise<Documents> {
  const documents = await openDocuments(folders, {
    lookupEnvironment: (name) => (name === 'TOKEN' ? 'token-of-carol' : undefined),
    now: () => performance.now(),
    notify: (message) => told.push(message),
  })
  onTestFinished(() => documents.close())
  return documents
}

async function idsOf(documents: Documents, principal = 'anonymous'): Promise<string[]> {
  return (await documents.list(principal)).map(({ id }) => id)
}

test('the formats served, wherever they lie, but not hidden folders, packages and our own rules', async () => {
  const root = temporaryFolder({
    'docs/a.md': 'a',
    'docs/sub/B.MARKDOWN': 'b',
    'docs/c.txt': 'c',
    'docs/d.yaml': 'd: 1',
    'docs/e.yml': 'e: 1',
    'docs/f.json': '{}',
    'docs/g.html': 'g',
    'docs/h.HTM': 'h',
    'docs/i.d.ts': 'i',
    'docs/j.d.mts': 'j',
    'docs/k.ts': 'k',
    'docs/l.pdf': 'l',
    'docs/.git/h.md': 'h',
    'docs/node_modules/i/i.md': 'i',
    'docs/comity-docs.yaml': 'documents: {}',
    'docs/sub/comity-docs.yml': 'tokens: {}',
  })
  const documents = await open([join(root, 'docs')])
  expect(await idsOf(documents)).toEqual([
    'docs/a.md',
    'docs/c.txt',
    'docs/d.yaml',
    'docs/e.yml',
    'docs/f.json',
    'docs/g.html',
    'docs/h.HTM',
    'docs/i.d.ts',
    'docs/j.d.mts',
    'docs/sub/B.MARKDOWN',
  ])
})

test('digest, version, title and size are of the bytes of the file', async () => {
  const content = '\uFEFF# 标题 #\r\n\r\ntext\r\n'
  const root = temporaryFolder({ 'docs/数 据.md': content })
  const documents = await open([join(root, 'docs')])
  const hex = createHash('sha256')
    .update(readFileSync(join(root, 'docs/数 据.md')))
    .digest('hex')
  const document = await documents.find('docs/数 据.md', 'anonymous')
  expect(document).toMatchObject({
    uri: 'docs://docs/%E6%95%B0%20%E6%8D%AE.md',
    title: '标题',
    version: hex.slice(0, 12),
    digest: `sha256:${hex}`,
    bytes: Buffer.byteLength(content),
    mediaType: 'text/markdown',
    text: content,
  })
})

test('a second folder of the same name is told apart', async () => {
  const root = temporaryFolder({ 'x/docs/a.md': 'a', 'y/docs/a.md': 'b', 'docs-2/a.md': 'c' })
  const documents = await open([join(root, 'docs-2'), join(root, 'x/docs'), join(root, 'y/docs')])
  expect(await idsOf(documents)).toEqual(['docs-2/a.md', 'docs-3/a.md', 'docs/a.md'])
})

test('a folder given by a link goes by the name of the link', async () => {
  const root = temporaryFolder({ 'v2/a.md': 'a' })
  symlinkSync('v2', join(root, 'latest'))
  expect(await idsOf(await open([join(root, 'latest')]))).toEqual(['latest/a.md'])
})

test('what cannot be served is left out with its reason', async () => {
  const root = temporaryFolder({
    'docs/good.md': 'good',
    'docs/latin.md': Buffer.from([0x66, 0xfc, 0x72]),
    'docs/large.txt': Buffer.alloc(16 * 1_048_576 + 1, 'x'),
    'docs/broken.json': '{"readers": ["alice"]',
  })
  const documents = await open([join(root, 'docs')])
  expect(await idsOf(documents)).toEqual(['docs/good.md'])
  expect(documents.notices().toSorted()).toEqual([
    'left out docs/broken.json: it is not valid JSON and it may name readers',
    'left out docs/large.txt: it has 16777217 bytes, at most 16777216 are served',
    'left out docs/latin.md: it is not valid UTF-8',
  ])
})

test('a link is served only when it leads to a file that is served, and answers to the rules of both paths', async () => {
  const root = temporaryFolder({
    'docs/secret/a.md': 'secret',
    'docs/open.md': 'open',
    'docs/.hidden/b.md': 'hidden',
    'outside.md': 'outside',
    'docs/comity-docs.yaml': 'documents: { "secret/**": { readers: [alice] } }',
  })
  symlinkSync(join(root, 'outside.md'), join(root, 'docs/leak.md'))
  symlinkSync(root, join(root, 'docs/up'))
  symlinkSync('.hidden/b.md', join(root, 'docs/hidden.md'))
  symlinkSync('comity-docs.yaml', join(root, 'docs/rules.md'))
  symlinkSync('secret/a.md', join(root, 'docs/alias.md'))
  symlinkSync('open.md', join(root, 'docs/open-alias.md'))
  const documents = await open([join(root, 'docs')])
  expect(await idsOf(documents)).toEqual(['docs/open-alias.md', 'docs/open.md'])
  expect(await idsOf(documents, 'alice')).toContain('docs/alias.md')
})

test('readers: named by the document, by the folder, or both', async () => {
  const root = temporaryFolder({
    'docs/all.md': 'all',
    'docs/own.md': '---\nreaders: [alice]\n---\n',
    'docs/drafts/a.yaml': 'readers: [bob]\n',
    'docs/drafts/b.txt': 'b',
    'docs/comity-docs.yaml': 'documents:\n  "drafts/**": { readers: [bob, carol] }\n',
  })
  const documents = await open([join(root, 'docs')])
  expect(await idsOf(documents)).toEqual(['docs/all.md'])
  expect(await idsOf(documents, 'alice')).toEqual(['docs/all.md', 'docs/own.md'])
  expect(await idsOf(documents, 'bob')).toEqual([
    'docs/all.md',
    'docs/drafts/a.yaml',
    'docs/drafts/b.txt',
  ])
  expect(await idsOf(documents, 'carol')).toEqual(['docs/all.md', 'docs/drafts/b.txt'])
})

test('a file changed, added or removed is noticed, with what it says about readers', async () => {
  const root = temporaryFolder({ 'docs/a.md': 'old words\n', 'docs/b.md': 'other words\n' })
  const folder = join(root, 'docs')
  const documents = await open([folder])
  const find = async (query: string): Promise<string[]> =>
    (await documents.retrieve(query, 10, 'anonymous')).hits.map(({ document }) => document.id)
  expect(await find('old')).toEqual(['docs/a.md'])

  // Same length and perhaps the same second: only its content tells.
  write(folder, { 'a.md': 'new words\n' })
  expect(await find('old')).toEqual([])
  expect(await find('new')).toEqual(['docs/a.md'])

  write(folder, { 'a.md': '---\nreaders: [alice]\n---\nnew words\n' })
  expect(await documents.find('docs/a.md', 'anonymous')).toBeUndefined()
  expect(await find('words')).toEqual(['docs/b.md'])

  unlinkSync(join(folder, 'b.md'))
  expect(await find('words')).toEqual([])

  write(folder, { 'sub/c.md': 'words\n' })
  await expect.poll(() => find('words')).toEqual(['docs/sub/c.md'])
})

test('rules that break while they are in force close the folder until they are mended', async () => {
  const root = temporaryFolder({ 'docs/a.md': 'a', 'docs/b.md': 'b' })
  const told: string[] = []
  const documents = await open([join(root, 'docs')], told)
  expect(await idsOf(documents)).toEqual(['docs/a.md', 'docs/b.md'])

  write(root, { 'docs/comity-docs.yaml': 'documents: { "b.md": { readers: alice } }' })
  expect(await idsOf(documents)).toEqual([])
  write(root, { 'docs/comity-docs.yaml': 'documents: { "b.md": { readers: [alice] } }' })
  expect(await idsOf(documents)).toEqual(['docs/a.md'])
  expect(told).toEqual([
    'docs/comity-docs.yaml: documents.b.md.readers: expected a list of names; nothing of the folder is served',
    'comity-docs.yaml: mended, all folders are served again',
  ])
})

test('tokens name principals, and the file that holds one is no document', async () => {
  const root = temporaryFolder({
    'docs/comity-docs.yaml':
      'tokens: { alice: token-of-alice, bob: "${file:bob.txt}", carol: "${env:TOKEN}" }',
    'docs/bob.txt': 'token-of-bob\n',
  })
  const documents = await open([join(root, 'docs')])
  expect(await idsOf(documents, 'bob')).toEqual([])
  expect([...(await documents.tokens())]).toEqual([
    ['token-of-alice', 'alice'],
    ['token-of-bob', 'bob'],
    ['token-of-carol', 'carol'],
  ])

  write(root, { 'docs/bob.txt': 'another-one\n' })
  expect((await documents.tokens()).get('another-one')).toBe('bob')
  expect((await documents.tokens()).has('token-of-bob')).toBe(false)
})

test('all mistakes of the operator come at once', async () => {
  const root = temporaryFolder({
    'a/comity-docs.yaml': 'documents: []\n',
    'b/comity-docs.yaml': 'tokens: { alice: same, bob: same }\n',
    'c/comity-docs.yml': '',
  })
  await expect(open([join(root, 'a'), join(root, 'b')])).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /^a\/comity-docs.yaml: documents: .*\ntokens: alice and bob have the same token/u,
    ),
  })
  await expect(open([join(root, 'c'), root, join(root, 'none')])).rejects.toMatchObject({
    message: expect.stringMatching(
      /comity-docs.yml: expected the name comity-docs.yaml\n.*lies within.*\n.*none: expected a folder/u,
    ),
  })
  await expect(open([])).rejects.toMatchObject({ code: 'config_invalid' })
})

test('a pattern that matches no document is said, since it may be a misspelt one', async () => {
  const root = temporaryFolder({
    'docs/draft/a.md': 'a',
    'docs/comity-docs.yaml': 'documents: { "drafts/**": { readers: [alice] } }',
  })
  const documents = await open([join(root, 'docs')])
  expect(documents.notices()).toEqual(['docs/comity-docs.yaml: "drafts/**" matches no document'])
})

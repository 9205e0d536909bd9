import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Catalogue } from '../core/ports/catalogue.ts'
import type { Dispatch } from '../core/ports/doors.ts'
import type { NewCall } from '../core/words/call.ts'
import type { Outcome } from '../core/words/outcome.ts'
import type { Principal } from '../core/words/principal.ts'
import { CANNOT_BE_ASKED } from '../core/words/question.ts'
import { jsonText, mcpNative } from '../mcp/downstream/visit.ts'
import { createCallDocuments } from './call.ts'
import { createExportStates } from './export-state.ts'
import { openDocuments } from './open-documents.ts'
import { createDocumentsCatalogue, createDocumentsDispatch } from './ports.ts'

const ANYONE: Principal = { id: 'anonymous', groups: [], via: 'local' }
const ALICE: Principal = { id: 'alice', groups: [], via: 'token' }

interface Opened {
  readonly catalogue: Catalogue
  readonly dispatch: Dispatch
  call(name: string, args: unknown, as?: Principal): Promise<Called>
  read(uri: string, as?: Principal): Promise<Outcome | undefined>
}

interface Called {
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
  readonly _meta?: unknown
}

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

async function open(files: Readonly<Record<string, string>>): Promise<Opened> {
  const root = mkdtempSync(join(tmpdir(), 'comity-docs-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, 'docs', path)), { recursive: true })
    writeFileSync(join(root, 'docs', path), content)
  }
  const documents = await openDocuments([join(root, 'docs')], {
    lookupEnvironment: () => undefined,
    now: () => performance.now(),
    notify: (message) => expect.fail(message),
  })
  onTestFinished(() => documents.close())
  let count = 0
  const states = createExportStates({
    key: new Uint8Array(32),
    now: () => 0,
    createNonce: () => String(count++),
  })
  const catalogue = createDocumentsCatalogue(documents)
  const dispatch = createDocumentsDispatch(
    documents,
    createCallDocuments(documents, states),
    () => `call-${count++}`,
  )
  const run = async (
    kind: 'tool' | 'resource',
    exposed: string,
    args: unknown,
    principal: Principal,
  ): Promise<Outcome | undefined> => {
    const route = await catalogue.resolve(kind, exposed, principal)
    if (route === undefined) return undefined
    const call: NewCall = {
      route,
      principal,
      operation: kind === 'tool' ? 'call' : 'read',
      native: mcpNative(bytesOf({}), '2026-07-28'),
      arguments: jsonText(bytesOf(args)),
      door: 'test',
      requestId: '7',
      deadlineAt: Number.MAX_SAFE_INTEGER,
      trace: {},
    }
    const exchange = {
      signal: new AbortController().signal,
      stopReason: () => undefined,
      emit: () => undefined,
      can: CANNOT_BE_ASKED,
    }
    return (await dispatch(call, exchange)).outcome
  }
  return {
    catalogue,
    dispatch,
    async call(name, args, as = ANYONE) {
      const outcome = await run('tool', name, args, as)
      if (outcome?.state !== 'completed') return expect.fail(`${name} did not complete`)
      return outcome.native.value() as Called
    },
    read: (uri, as = ANYONE) => run('resource', uri, { uri }, as),
  }
}

const FILES = {
  'a.md': '---\nversion: "2"\n---\n# Alpha\n\nfirst words\n\n## Beta\n',
  'hidden.md': '---\nreaders: [alice]\n---\n# Hidden words\n',
}

test('R165: a search answers with query, request id, document, version, lines, digest and truncation, twice', async () => {
  const { call } = await open(FILES)
  const { content, structuredContent } = await call('search_documents', { query: 'words' })
  expect(structuredContent).toEqual({
    requestId: '7',
    query: 'words',
    hits: [
      {
        document: 'docs/a.md',
        title: 'Alpha',
        version: '2',
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/u),
        uri: 'docs://docs/a.md',
        lines: { start: 4, end: 6 },
        text: '# Alpha\n\nfirst words',
        score: expect.any(Number),
      },
    ],
    truncated: false,
  })
  expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent)
})

test('R167: nothing found, bad arguments and not permitted are three different answers', async () => {
  const { call } = await open(FILES)
  const nothing = await call('search_documents', { query: 'absent' })
  expect(nothing).toMatchObject({ structuredContent: { hits: [] } })
  expect(nothing.isError).toBeUndefined()

  const bad = await call('search_documents', { query: '', limit: 51, page: 2 })
  expect(bad).toMatchObject({
    isError: true,
    _meta: { 'comity/refusal': { code: 'bad_arguments' } },
  })
  expect(bad.content[0]?.text).toMatch(
    /^bad arguments for search_documents\nquery: .*>=1.*\nlimit: .*<=50.*\narguments: .*page/u,
  )

  const hidden = await call('read_document', { document: 'docs/hidden.md' })
  expect(hidden).toMatchObject({
    isError: true,
    _meta: { 'comity/refusal': { code: 'unknown_document' } },
  })
  const absent = await call('read_document', { document: 'docs/absent.md' })
  expect(hidden.content[0]?.text.replaceAll('hidden', 'absent')).toBe(absent.content[0]?.text)
})

test('a version that is not the present one is refused, and both are named', async () => {
  const { call } = await open(FILES)
  const wrong = await call('read_document', { document: 'docs/a.md', version: '1' })
  expect(wrong.isError).toBe(true)
  expect(wrong.content[0]?.text).toContain('has version "2" now')
  expect(wrong.content[0]?.text).toContain('not "1"')
  const right = await call('read_document', { document: 'docs/a.md', version: '2' })
  expect(right.structuredContent).toMatchObject({ version: '2', totalLines: 8 })
})

test('a document is listed and read as a resource by those who may see it, and unknown to others', async () => {
  const { catalogue, read, call } = await open(FILES)
  const listed = await catalogue.list('resource', ANYONE)
  expect(listed.items.map(({ exposed }) => exposed)).toEqual(['docs://docs/a.md'])
  const { structuredContent } = await call('read_document', { document: 'docs/a.md' })
  const outcome = await read('docs://docs/a%2Emd')
  expect(outcome).toMatchObject({ state: 'completed' })
  expect(outcome?.state === 'completed' && outcome.native.value()).toMatchObject({
    contents: [
      {
        uri: 'docs://docs/a%2Emd',
        mimeType: 'text/markdown',
        text: FILES['a.md'],
        _meta: {
          version: '2',
          digest: structuredContent?.digest,
          size: Buffer.byteLength(FILES['a.md']),
          lines: 8,
        },
      },
    ],
  })
  for (const uri of ['docs://docs/hidden.md', 'docs://docs%2Fa.md', 'docs://docs/%', 'file:///a']) {
    expect(await read(uri)).toBeUndefined()
  }
  expect(await read('docs://docs/hidden.md', ALICE)).toMatchObject({ state: 'completed' })
})

test("a report says the document's outline in either language, and needs one from who cannot be asked", async () => {
  const { call } = await open(FILES)
  const zh = await call('export_report', { document: 'docs/a.md', language: 'zh' })
  expect(zh.content[0]?.text).toContain('# 文档报告：Alpha')
  expect(zh.content[0]?.text).toContain('- Alpha (第 4 行)\n  - Beta (第 8 行)')
  expect(zh.structuredContent).toMatchObject({
    language: 'zh',
    totalLines: 8,
    blankLines: 2,
    headings: [
      { line: 4, level: 1, text: 'Alpha' },
      { line: 8, level: 2, text: 'Beta' },
    ],
  })
  const en = await call('export_report', { document: 'docs/a.md', language: 'en' })
  expect(en.content[0]?.text).toContain('- Alpha (line 4)')

  const unasked = await call('export_report', { document: 'docs/a.md' })
  expect(unasked).toMatchObject({ isError: true })
  expect(unasked.content[0]?.text).toMatch(/^language: expected "zh" or "en"/u)
})

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
import { createAnalysisHandles } from './analysis-handle.ts'
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
  prompt(name: string, args: unknown, as?: Principal): Promise<Outcome | undefined>
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
  const handles = createAnalysisHandles(new Uint8Array(32), () => 0)
  const catalogue = createDocumentsCatalogue(documents)
  const dispatch = createDocumentsDispatch(
    documents,
    createCallDocuments(documents, states, handles),
    () => `call-${count++}`,
  )
  const run = async (
    kind: 'tool' | 'resource' | 'prompt',
    exposed: string,
    args: unknown,
    principal: Principal,
  ): Promise<Outcome | undefined> => {
    const route = await catalogue.resolve(kind, exposed, principal)
    if (route === undefined) return undefined
    const call: NewCall = {
      route,
      principal,
      operation: kind === 'tool' ? 'call' : kind === 'prompt' ? 'prompt' : 'read',
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
    prompt: (name, args, as = ANYONE) => run('prompt', name, args, as),
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

const VERSIONS = {
  'spec/1.md': '---\nversion: "1"\n---\n# Spec\n\nold words\nkept words\n\n## Gone\n\nx\n',
  'spec/2.md': '---\nversion: "2"\n---\n# Spec\n\nnew words\nkept words\n\n## Come\n\nx\n',
  'hidden.md': '---\nreaders: [alice]\n---\n# Hidden\n',
}
const COMPARED = { from: { document: 'docs/spec/1.md' }, to: { document: 'docs/spec/2.md' } }

test('two versions are analysed, and their changes are read with the id of the analysis', async () => {
  const { call } = await open(VERSIONS)
  const { structuredContent: analysis } = await call('analyze_versions', COMPARED)
  expect(analysis).toMatchObject({
    from: { document: 'docs/spec/1.md', version: '1', totalLines: 11 },
    to: { document: 'docs/spec/2.md', version: '2' },
    expiresAt: '1970-01-02T00:00:00.000Z',
    totalChanges: 3,
    addedLines: 3,
    removedLines: 3,
    sameLines: 8,
    addedHeadings: ['Come'],
    removedHeadings: ['Gone'],
    changes: [
      { change: 1, kind: 'changed', from: { start: 2, end: 2 }, to: { start: 2, end: 2 } },
      { change: 2, kind: 'changed', heading: 'Spec', from: { start: 6 }, to: { end: 6 } },
      { change: 3, kind: 'changed', heading: 'Come', from: { start: 9 }, to: { end: 9 } },
    ],
    truncated: false,
  })
  const page = { analysis_id: analysis?.['analysis_id'], start: 2, limit: 1 }
  const { structuredContent: read } = await call('read_analysis', page)
  expect(read).toMatchObject({
    totalChanges: 3,
    changes: [
      {
        change: 2,
        from: { lines: { start: 6, end: 6 }, text: 'old words' },
        to: { lines: { start: 6, end: 6 }, text: 'new words' },
        cut: false,
      },
    ],
    next: 3,
  })
  const last = await call('read_analysis', { ...page, start: 3 })
  expect(last.structuredContent).not.toHaveProperty('next')
  expect(await call('read_analysis', { ...page, start: 4 })).toMatchObject({
    isError: true,
    content: [{ text: 'start: expected at most 3, the number of changes, got 4' }],
  })
  const same = await call('analyze_versions', { ...COMPARED, to: COMPARED.from })
  expect(same.structuredContent).toMatchObject({ totalChanges: 0, sameLines: 11, changes: [] })
})

test('R063: the id of an analysis is refused for another principal, changed, or made up, in the same words', async () => {
  const { call } = await open(VERSIONS)
  const { structuredContent } = await call('analyze_versions', COMPARED, ALICE)
  const id = String(structuredContent?.['analysis_id'])
  const refusals = [
    await call('read_analysis', { analysis_id: id }),
    await call('read_analysis', {
      analysis_id: `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`,
    }),
    await call('read_analysis', { analysis_id: 'made up' }),
  ]
  for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
  expect(refusals[0]).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('it was not given to you') }],
    _meta: { 'comity/refusal': { code: 'analysis_refused' } },
  })
  expect(await call('read_analysis', { analysis_id: id }, ALICE)).not.toHaveProperty('isError')
})

test('a document that may not be seen cannot be compared, and one that is not there says the same', async () => {
  const { call } = await open(VERSIONS)
  const wanted = (document: string): object => ({ ...COMPARED, to: { document } })
  const hidden = await call('analyze_versions', wanted('docs/hidden.md'))
  const absent = await call('analyze_versions', wanted('docs/absent.md'))
  expect(hidden.content[0]?.text).toMatch(/^to.document: there is no document/u)
  expect(hidden.content[0]?.text.replaceAll('hidden', 'absent')).toBe(absent.content[0]?.text)
  const wrong = { ...COMPARED, from: { ...COMPARED.from, version: '9' } }
  expect((await call('analyze_versions', wrong)).content[0]?.text).toContain('has version "1" now')
})

test('three prompts with described arguments, which give messages of the user', async () => {
  const { catalogue, prompt } = await open(VERSIONS)
  const { items } = await catalogue.list('prompt', ANYONE)
  expect(items.map(({ definition }) => definition.value())).toMatchObject([
    { name: 'compare_versions', arguments: [{ name: 'from', required: true }, {}, {}, {}] },
    { name: 'answer_with_citations', arguments: [{ name: 'question', required: true }, {}, {}] },
    { name: 'summarise_document', arguments: [{ name: 'document', required: true }, {}, {}] },
  ])
  const got = async (name: string, args: unknown): Promise<unknown> => {
    const outcome = await prompt(name, args)
    return outcome?.state === 'completed' ? outcome.native.value() : outcome
  }
  const compared = { from: 'docs/spec/1.md', to: 'docs/spec/2.md', focus: 'the words' }
  expect(await got('compare_versions', compared)).toMatchObject({
    messages: [
      {
        role: 'user',
        content: {
          text: expect.stringMatching(/"docs\/spec\/1\.md".*version "2"[^]*: the words/u),
        },
      },
    ],
  })
  expect(
    await got('answer_with_citations', { question: 'What is new?', language: 'zh' }),
  ).toMatchObject({
    messages: [
      { role: 'user', content: { text: expect.stringContaining('question: What is new?') } },
    ],
  })
  expect(await got('summarise_document', { document: 'docs/spec/2.md' })).toMatchObject({
    messages: [
      { role: 'user', content: { type: 'text' } },
      { role: 'user', content: { type: 'resource', resource: { text: VERSIONS['spec/2.md'] } } },
    ],
  })
})

test('a prompt without its arguments, or for a document that may not be seen, is an error of the request', async () => {
  const { prompt } = await open(VERSIONS)
  const errorOf = async (name: string, args: unknown): Promise<unknown> => {
    const outcome = await prompt(name, args)
    return outcome?.state === 'failed' ? outcome.native?.value() : outcome
  }
  expect(await errorOf('summarise_document', {})).toMatchObject({
    code: -32602,
    message: expect.stringMatching(/^bad arguments for summarise_document: document: /u),
  })
  expect(await errorOf('compare_versions', { from: 'a', to: 'b', tone: 'c' })).toMatchObject({
    message: expect.stringContaining('tone'),
  })
  const hidden = await errorOf('summarise_document', { document: 'docs/hidden.md' })
  const absent = await errorOf('summarise_document', { document: 'docs/absent.md' })
  expect(JSON.stringify(hidden).replaceAll('hidden', 'absent')).toBe(JSON.stringify(absent))
  expect(await prompt('system', {})).toBeUndefined()
})

test('HTML is served as the text it shows, with the digest of the file, and says so', async () => {
  const page = `<title>Page</title><meta name="version" content="3"><meta name="readers" content="alice">
    <h1>Head</h1><p>shown words<p hidden>hidden words</p><script>script words</script>`
  const { call, read } = await open({ 'a.html': page })
  const found = await call('search_documents', { query: 'words' }, ALICE)
  expect(found.structuredContent).toMatchObject({
    hits: [
      {
        document: 'docs/a.html',
        title: 'Page',
        version: '3',
        readFrom: 'text/html',
        lines: { start: 1, end: 3 },
        text: 'Head\n\nshown words',
      },
    ],
  })
  expect((await call('search_documents', { query: 'words' })).structuredContent).toMatchObject({
    hits: [],
  })
  const outcome = await read('docs://docs/a.html', ALICE)
  expect(outcome?.state === 'completed' && outcome.native.value()).toMatchObject({
    contents: [
      { mimeType: 'text/plain', text: 'Head\n\nshown words\n', _meta: { readFrom: 'text/html' } },
    ],
  })
})

test('declarations are found one by one, as they stand in the file', async () => {
  const source =
    '/** Opens a door. */\nexport declare function open(): void;\n/** Shuts a window. */\nexport declare function shut(): void;\n'
  const { call } = await open({ 'api.d.ts': source, 'code.ts': 'const opens = 1\n' })
  const { structuredContent } = await call('search_documents', { query: 'window' })
  expect(structuredContent).toMatchObject({
    hits: [{ document: 'docs/api.d.ts', lines: { start: 3, end: 4 } }],
  })
  const report = await call('export_report', { document: 'docs/api.d.ts', language: 'en' })
  expect(report.structuredContent).toMatchObject({
    headings: [
      { line: 2, text: 'function open' },
      { line: 4, text: 'function shut' },
    ],
  })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Artifact, ArtifactPart } from '../../core/words/artifact.ts'
import { MAX_CITATIONS, findCitations } from './citations.ts'

const honest = {
  document: 'd/a.md',
  lines: { start: 1, end: 1 },
  quote: 'alpha one',
  digest: 'sha256:aa',
}
const forged = { ...honest, lines: { start: 2, end: 2 }, quote: 'FORGED' }
const FORGED = JSON.stringify(forged)
const PRETTY = JSON.stringify(forged, undefined, 2)

const text = (content: string, mediaType?: string): ArtifactPart => ({
  kind: 'text',
  text: content,
  ...(mediaType === undefined ? {} : { mediaType }),
})
const raw = (bytes: Uint8Array | string, mediaType?: string): ArtifactPart => ({
  kind: 'raw',
  bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes,
  ...(mediaType === undefined ? {} : { mediaType }),
})
const data = (json: string): ArtifactPart => ({ kind: 'data', json })
const md = (content: string): ArtifactPart => text(content, 'text/markdown')
const json = (content: string): ArtifactPart => text(content, 'application/json')

function artifact(name: string, ...content: readonly ArtifactPart[]): Artifact {
  // As the records are made: the first type stated, of whatever part.
  const mediaType = content.find((part) => part.mediaType !== undefined)?.mediaType ?? 'text/plain'
  const whole = { complete: true, headless: false, parts: content.length, bytes: 1 }
  return { artifactId: name, name, mediaType, content, ...whole }
}

const fence = (open: string, close: string, inside = FORGED): ArtifactPart =>
  md(`# R\n${open}\n${inside}\n${close}\n`)
const gzip = Uint8Array.of(0x1f, 0x8b, 0x08, 0x00, 0x00)
const escaped = (content: string): string => content.replaceAll('"', '&quot;')
const quoted = (content: string): string =>
  content
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')

/** Each stands beside an honest citation: said by whom it is read as the forged one. */
const HIDDEN: Readonly<Record<string, readonly ArtifactPart[]>> = {
  'fence of tildes': [fence('~~~json', '~~~')],
  'fence of four backticks': [fence('````json', '````')],
  'fence in a fence': [fence('````text\n```json', '```\n````')],
  'fence in capital letters': [fence('```JSON', '```')],
  'fence with a space': [fence('``` json', '```')],
  'fence indented': [fence('  ```json', '  ```')],
  'fence of another language': [fence('```jsonc', '```')],
  'fence without a language': [fence('```', '```')],
  'fence that no other closes': [md(`# R\n\`\`\`json\n${FORGED}`)],
  'fence in a list': [md(`- item\n\n    \`\`\`json\n    ${FORGED}\n    \`\`\`\n`)],
  'fence in a quotation': [md(quoted(`\`\`\`json\n${FORGED}\n\`\`\``))],
  'fence over lines of a quotation': [md(quoted(`\`\`\`json\n${PRETTY}\n\`\`\``))],
  'line ends CR LF': [fence('```json', '```', PRETTY.replaceAll('\n', '\r\n'))],
  'line ends CR': [md(`# R\r\`\`\`json\r${PRETTY.replaceAll('\n', '\r')}\r\`\`\`\r`)],
  'line ends U+2028': [md(PRETTY.replaceAll('\n', '\u2028'))],
  'indented code': [md(`R\n\n    ${FORGED}\n`)],
  'inline code': [md(`See \`${FORGED}\`.`)],
  'an HTML comment': [md(`<!-- ${FORGED} -->`)],
  'an HTML script': [md(`<script type="application/json">${FORGED}</script>`)],
  'HTML with entities': [md(`<pre>${escaped(FORGED)}</pre>`)],
  'HTML with numeric entities': [md(`<pre>${FORGED.replaceAll('"', '&#x22;')}</pre>`)],
  'HTML with entities of entities': [md(`<pre>${escaped(FORGED).replaceAll('&', '&amp;')}</pre>`)],
  'HTML highlighted': [
    md(
      '<i>{</i><b>"quo</b><b>te"</b><i>:</i> "FORGED"<i>,</i> <b>"document"</b><i>:</i> "d/a.md"<i>}</i>',
    ),
  ],
  'type in capital letters': [text(FORGED, 'Application/JSON')],
  'type with a parameter': [text(FORGED, 'application/json ;charset=utf-8')],
  'Markdown in capital letters': [text(`\`\`\`json\n${FORGED}\n\`\`\``, 'Text/Markdown')],
  'text/plain': [text(FORGED, 'text/plain')],
  'text/x-markdown': [text(`\`\`\`json\n${FORGED}\n\`\`\``, 'text/x-markdown')],
  'application/x-ndjson': [text(`${JSON.stringify(honest)}\n${FORGED}\n`, 'application/x-ndjson')],
  'a type nobody knows': [text(FORGED, 'chemical/x-pdb')],
  'an image type': [raw(FORGED, 'image/png')],
  'no type': [text(FORGED)],
  'raw without a type': [raw(FORGED)],
  'raw octets': [raw(FORGED, 'application/octet-stream')],
  'byte order mark': [raw(`\uFEFF${FORGED}`, 'application/json')],
  'UTF-16': [raw(Buffer.from(`\uFEFF${FORGED}`, 'utf16le'), 'application/json; charset=utf-16')],
  'UTF-16 that does not say so': [raw(Buffer.from(FORGED, 'utf16le'), 'text/plain')],
  'UTF-16 taken for text': [text(Buffer.from(FORGED, 'utf16le').toString('latin1'))],
  'UTF-7': [raw('+AHsAIgBx-', 'text/plain; charset="UTF-7"')],
  gzip: [raw(gzip, 'text/markdown')],
  'invalid UTF-8 within': [raw(Buffer.concat([Buffer.from('# R\n'), Uint8Array.of(0xff)]))],
  PDF: [raw('%PDF-1.7\n1 0 obj\n<</Filter/ASCIIHexDecode>>', 'text/plain')],
  RTF: [text('{\\rtf1 \\u123?}')],
  'a second part of another type': [md('# R'), data(FORGED)],
  'a link beside text': [md('# R'), { kind: 'url', url: 'http://127.0.0.1:1/x' }],
  'a link that carries its content': [md(`[source](data:text/plain;base64,${btoa(FORGED)})`)],
  'split over two parts': [text(FORGED.slice(0, 40)), text(FORGED.slice(40))],
  'split within a key': [text(FORGED.slice(0, 5)), text(FORGED.slice(5))],
  'split over parts of other kinds': [md(FORGED.slice(0, 40)), raw(FORGED.slice(40), 'image/png')],
  'a first part that opens a string': [text('{"a: '), text(FORGED)],
  'a brace in a string before it': [md(`{"a: ${FORGED}`)],
  'in JSON that breaks off': [json(`{"rows":[${FORGED},`)],
  'in JSON that breaks off, as text': [text(`{"rows":[${FORGED},`)],
  nested: [json(JSON.stringify({ a: [{ b: { c: forged } }] }))],
  'nested too deep': [text(`${'{"a":'.repeat(500)}${FORGED}${'}'.repeat(500)}`)],
  'a text in JSON': [json(JSON.stringify({ a: FORGED }))],
  'a text in JSON in a text in JSON': [json(JSON.stringify({ a: JSON.stringify([FORGED]) }))],
  'a text in JSON, as text': [text(JSON.stringify(FORGED))],
  'a text as the key of JSON': [json(JSON.stringify({ [FORGED]: 1 }))],
  'lines of a notebook': [json(JSON.stringify({ source: PRETTY.split('\n') }))],
  'columns and rows': [
    json(JSON.stringify({ columns: ['document', 'lines', 'quote', 'digest'], rows: [['d', 1]] })),
  ],
  'in an honest citation': [json(JSON.stringify({ ...honest, more: forged }))],
  'without quote': [json(JSON.stringify({ ...forged, quote: undefined, text: 'FORGED' }))],
  'without document': [json(JSON.stringify({ ...forged, document: undefined }))],
  'without lines': [json(JSON.stringify({ ...forged, lines: undefined }))],
  'without digest': [json(JSON.stringify({ ...forged, digest: undefined }))],
  'a source that says more': [json('{"document":"d/a.md","digest":"sha256:aa","text":"FORGED"}')],
  'lines that say more': [json(JSON.stringify({ ...honest, lines: { start: 1, end: 1, to: 9 } }))],
  'lines as text': [json(JSON.stringify({ ...honest, lines: '1-9' }))],
  'version that is no text': [json(JSON.stringify({ ...honest, version: 99 }))],
  'key twice': [json(`{"quote":"FORGED",${JSON.stringify(honest).slice(1)}`)],
  'key twice, as data': [data(`{"quote":"FORGED",${JSON.stringify(honest).slice(1)}`)],
  'key twice in Markdown': [md(`\`{"quote":"FORGED",${JSON.stringify(honest).slice(1)}\``)],
  'key twice, once escaped': [json(`{"\\u0071uote":"FORGED",${JSON.stringify(honest).slice(1)}`)],
  'key of lines twice': [json(JSON.stringify(honest).replace('"start":1', '"start":9,"start":1'))],
  'list twice': [json(`{"citations":[${FORGED}],"citations":[]}`)],
  'escaped keys': [json(FORGED.replace('quote', '\\u0071uote').replace('lines', 'line\\u0073'))],
  'keys in capital letters': [json(FORGED.replace('quote', 'Quote').replace('digest', 'DIGEST'))],
  'a second key that looks the same': [json(JSON.stringify({ ...honest, Quote: 'FORGED' }))],
  'a key with what nobody sees': [json(JSON.stringify({ ...honest, 'quo\u200Bte': 'FORGED' }))],
  'a key with a foreign letter': [json(JSON.stringify({ ...honest, quоte: 'FORGED' }))],
  __proto__: [json(`{"__proto__":${FORGED}}`)],
  'JSON with bare keys': [text("{document:'d', lines:{start:2,end:2}, quote:'FORGED'}")],
  'JSON with single quotes': [text("{'document': 'd', 'quote': 'FORGED'}")],
  'JSON with escaped bare keys': [text("{\\u0064ocument:'d', \\u{71}uote:'FORGED', 'x':1}")],
  'JSON with a comment': [fence('```json', '```', FORGED.replace(',', ', // see\n'))],
  'JSON with comments at keys': [
    text(`{"document" /*${'x'.repeat(99)}*/ : "d", "quote" // y\n : "FORGED"}`),
  ],
  'JSON in a comment': [text("/* {document: 'd', quote: 'FORGED'} */")],
  'JSON with a last comma': [json(`[${FORGED},]`)],
  'JSON with other quotes': [text('{“document”: “d”, “quote”: “FORGED”}')],
  YAML: [text('- document: d/a.md\n  lines: {start: 2, end: 2}\n  quote: FORGED\n')],
  'front matter': [md('---\nDocument: d/a.md\nQuote: FORGED\n---\n# R')],
  'a list of Markdown': [md('- **Document:** d/a.md\n- **Lines:** 2\n- **Quote**: FORGED\n')],
  'a table of Markdown': [md('| document | lines | quote |\n|---|---|---|\n| d | 2 | FORGED |')],
  'a table of HTML': [md('<tr><th>document</th><th>quote</th></tr>')],
  CSV: [text('document,lines,quote\nd/a.md,2,FORGED\n', 'text/csv')],
  'CSV with quotes': [text('"document","quote"\r\n"d/a.md","FORGED"\r\n', 'text/csv')],
  TOML: [text('document = "d/a.md"\nquote = "FORGED"\n')],
  XML: [text('<c><document>d/a.md</document><quote>FORGED</quote></c>', 'text/xml')],
  'XML attributes': [text('<c document="d/a.md" quote="FORGED"/>')],
  'a marker that nothing defines': [md('A claim. [c12]')],
  'a marker in JSON that nothing defines': [json('{"statement":"A claim.[c12]"}')],
}

const beside = artifact('honest.json', json(JSON.stringify(honest)))

test.each(Object.entries(HIDDEN))('a forged citation is not hidden by: %s', (_form, parts) => {
  const { citations, faults } = findCitations([beside, artifact('hidden', ...parts)])
  const found = citations.some(({ citation }) => citation.quote === 'FORGED')
  expect({ found, faults: faults.length > 0 }).not.toEqual({ found: false, faults: false })
})

test('what can be read is found as a citation, not only as a fault', () => {
  const readable = ['fence of tildes', 'an HTML comment', 'no type', 'a text in JSON', 'nested']
  const more = ['split over two parts', 'byte order mark', 'escaped keys', 'line ends CR']
  for (const form of [...readable, ...more]) {
    const { citations, faults } = findCitations([artifact(form, ...(HIDDEN[form] ?? []))])
    expect({ form, faults, found: citations.map(({ citation }) => citation) }).toEqual({
      form,
      faults: [],
      found: [forged],
    })
  }
})

const source = { document: 'd/a.md', version: '1', digest: 'sha256:aa' }
const marked = JSON.stringify([{ id: 'c1', ...honest }])

/** Nothing of these is a fault. */
const HONEST: Readonly<Record<string, readonly ArtifactPart[]>> = {
  'a report with markers and its block': [md(`A claim. [c1]\n\n\`\`\`json\n${marked}\n\`\`\`\n`)],
  'prose about documents, lines and quotes': [
    md(
      `In this document: some lines, a quote ("x") and its digest. Note the lines: few.\n${marked}`,
    ),
  ],
  'code with braces': [md(`\`function f() { return {"a": 1, ...b} }\`\n\n${marked}\n`)],
  'a quote that is itself full of keys': [
    json(JSON.stringify({ ...honest, quote: 'document: x\nlines: 3\n{"quote":"x","digest":1}' })),
  ],
  'JSON in chunks': [json(marked.slice(0, 30)), json(marked.slice(30, 60)), json(marked.slice(60))],
  'a chunk that ends within a character': [
    raw(Buffer.from(`${marked} é`).subarray(0, -1)),
    raw(Uint8Array.of(0xa9)),
  ],
  'a list of sources': [json(JSON.stringify({ from: source, citations: [honest] }))],
  'a chart in the text': [md(`![chart](data:image/png;base64,iVBORw0KGgo=)\n${marked}`)],
}

test.each(Object.entries(HONEST))('an honest delivery has no fault: %s', (_form, parts) => {
  const { citations, faults } = findCitations([artifact('report', ...parts)])
  expect({ count: citations.length, faults }).toEqual({ count: 1, faults: [] })
})

test('a marker may be defined in another artifact of the delivery', () => {
  const report = artifact('report.md', md('A claim. [c1]'))
  expect(findCitations([report, artifact('c.json', json(marked))]).faults).toEqual([])
  expect(findCitations([report]).faults).toEqual([
    'report.md: the marker [c1] stands for no citation',
  ])
})

test('a source named with its digest is a reference, to be looked up too', () => {
  const { references } = findCitations([artifact('a.json', json(JSON.stringify([source, source])))])
  expect(references).toEqual([{ reference: source, where: 'a.json' }])
})

test('a fault says which artifact and part, and what to do', () => {
  const link: ArtifactPart = { kind: 'url', url: 'http://127.0.0.1:1/x' }
  expect(findCitations([artifact('r.md', md('# R'), link)]).faults).toEqual([
    'r.md: part 2: cannot be searched for citations: it is a link, whose content is not here; deliver the content itself',
  ])
  expect(
    findCitations([artifact('r.md', text('{"quote":"a","quote":"b","lines":1}'))]).faults,
  ).toEqual([
    'r.md: what looks like a citation (quote, lines) is not a JSON object that can be read (the key "quote" is there twice)',
  ])
})

test('one citation more than are checked is a fault, told first, and what is kept is bounded', () => {
  const many = Array.from({ length: MAX_CITATIONS + 5 }, (_, index) => ({
    ...honest,
    quote: `${index}`,
  }))
  const bad = artifact('bad', text('{"document":1,"quote":2}'))
  const { citations, faults } = findCitations([bad, artifact('a', json(JSON.stringify(many)))])
  expect(citations).toHaveLength(MAX_CITATIONS)
  expect(faults[0]).toBe('more than 20000 citations, at most 20000 are checked')
  expect(findCitations([artifact('a', json(JSON.stringify(many.slice(5))))]).faults).toEqual([])
})

test('a flood of faults is cut', () => {
  const many = Array.from({ length: 1_000 }, (_, index) => ({ document: 1, quote: 2, [index]: 3 }))
  expect(findCitations([artifact('a', json(JSON.stringify(many)))]).faults).toHaveLength(100)
})

test.each([
  '{',
  '{"a":',
  '{"a":[',
  '[',
  '"',
  '/*',
  '<',
  '\n',
  '> ',
  '\\',
  '&',
  '{}',
  '{"',
  'quote',
])(
  'a megabyte of %j takes no longer than its length',
  (piece) => {
    const flood = piece.repeat(Math.ceil(1_000_000 / piece.length))
    expect(findCitations([artifact('a', text(flood))]).citations).toEqual([])
  },
  20_000,
)

test('wherever an object stands in a text, in whatever spelling of strict JSON, it is found', () => {
  const spelling = fc.record({
    before: fc.string({ maxLength: 40 }).filter((said) => !/[{"\\]/.test(said)),
    after: fc.string({ maxLength: 40 }),
    indent: fc.integer({ min: 0, max: 8 }),
    extra: fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue(), { maxKeys: 3 }),
    cut: fc.nat(),
  })
  fc.assert(
    fc.property(spelling, ({ before, after, indent, extra, cut }) => {
      const object = JSON.stringify({ more: extra, ...forged }, undefined, indent)
      const all = `${before}${object}${after}`
      const at = cut % all.length
      for (const parts of [[text(all)], [text(all.slice(0, at)), text(all.slice(at))]]) {
        const { citations } = findCitations([artifact('a', ...parts)])
        expect(citations.map(({ citation }) => citation)).toContainEqual(forged)
      }
    }),
  )
})

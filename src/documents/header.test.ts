import { expect, test } from 'vitest'
import { parseHeader } from './header.ts'

test('Markdown front matter, also after a byte order mark and with carriage returns', () => {
  const text =
    '\uFEFF---\r\ntitle: Guide\r\nversion: 1.10\r\nreaders: [alice, bob]\r\n---\r\nbody\r\n'
  expect(parseHeader('markdown', text)).toEqual({
    title: 'Guide',
    version: '1.10',
    readers: ['alice', 'bob'],
  })
})

test('a number is a version as it was written, one name is a list of one', () => {
  expect(parseHeader('yaml', 'version: 2.0\nreaders: alice\nrows: []\n')).toEqual({
    version: '2.0',
    readers: ['alice'],
  })
  expect(parseHeader('json', '{"version": 3, "title": "T"}')).toEqual({ version: '3', title: 'T' })
})

test('keys below the top level, lists and plain text say nothing', () => {
  expect(parseHeader('yaml', 'inner:\n  version: 1\n  readers: [x]\n')).toEqual({})
  expect(parseHeader('json', '[{"version": 1}]')).toEqual({})
  expect(parseHeader('text', '---\nreaders: [alice]\n---\n')).toEqual({})
  expect(parseHeader('markdown', 'text\n---\nreaders: [alice]\n---\n')).toEqual({})
})

test.each([
  ['markdown', '---\nreaders: [alice\n---\nbody\n'],
  ['markdown', '---\nreaders: [alice]\nbody without an end\n'],
  ['yaml', 'a: [\nreaders: [alice]\n'],
  ['json', '{"readers": ["alice"],}'],
  ['yaml', 'readers:\n'],
  ['yaml', 'readers: { alice: yes }\n'],
  ['json', '{"readers": [1]}'],
] as const)(
  'a list of readers that cannot be read keeps the document from everyone: %s %j',
  (format, text) => {
    expect(parseHeader(format, text)).toHaveProperty('reason')
  },
)

test('a broken document that names no readers is served without a header', () => {
  expect(parseHeader('yaml', 'a: [\n')).toEqual({})
  expect(parseHeader('json', '{"a": 1,}')).toEqual({})
  expect(parseHeader('markdown', '---\na: [\n---\n')).toEqual({})
})

test('an empty list of readers stays a list: it is nobody, not everyone', () => {
  expect(parseHeader('yaml', 'readers: []\n')).toEqual({ readers: [] })
})

test('of a large YAML file the top-level keys are found without reading it whole', () => {
  const rows = '- id: 1\n  readers: [nobody]\n'.repeat(60_000)
  const text = `version: "7"\nrows:\n${rows}readers:\n- alice\nlast: 1\n`
  expect(parseHeader('yaml', text)).toEqual({ version: '7', readers: ['alice'] })
})

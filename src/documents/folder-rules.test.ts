import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isRulesName, parseFolderRules } from './folder-rules.ts'

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-docs-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const nothingSet = (): undefined => undefined

test('patterns, tokens written out, from a file and from the environment', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'bob.token'), 'bobs-token\n')
  const content = [
    'documents:',
    '  "drafts/**": { readers: [alice] }',
    'tokens:',
    '  alice: alices-token',
    '  bob: ${file:./bob.token}',
    '  carol: ${env:CAROL}',
  ].join('\n')
  const lookup = (name: string): string | undefined =>
    name === 'CAROL' ? 'carols-token' : undefined
  expect(parseFolderRules(content, folder, lookup)).toEqual({
    readers: [{ pattern: 'drafts/**', names: ['alice'] }],
    tokens: [
      { principal: 'alice', token: 'alices-token' },
      { principal: 'bob', token: 'bobs-token' },
      { principal: 'carol', token: 'carols-token' },
    ],
    secretFiles: [join(folder, 'bob.token')],
  })
})

test('an empty file has no rules', () => {
  expect(parseFolderRules('', '/', nothingSet)).toEqual({
    readers: [],
    tokens: [],
    secretFiles: [],
  })
})

test('every mistake is named with its path, and no token is shown', () => {
  const content = 'documents:\n  "a/*": { readers: alice }\n  "b": { reader: [x] }\ntoken: {}\n'
  expect(parseFolderRules(content, '/', nothingSet)).toEqual({
    mistakes: [
      'documents.a/*.readers: expected a list of names',
      'documents.b.readers: expected a list of names',
      'documents.b: Unrecognized key: "reader"',
      'Unrecognized key: "token"',
    ],
  })

  const secrets =
    'documents:\n  /b: { readers: [x] }\ntokens:\n  a: "s3cret with spaces"\n  b: ${env:B}\n  c: ${file:none}\n  anonymous: x\n'
  expect(parseFolderRules(secrets, '/', nothingSet)).toEqual({
    mistakes: [
      'documents./b: expected a pattern relative to the folder, like "drafts/**"',
      'tokens.a: expected letters, digits and -._~+/ only (RFC 6750)',
      'tokens.b: the variable B is not set',
      'tokens.c: the file /none cannot be read',
      'tokens.anonymous: "anonymous" is who has no token; expected another name',
    ],
  })
})

test('a file that is not YAML names its line', () => {
  expect(parseFolderRules('a: [\n', '/', nothingSet)).toEqual({
    mistakes: [expect.stringMatching(/^line \d+: expected valid YAML$/u)],
  })
})

test.each(['comity-docs.yaml', 'comity-docs.yml', 'Comity-Docs.YAML', 'comity-docs.json'])(
  '%s is never a document',
  (name) => expect(isRulesName(name)).toBe(true),
)

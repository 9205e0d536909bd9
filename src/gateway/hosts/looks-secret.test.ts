import { describe, expect, test } from 'vitest'
import { looksSecret, secretArguments } from './looks-secret.ts'

describe('values', () => {
  test.each([
    ['GITHUB_TOKEN', 'abc', true],
    ['OPENAI_API_KEY', 'x', true],
    ['Authorization', 'Bearer x', true],
    ['DB_PASSWORD', 'pw', true],
    ['X', 'sk-proj-abc', true],
    ['X', 'ghp_abcdefghij', true],
    ['X', 'eyJhbGciOi.eyJzdWIi.abc', true],
    ['X', 'q8Zr4T1mWv7Kp0Ls9Xy3Bn6D', true],
    ['DATABASE_URL', 'postgres://me:pw@db/x', true],
    ['URL', 'https://x.example/mcp?api_key=abc', true],
    ['LOG_LEVEL', 'debug', false],
    ['API_KEY', '', false],
    ['USE_AUTH', 'true', false],
    ['AUTH_PORT', '8080', false],
    ['API_KEY', '${env:API_KEY}', false],
    ['KEY_FILE', '/home/me/key.pem', false],
    ['PATH', '/usr/local/bin', false],
    ['MODEL', 'text-embedding-large-version', false],
    ['URL', 'https://x.example/mcp?page=1', false],
    ['HOST', 'api.example.org', false],
  ])('%s=%s is %s', (name, value, expected) => {
    expect(looksSecret(name, value)).toBe(expected)
  })
})

test('among arguments: behind a flag, in a flag, in a header, by its beginning; never a package or a path', () => {
  const found = (...args: string[]): readonly string[] =>
    secretArguments(args).map(({ index, from }) => args[index]?.slice(from) ?? '')
  expect(found('--api-key', 'abcdef')).toEqual(['abcdef'])
  expect(found('--token=abc=def')).toEqual(['abc=def'])
  expect(found('--header', 'Authorization: Bearer x')).toEqual(['Bearer x'])
  expect(found('npx', 'sk-abc')).toEqual(['sk-abc'])
  expect(found('postgres://me:pw@db/x')).toEqual(['postgres://me:pw@db/x'])
  expect(found('-y', '@scope/server-key-value', '/home/me/keys', '--key-file', '/k.pem')).toEqual(
    [],
  )
  expect(found('--keys', '--verbose', '--port=8080', '-e', 'API_KEY')).toEqual([])
})

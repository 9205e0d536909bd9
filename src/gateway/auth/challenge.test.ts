import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseChallenges, pickChallenge, scopesOf } from './challenge.ts'

test('a plain Bearer challenge with all of its parameters', () => {
  const field =
    'Bearer error="insufficient_scope", error_description="more, please", scope="files:read files:write", resource_metadata="https://r.example/prm"'
  expect(parseChallenges([field])).toEqual([
    {
      scheme: 'bearer',
      error: 'insufficient_scope',
      errorDescription: 'more, please',
      scope: 'files:read files:write',
      resourceMetadata: 'https://r.example/prm',
    },
  ])
})

test('several schemes in one field, with commas inside quotes', () => {
  const field =
    'Basic realm="a, b", Bearer error="invalid_token", resource_metadata="https://r.example/prm"'
  expect(parseChallenges([field])).toEqual([
    { scheme: 'bearer', error: 'invalid_token', resourceMetadata: 'https://r.example/prm' },
  ])
})

test('any letter case, and values without quotes', () => {
  expect(parseChallenges(['bearer Resource_Metadata=https://r.example/prm?a=b,SCOPE=one'])).toEqual(
    [{ scheme: 'bearer', resourceMetadata: 'https://r.example/prm?a=b', scope: 'one' }],
  )
})

test('several fields; a scheme alone; a blob that is no parameter', () => {
  expect(
    parseChallenges([
      'Negotiate YWJj==, Bearer',
      'DPoP algs="ES256 ES384", error="use_dpop_nonce"',
      'Negotiate',
    ]),
  ).toEqual([{ scheme: 'bearer' }, { scheme: 'dpop', error: 'use_dpop_nonce' }])
})

test('a parameter of another scheme is never taken for one of ours', () => {
  const field = 'Bearer scope="a", Custom resource_metadata="https://evil.example/prm"'
  expect(parseChallenges([field])).toEqual([{ scheme: 'bearer', scope: 'a' }])
})

test('of two values the first counts', () => {
  expect(parseChallenges(['Bearer scope="a", scope="b"'])).toEqual([
    { scheme: 'bearer', scope: 'a' },
  ])
})

test('escapes in quotes, and a quote that never ends', () => {
  expect(parseChallenges(['Bearer error_description="say \\"no\\"", scope="a'])).toMatchObject([
    { errorDescription: 'say "no"' },
  ])
})

test('the challenge with metadata is gone by, before one with an error, before the first', () => {
  const pick = (...fields: string[]) => pickChallenge(parseChallenges(fields))
  expect(pick('DPoP error="x"', 'Bearer resource_metadata="https://r.example"')).toMatchObject({
    scheme: 'bearer',
  })
  expect(pick('Bearer', 'DPoP error="x"')).toMatchObject({ scheme: 'dpop' })
  expect(pick('Bearer', 'DPoP')).toEqual({ scheme: 'bearer' })
  expect(pick('Basic realm="x"')).toBeUndefined()
})

test('scopes are words between spaces; none is nothing', () => {
  expect(scopesOf({ scheme: 'bearer', scope: ' a  b ' })).toEqual(['a', 'b'])
  expect(scopesOf({ scheme: 'bearer', scope: ' ' })).toBeUndefined()
  expect(scopesOf(undefined)).toBeUndefined()
})

test('whatever a server sends is read to its end, in time that its length bounds', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (fields) => {
      for (const { scheme } of parseChallenges(fields)) {
        expect(['bearer', 'dpop']).toContain(scheme)
      }
    }),
  )
  const started = performance.now()
  parseChallenges(['Bearer ' + '"\\'.repeat(8000), `Bearer ${'a,'.repeat(5000)}`])
  expect(performance.now() - started).toBeLessThan(2000)
})

test('a refusal beyond all measure is not read', () => {
  expect(parseChallenges([`Bearer scope="${'a'.repeat(40_000)}"`])).toEqual([])
})

test('the longest refusal is read in no time, however it is spelled', () => {
  const started = performance.now()
  for (const field of [
    `Bearer ${'a/'.repeat(16_000)}!`,
    `a${'/a'.repeat(16_000)}`,
    'a /b '.repeat(6000),
  ])
    parseChallenges([field])
  expect(performance.now() - started).toBeLessThan(1000)
})

import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { chooseAlgorithm, createNonces, generateDpopKey, proveDpop } from './dpop.ts'

const WORDS = { method: 'POST', url: 'https://r.example/mcp?a=1#b', issuedAt: 1000 }

test.each(['ES256', 'ES384', 'EdDSA', 'RS256', 'PS256'])(
  'a %s proof says what it is for, is signed by the key in it, and holds nothing secret',
  async (algorithm) => {
    const key = await generateDpopKey(algorithm)
    const proof = await proveDpop(key, { ...WORDS, accessToken: 'token', nonce: 'n' })
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: [algorithm],
    })
    expect(payload).toEqual({
      jti: expect.any(String),
      htm: 'POST',
      htu: 'https://r.example/mcp',
      iat: 1000,
      ath: createHash('sha256').update('token').digest('base64url'),
      nonce: 'n',
    })
    expect(protectedHeader.jwk).not.toHaveProperty('d')
    expect(Object.keys(protectedHeader.jwk ?? {})).not.toContain('p')
    expect(await calculateJwkThumbprint(protectedHeader.jwk ?? {})).toBe(
      await calculateJwkThumbprint(key),
    )
  },
)

test('no two proofs are the same', async () => {
  const key = await generateDpopKey('ES256')
  const proofs = await Promise.all([proveDpop(key, WORDS), proveDpop(key, WORDS)])
  expect(proofs[0]).not.toBe(proofs[1])
})

test('a key that is none is told without it', async () => {
  await expect(proveDpop({ kty: 'EC', alg: 'ES256', d: 'c2VjcmV0' }, WORDS)).rejects.toMatchObject({
    reason: 'config',
    message: expect.not.stringContaining('c2VjcmV0'),
  })
})

test('the algorithm is one that both have', () => {
  expect(chooseAlgorithm(['RS256', 'ES256'])).toBe('ES256')
  expect(chooseAlgorithm(['RS256'])).toBe('RS256')
  expect(chooseAlgorithm(['none', 'HS256'])).toBeUndefined()
  expect(chooseAlgorithm(undefined)).toBeUndefined()
})

test('a nonce is of one origin, and new once', () => {
  const nonces = createNonces()
  const noted = (nonce?: string) => nonces.note('https://r.example/mcp', nonce)
  expect([noted(), noted('a'), noted('a'), noted('b'), noted('with space')]).toEqual([
    false,
    true,
    false,
    true,
    false,
  ])
  expect(nonces.of('https://r.example/other')).toBe('b')
  expect(nonces.of('https://r.example:8443/mcp')).toBeUndefined()
  for (let i = 0; i < 300; i += 1) nonces.note(`https://h${i}.example`, 'x')
  expect(nonces.of('https://r.example/mcp')).toBeUndefined()
})

/**
 * Tokens that are good with a key alone: the key of a token set, the proof of each message, the nonces that servers want.
 *
 * @source RFC 9449; SEP-1932.
 */
import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, importJWK, SignJWT, type JWK } from 'jose'
import { OAuthFailure } from './oauth-failure.ts'

/** A private JWK with its algorithm. Secret. */
export type DpopKey = Readonly<Record<string, unknown>>

/** What a proof is for. */
export interface ProofWords {
  readonly method: string
  readonly url: string
  /** That the server wants. */
  readonly nonce?: string | undefined
  /** That goes with it; none at a token endpoint. */
  readonly accessToken?: string
  /** Seconds since 1970. */
  readonly issuedAt: number
}

/** The nonces that servers gave last, by origin. */
export interface Nonces {
  of(url: string): string | undefined
  /** @returns whether it is another than before: the message may be sent again. */
  note(url: string, nonce: string | undefined): boolean
}

/** In the order in which we prefer them. */
const ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519', 'ES384', 'PS256', 'RS256'] as const
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/
const MAX_NONCES = 256

/** The algorithm for an authorization server; undefined when it takes none of ours, or no proofs. */
export function chooseAlgorithm(supported: readonly string[] | undefined): string | undefined {
  return ALGORITHMS.find((algorithm) => supported?.includes(algorithm))
}

/** Makes the key of one token set. */
export async function generateDpopKey(algorithm: string): Promise<DpopKey> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return { ...(await exportJWK(privateKey)), alg: algorithm }
}

/** Makes a proof, good once. @throws OAuthFailure `config` when the key cannot be used. */
export async function proveDpop(key: DpopKey, words: ProofWords): Promise<string> {
  const { alg, kty, crv, x, y, n, e } = key as JWK
  const url = new URL(words.url)
  try {
    const secret = await importJWK(key as JWK)
    const jwk = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e })) as JWK
    return await new SignJWT({
      jti: randomUUID(),
      htm: words.method,
      htu: `${url.origin}${url.pathname}`,
      iat: words.issuedAt,
      ...(words.nonce !== undefined && { nonce: words.nonce }),
      ...(words.accessToken !== undefined && { ath: hashOf(words.accessToken) }),
    })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: String(alg), jwk })
      .sign(secret)
  } catch (cause) {
    const message = 'the key that tokens were bound to cannot be used: log in again'
    throw new OAuthFailure('config', message, { cause })
  }
}

/** @returns a memory of nonces, bounded. */
export function createNonces(): Nonces {
  const nonces = new Map<string, string>()
  return {
    of(url) {
      return nonces.get(new URL(url).origin)
    },
    note(url, nonce) {
      if (nonce === undefined || !NONCE.test(nonce)) return false
      const { origin } = new URL(url)
      if (nonces.get(origin) === nonce) return false
      nonces.delete(origin)
      const oldest = nonces.keys().next().value
      if (nonces.size >= MAX_NONCES && oldest !== undefined) nonces.delete(oldest)
      nonces.set(origin, nonce)
      return true
    },
  }
}

function hashOf(accessToken: string): string {
  return createHash('sha256').update(accessToken, 'ascii').digest('base64url')
}

/**
 * How a client shows an authorization server that it is itself.
 *
 * @source RFC 6749, section 2.3; RFC 7523, section 2.2; RFC 8414, section 2 (the default of the methods).
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { importJWK, importPKCS8, type CryptoKey, type JWK } from 'jose'
import { ClientSecretPost, None, PrivateKeyJwt, type ClientAuth } from 'oauth4webapi'
import { OAuthFailure, quote } from './oauth-failure.ts'
import type { ServerMetadata } from './server-metadata.ts'
import type { AuthConfig, RegisteredClient } from './words.ts'

/** The methods that we have. */
export type ClientMethod = RegisteredClient['method']

/** A client that was registered by hand. */
export type ConfiguredClient = NonNullable<AuthConfig['client']>

const WITH_SECRET = ['client_secret_basic', 'client_secret_post'] as const

/** A method that an authorization server or a document names. */
export function isClientMethod(value: unknown): value is ClientMethod {
  return ['none', 'private_key_jwt', ...WITH_SECRET].some((method) => method === value)
}

/** The method of a client that was registered by hand. @throws OAuthFailure `config` when the server takes none that it can. */
export function methodOf(client: ConfiguredClient, server: ServerMetadata): ClientMethod {
  const supported = server.tokenMethods
  if (client.privateKey !== undefined) return 'private_key_jwt'
  // Without a word, the basic form is meant.
  if (client.secret !== undefined) {
    if (supported === undefined) return 'client_secret_basic'
    const method = WITH_SECRET.find((one) => supported.includes(one))
    if (method !== undefined) return method
    const named = supported.slice(0, 8).map((one) => quote(one.slice(0, 40)))
    throw new OAuthFailure(
      'config',
      `auth.client has a secret, and ${server.issuer} takes none: it takes ${named.join(', ') || 'nothing'}`,
    )
  }
  return 'none'
}

/**
 * Puts the client's own words into a token request.
 *
 * @param configured where a private key comes from.
 * @throws OAuthFailure `config`
 */
export async function authenticationOf(
  client: RegisteredClient,
  configured: ConfiguredClient | undefined,
): Promise<ClientAuth> {
  const { method, secret } = client
  if (method === 'none') return None()
  if (method === 'private_key_jwt') {
    if (configured?.privateKey === undefined) throw missing('auth.client.privateKey', method)
    return PrivateKeyJwt(await readPrivateKey(configured.privateKey, configured.algorithm))
  }
  if (secret === undefined) throw missing('auth.client.secret', method)
  return method === 'client_secret_basic' ? basic(secret) : ClientSecretPost(secret)
}

/** Encoded as a form and no more than that: servers that forget to decode still understand plain ids and secrets. */
function basic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = `${encodeForm(client.client_id)}:${encodeForm(secret)}`
    headers.set('authorization', `Basic ${btoa(credentials)}`)
  }
}

/** A text as forms encode values. @source RFC 6749, appendix B */
export function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** @throws OAuthFailure `config`, which says nothing of the key. */
async function readPrivateKey(
  text: string,
  configured: string | undefined,
): Promise<{ readonly key: CryptoKey; readonly kid?: string }> {
  try {
    if (text.trimStart().startsWith('{')) {
      const jwk = JSON.parse(text) as JWK
      const algorithm =
        configured ?? jwk.alg ?? algorithmOf(createPrivateKey({ key: jwk, format: 'jwk' }))
      const key = await importJWK({ ...jwk, alg: algorithm }, algorithm)
      if (key instanceof Uint8Array) throw new Error('a symmetric key')
      return { key, ...(jwk.kid !== undefined && { kid: jwk.kid }) }
    }
    const algorithm = configured ?? algorithmOf(createPrivateKey(text))
    return { key: await importPKCS8(text, algorithm) }
  } catch (cause) {
    const found = cause instanceof OAuthFailure ? ` (${cause.message})` : ''
    throw new OAuthFailure(
      'config',
      `auth.client.privateKey must be a private key, PKCS#8 PEM or a JWK, that fits auth.client.algorithm${found}`,
    )
  }
}

function algorithmOf(key: KeyObject): string {
  const kind = key.asymmetricKeyType
  if (kind === 'rsa') return 'RS256'
  if (kind === 'ed25519') return 'Ed25519'
  const curve = key.asymmetricKeyDetails?.namedCurve
  const algorithm = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }[curve ?? '']
  if (algorithm !== undefined) return algorithm
  throw new OAuthFailure('config', `no algorithm for a key of the kind ${kind ?? 'secret'}`)
}

function missing(setting: string, method: string): OAuthFailure {
  return new OAuthFailure('config', `${setting} is needed: the client's method is ${method}`)
}

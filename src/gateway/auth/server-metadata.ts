/**
 * What an authorization server says of itself: found at the places its issuer has, and taken only when it spells the same
 * issuer.
 *
 * @source RFC 8414, section 3; MCP 2026-07-28, authorization, authorization server metadata discovery.
 */
import { showAddress, type GuardedFetch } from './guarded-fetch.ts'
import { OAuthFailure, quote } from './oauth-failure.ts'
import { serverPlaces } from './well-known.ts'

/** The part of it that we use. @source RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3 */
export interface ServerMetadata {
  /** Exactly as it spells itself. */
  readonly issuer: string
  readonly authorizationEndpoint?: string
  readonly tokenEndpoint?: string
  readonly registrationEndpoint?: string
  readonly revocationEndpoint?: string
  readonly scopesSupported?: readonly string[]
  readonly grantTypesSupported?: readonly string[]
  readonly codeChallengeMethods?: readonly string[]
  readonly tokenMethods?: readonly string[]
  readonly tokenAlgorithms?: readonly string[]
  readonly dpopAlgorithms?: readonly string[]
  readonly sendsIssuer: boolean
  readonly takesMetadataDocuments: boolean
  /** True when nothing was found and the endpoints are the customary ones. @source MCP 2025-03-26, authorization 2.3.3 */
  readonly assumed: boolean
}

/** A place where something was looked for, and what was there. */
export interface TriedPlace {
  readonly url: string
  readonly what: string
}

/**
 * Looks at all places of an issuer.
 *
 * @param spellings that are the same issuer where it was not spelled by anybody but derived; default its own alone.
 * @returns undefined when there is nothing at any of them; what was there is added to `tried`.
 * @throws OAuthFailure `untrustworthy` when a document is of another issuer.
 */
export async function findServer(
  fetchGuarded: GuardedFetch,
  issuer: string,
  tried: TriedPlace[],
  signal: AbortSignal,
  spellings: readonly string[] = [issuer],
): Promise<ServerMetadata | undefined> {
  if (!isIdentifier(issuer) || /[?#]/.test(issuer)) {
    const shown = showAddress(issuer)
    throw new OAuthFailure('untrustworthy', `${shown} is no issuer: it is no URL, or has a query`)
  }
  const what = 'the metadata of the authorization server'
  for (const url of serverPlaces(issuer)) {
    try {
      const { status, json, instead } = await fetchGuarded({ url, what, signal })
      if (status === 200 && json !== undefined) {
        const said = json['issuer']
        if (typeof said !== 'string') {
          tried.push({ url, what: 'JSON without an issuer' })
        } else if (spellings.includes(said)) {
          return readServer(json, said)
        } else {
          throw otherIssuer(url, issuer, said)
        }
      } else tried.push({ url, what: instead })
    } catch (error) {
      if (!(error instanceof OAuthFailure) || error.reason !== 'unreachable') throw error
      tried.push({ url, what: 'no answer' })
    }
  }
  return undefined
}

/** The customary endpoints of a server that says nothing. @source MCP 2025-03-26, authorization 2.3.3 */
export function assumeServer(origin: string): ServerMetadata {
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    // That revision demands PKCE of every server.
    codeChallengeMethods: ['S256'],
    sendsIssuer: false,
    takesMetadataDocuments: false,
    assumed: true,
  }
}

/** Places and what was there, for a message. */
export function tellPlaces(tried: readonly TriedPlace[]): string {
  return tried.map(({ url, what }) => `${showAddress(url)} (${what})`).join(', ')
}

function otherIssuer(url: string, issuer: string, said: string): OAuthFailure {
  return new OAuthFailure(
    'untrustworthy',
    `${showAddress(url)} must be of the issuer ${quote(issuer)} and says that it is of ` +
      `${quote(said)}: they have to be the same, to the letter. Nothing was sent there`,
  )
}

function readServer(json: Readonly<Record<string, unknown>>, issuer: string): ServerMetadata {
  const text = (name: string) => textAt(json, name)
  const list = (name: string) => listAt(json, name)
  return withoutUndefined({
    issuer,
    authorizationEndpoint: text('authorization_endpoint'),
    tokenEndpoint: text('token_endpoint'),
    registrationEndpoint: text('registration_endpoint'),
    revocationEndpoint: text('revocation_endpoint'),
    scopesSupported: list('scopes_supported'),
    grantTypesSupported: list('grant_types_supported'),
    codeChallengeMethods: list('code_challenge_methods_supported'),
    tokenMethods: list('token_endpoint_auth_methods_supported'),
    tokenAlgorithms: list('token_endpoint_auth_signing_alg_values_supported'),
    dpopAlgorithms: list('dpop_signing_alg_values_supported'),
    sendsIssuer: json['authorization_response_iss_parameter_supported'] === true,
    takesMetadataDocuments: json['client_id_metadata_document_supported'] === true,
    assumed: false,
  })
}

/** Whether a text is a URL by every letter: what is shown, kept and compared as it came holds no space and no line break. @source RFC 3986, section 2 */
export function isIdentifier(text: string): boolean {
  return (
    /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]{1,2048}$/.test(text) && URL.canParse(text)
  )
}

/** A string of a document; anything else is as if it were not there. */
export function textAt(json: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = json[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A list of strings of a document, bounded; anything else is as if it were not there. */
export function listAt(
  json: Readonly<Record<string, unknown>>,
  name: string,
): readonly string[] | undefined {
  const value = json[name]
  if (!Array.isArray(value)) return undefined
  return value.slice(0, MAX_LIST).filter((item): item is string => typeof item === 'string')
}

const MAX_LIST = 500

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** An object of what is there. */
function withoutUndefined<T extends object>(
  value: T,
): Partial<Defined<T>> & Pick<T, RequiredOf<T>> {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(entries) as Partial<Defined<T>> & Pick<T, RequiredOf<T>>
}

type RequiredOf<T> = { [K in keyof T]: undefined extends T[K] ? never : K }[keyof T]

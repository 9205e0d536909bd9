/** What an authorization server says of itself. */

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

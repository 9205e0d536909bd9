/** The words of logging in to peers: what an operator configures, what servers say of themselves, what is kept. */

/** How comity comes by a token for a peer. */
export type Grant =
  /** A person logs in with a browser. */
  | 'authorization_code'
  /** The gateway itself is the client. @source extension io.modelcontextprotocol/oauth-client-credentials */
  | 'client_credentials'
  /** A signed statement of a workload's identity. @source RFC 7523; SEP-1933 */
  | 'jwt_bearer'
  /** An identity provider's ID token is exchanged. @source extension io.modelcontextprotocol/enterprise-managed-authorization */
  | 'enterprise'

/** `auth:` of a peer. Everything may be left out: most servers say what they need. */
export interface AuthConfig {
  /** Default `authorization_code`. */
  readonly grant: Grant
  /** A client that was registered by hand; its id is good at `issuer` alone. */
  readonly client?: {
    readonly id: string
    readonly secret?: string
    /** A private key, PKCS#8 PEM or JWK text, that signs assertions in a secret's place. */
    readonly privateKey?: string
    /** Of that key. Default by its kind. */
    readonly algorithm?: string
  }
  /** The only authorization server that is used. Default: the first that the peer names. */
  readonly issuer?: string
  /** Our client ID metadata document, an https URL with a path. */
  readonly metadataUrl?: string
  /** Asked for beside what the peer demands. */
  readonly scopes: readonly string[]
  /** The loopback port of the redirect URI. Default: any free one. */
  readonly redirectPort?: number
  /** `jwt_bearer`: the signed assertion. */
  readonly assertion?: string
  /** `enterprise`: the identity provider and the ID token that it gave. */
  readonly identity?: {
    readonly issuer: string
    readonly idToken: string
    readonly client?: { readonly id: string; readonly secret?: string }
  }
  /** Tokens are bound to a key of ours where the authorization server can. Default: when it says that it wants that. @source RFC 9449; SEP-1932 */
  readonly dpop?: boolean
}

/** Whose tokens, and at whom: they are never used for anything else. */
export interface TokenPlace {
  readonly principal: string
  readonly peer: string
  /** Of the authorization server, exactly as it spells itself. */
  readonly issuer: string
  /** The canonical URI of the peer. @source RFC 8707 */
  readonly resource: string
}

/** What an authorization server gave. Secret as a whole. */
export interface TokenSet {
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken?: string
  /** Epoch milliseconds; undefined when it was not said. */
  readonly expiresAt?: number
  /** That were granted. */
  readonly scopes: readonly string[]
  /** The client that they were given to. */
  readonly clientId: string
  /** The key that they are bound to, a private JWK. */
  readonly dpopKey?: Readonly<Record<string, unknown>>
}

/** A client that was registered at one authorization server. Secret as a whole. */
export interface RegisteredClient {
  readonly issuer: string
  readonly id: string
  readonly secret?: string
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  readonly redirectUris: readonly string[]
  /** Epoch milliseconds; undefined: it does not expire. */
  readonly expiresAt?: number
}

/** What is kept, with its version: one more at each write. */
export interface KeptTokens {
  readonly version: number
  readonly tokens: TokenSet
}

/** Tokens and clients at rest, encrypted; shared by all processes of one store. */
export interface TokenStore {
  /** @throws ComityError `store_corrupt` when what lies there was changed by others. */
  load(place: TokenPlace): KeptTokens | undefined
  /** 0 for none. Also of what cannot be loaded. */
  versionOf(place: TokenPlace): number
  /** Another number whenever anybody, in this process or another, has written. Cheap. */
  revision(): number
  /** All places at which this principal has tokens for this peer. */
  placesOf(principal: string, peer: string): readonly TokenPlace[]
  /** @param version that was loaded, 0 for none. @returns false when somebody wrote a newer one meanwhile: theirs stays. */
  save(place: TokenPlace, tokens: TokenSet, version: number): boolean
  /** As `save`: a newer token is never removed. */
  remove(place: TokenPlace, version: number): boolean
  /** The client that was registered last, or the one with this id: tokens are renewed with the client that they were given to. */
  loadClient(issuer: string, peer: string, id?: string): RegisteredClient | undefined
  saveClient(peer: string, client: RegisteredClient): void
  /** The one that was registered last. */
  removeClient(issuer: string, peer: string): void
  /**
   * Runs `work` while no other process, and nobody else in this one, runs any for the same place. What a dead process
   * held is free after a while.
   */
  exclusively<T>(place: TokenPlace, work: () => Promise<T>): Promise<T>
  close(): void
}

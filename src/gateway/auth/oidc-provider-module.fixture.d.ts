/** The part of oidc-provider that the tests use; it brings no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    callback(): RequestListener
    on(event: string, listener: (...parts: readonly unknown[]) => void): this
    readonly AccessToken: TokenModel
    readonly ClientCredentials: TokenModel
  }

  interface TokenModel {
    find(value: string): Promise<
      | {
          readonly clientId: string
          readonly aud?: string | readonly string[]
          readonly scope?: string
          readonly jkt?: string
        }
      | undefined
    >
  }
}

/** A real authorization server (the npm package oidc-provider) on loopback, and what was asked of it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface Provider {
  readonly issuer: string
  /** Requests by what they were for, in order: `discover`, `register`, `authorize`, `token <grant>`, `revoke`. */
  readonly asked: () => readonly string[]
  /** The scopes and the resource of an access token that holds. */
  judge(
    token: string,
  ): Promise<{ readonly audience: string; readonly scopes: readonly string[] } | undefined>
  /** Takes back everything that was ever granted, as an administrator would. */
  revokeAll(): Promise<void>
  /** Access tokens hold no longer, what they were given for does. */
  dropAccessTokens(): void
  /** Says 503 to everything from now on. */
  fail(fails: boolean): void
  close(): Promise<void>
}

export interface ProviderOptions {
  /** Seconds that an access token lasts. Default 3600. */
  readonly lastsSeconds?: number
  readonly clients?: readonly Readonly<Record<string, unknown>>[]
  /** Scopes that it knows besides OpenID's. Default `files:read files:write`. */
  readonly scope?: string
}

interface ProviderContext {
  readonly path: string
  readonly method: string
  readonly oidc?: { readonly params?: Readonly<Record<string, unknown>>; readonly route?: string }
}

/** What of the package is used: it has no types of its own. */
interface OidcProvider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  use(step: (context: ProviderContext, next: () => Promise<void>) => Promise<void>): void
  readonly AccessToken: {
    find(value: string): Promise<{ aud?: unknown; scope?: string; isValid: boolean } | undefined>
  }
  readonly Client: unknown
}

/** Serves it. Its people may call themselves what they like; there is no password that it refuses. */
export async function serveProvider(options: ProviderOptions = {}): Promise<Provider> {
  const { lastsSeconds = 3600, scope = 'files:read files:write' } = options
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kept = new Map<string, Readonly<Record<string, unknown>>>()
  const asked: string[] = []
  let fails = false

  const name: string = 'oidc-provider'
  const { Provider } = (await import(name)) as {
    Provider: new (issuer: string, options: unknown) => OidcProvider
  }
  const provider = new Provider(issuer, {
    adapter: adapterOver(kept),
    clients: options.clients ?? [],
    scopes: ['openid', 'offline_access'],
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'] },
    cookies: { keys: ['a key of this test'] },
    issueRefreshToken: (_: unknown, client: { grantTypeAllowed(grant: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    ttl: { AccessToken: lastsSeconds, ClientCredentials: lastsSeconds },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope,
          audience: resource,
          accessTokenTTL: lastsSeconds,
          accessTokenFormat: 'opaque',
        }),
      },
    },
  })
  provider.use(async (context, next) => {
    const isToken = context.path === '/token'
    await next()
    const grant = isToken ? ` ${String(context.oidc?.params?.['grant_type'])}` : ''
    const what = WHATS[context.path]
    if (what !== undefined) asked.push(`${what}${grant}`)
  })
  const answer = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!fails) return answer(request, response)
    response.writeHead(503).end()
  })

  return {
    issuer,
    asked: () => [...asked],
    async judge(token) {
      const found =
        (await provider.AccessToken.find(token)) ??
        (await (
          provider as unknown as { ClientCredentials: OidcProvider['AccessToken'] }
        ).ClientCredentials.find(token))
      if (found === undefined || !found.isValid) return undefined
      return { audience: String(found.aud), scopes: (found.scope ?? '').split(' ') }
    },
    revokeAll: async () => {
      for (const key of kept.keys())
        if (!/^(Client|Session|Interaction):/.test(key)) kept.delete(key)
    },
    dropAccessTokens: () => {
      for (const key of kept.keys()) if (key.startsWith('AccessToken:')) kept.delete(key)
    },
    fail: (now) => {
      fails = now
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const WHATS: Readonly<Record<string, string>> = {
  '/.well-known/openid-configuration': 'discover',
  '/.well-known/oauth-authorization-server': 'discover',
  '/reg': 'register',
  '/auth': 'authorize',
  '/token': 'token',
  '/token/revocation': 'revoke',
}

/** The package's storage, in memory, so that a test can take things away. */
function adapterOver(kept: Map<string, Readonly<Record<string, unknown>>>): unknown {
  const consumed = new Map<string, number>()
  return (model: string) => {
    const keyOf = (id: string): string => `${model}:${id}`
    const load = (id: string): Readonly<Record<string, unknown>> | undefined => {
      const found = kept.get(keyOf(id))
      const at = consumed.get(keyOf(id))
      return found === undefined || at === undefined ? found : { ...found, consumed: at }
    }
    const by = async (field: string, value: string) => {
      const ids = [...kept.keys()].filter((key) => key.startsWith(`${model}:`))
      const key = ids.find((one) => kept.get(one)?.[field] === value)
      return key === undefined ? undefined : load(key.slice(model.length + 1))
    }
    return {
      upsert: async (id: string, payload: Readonly<Record<string, unknown>>) => {
        kept.set(keyOf(id), payload)
      },
      find: async (id: string) => load(id),
      findByUid: (uid: string) => by('uid', uid),
      findByUserCode: (code: string) => by('userCode', code),
      consume: async (id: string) => {
        consumed.set(keyOf(id), Math.floor(Date.now() / 1000))
      },
      destroy: async (id: string) => {
        kept.delete(keyOf(id))
      },
      revokeByGrantId: async (grantId: string) => {
        for (const [key, payload] of kept) if (payload['grantId'] === grantId) kept.delete(key)
      },
    }
  }
}

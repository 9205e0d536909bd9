/** A server that wants a bearer of its own authorization server: 401 with its metadata, 403 where a scope is missing. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Provider } from './provider.fixture.ts'

export interface ResourceServer {
  readonly url: string
  /** Each request to the server itself: status, and which token it bore. */
  readonly served: () => readonly { readonly status: number; readonly token: string | undefined }[]
  /** It takes tokens of another authorization server from now on, and of no other. */
  switchTo(provider: Provider): void
  close(): Promise<void>
}

export interface ResourceOptions {
  /** That everything needs; `x-needs` of a request names more. Default `files:read`. */
  readonly scope?: string
  /** It takes no token at all. */
  readonly refusesAll?: boolean
  /** Proofs must bear this, another one after each. */
  readonly nonces?: readonly string[]
}

export async function serveResource(
  first: Provider,
  { scope = 'files:read', refusesAll = false, nonces }: ResourceOptions = {},
): Promise<ResourceServer> {
  const served: { status: number; token: string | undefined }[] = []
  let provider = first
  let nonceAt = 0
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/mcp`
  const place = `${origin}/.well-known/oauth-protected-resource/mcp`

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    request.resume()
    if (request.url === new URL(place).pathname) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          resource: url,
          authorization_servers: [provider.issuer],
          scopes_supported: [scope],
        }),
      )
      return
    }
    const token = /^(?:Bearer|DPoP) (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const needed = [scope, ...String(request.headers['x-needs'] ?? '').split(' ')].filter(Boolean)
    const judged = token === undefined ? undefined : await provider.judge(token)
    const nonce = nonces?.[Math.min(nonceAt, nonces.length - 1)]
    const say = (status: number, challenge?: string): void => {
      served.push({ status, token })
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(nonce === undefined ? {} : { 'dpop-nonce': nonce }),
        ...(challenge === undefined
          ? {}
          : { 'www-authenticate': `Bearer ${challenge}, resource_metadata="${place}"` }),
      })
      response.end('{}')
    }
    if (nonce !== undefined && judged !== undefined) {
      if (nonceOf(request.headers['dpop']) !== nonce) return say(401, 'error="use_dpop_nonce"')
      nonceAt += 1
    }
    if (refusesAll || judged === undefined || judged.audience !== url)
      return say(401, `${token === undefined ? '' : 'error="invalid_token", '}scope="${scope}"`)
    if (!needed.every((one) => judged.scopes.includes(one)))
      return say(403, `error="insufficient_scope", scope="${needed.join(' ')}"`)
    say(200)
  }
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void answer(request, response)
  })
  return {
    url,
    served: () => [...served],
    switchTo: (other) => {
      provider = other
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function nonceOf(proof: string | readonly string[] | undefined): unknown {
  const payload = String(proof).split('.')[1] ?? ''
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { nonce?: unknown }).nonce
}

/** What `auth:` of a server means beside its other keys, and which of its own keys belong to which grant. */
import { isScope } from '../auth/scopes.ts'
import type { Grant } from '../auth/words.ts'
import type { ConfigPath, Mistake } from './mistakes.ts'
import { asMapping, asText } from './plain.ts'

/** Every way to come by a token. */
export const GRANTS = [
  'authorization_code',
  'client_credentials',
  'jwt_bearer',
  'enterprise',
] as const satisfies readonly Grant[]

/** Keys that one grant alone reads. */
const OF_GRANT: Readonly<Record<string, Grant>> = {
  redirectPort: 'authorization_code',
  metadataUrl: 'authorization_code',
  assertion: 'jwt_bearer',
  identity: 'enterprise',
}

/** Keys that a grant cannot do without. */
const NEEDED: Readonly<Record<Grant, readonly string[]>> = {
  authorization_code: [],
  client_credentials: ['client'],
  jwt_bearer: ['assertion'],
  enterprise: ['identity'],
}

/** Whether tokens may go to an address: over TLS, or no further than this machine. */
export function keepsTokens(text: string): boolean {
  const url = URL.parse(text)
  if (url === null) return false
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback)
}

/** Whether headers of the configuration are the credentials already. */
export function hasAuthorization(headers: unknown): boolean {
  return Object.keys(asMapping(headers)).some((name) => name.toLowerCase() === 'authorization')
}

/**
 * Mistakes of a server's `auth:`.
 *
 * @param path of the server.
 * @param off it is turned off: its references were not expanded.
 */
export function checkAuth(
  path: ConfigPath,
  server: Readonly<Record<string, unknown>>,
  off: boolean,
): Mistake[] {
  if (server['auth'] === undefined) return []
  const at = [...path, 'auth']
  const auth = asMapping(server['auth'])
  const grant = GRANTS.find((known) => known === (auth['grant'] ?? 'authorization_code'))
  return [
    ...checkBeside(at, server, off),
    ...(grant === undefined ? [] : checkGrant(at, auth, grant)),
    ...checkClient([...at, 'client'], auth, grant),
    ...(off ? [] : [...checkScopes(at, auth), ...checkAddresses(at, auth)]),
  ]
}

function checkBeside(
  path: ConfigPath,
  server: Readonly<Record<string, unknown>>,
  off: boolean,
): Mistake[] {
  const mistakes: Mistake[] = []
  if (hasAuthorization(server['headers'])) {
    const message =
      'expected auth or an Authorization header under headers, got both: only one can be sent; remove the other'
    mistakes.push({ path, message })
  }
  const url = asText(server['url'])
  if (!off && url?.startsWith('http:') === true && !keepsTokens(url)) {
    const message =
      'expected an https:// url beside auth: tokens go over http to this machine (127.0.0.1, localhost, ::1) only'
    mistakes.push({ path, message })
  }
  return mistakes
}

function checkGrant(
  path: ConfigPath,
  auth: Readonly<Record<string, unknown>>,
  grant: Grant,
): Mistake[] {
  const needed = NEEDED[grant]
    .filter((key) => auth[key] === undefined)
    .map((key) => ({ path, message: `expected ${key} beside grant: ${grant}, got none` }))
  const foreign = Object.entries(OF_GRANT)
    .filter(([key, reader]) => reader !== grant && auth[key] !== undefined)
    .map(([key, reader]) => ({
      path: [...path, key],
      message: `has no meaning beside grant: ${grant}; remove it, or set grant: ${reader}`,
    }))
  return [...needed, ...foreign]
}

function checkClient(
  path: ConfigPath,
  auth: Readonly<Record<string, unknown>>,
  grant: Grant | undefined,
): Mistake[] {
  if (auth['client'] === undefined) return []
  const client = asMapping(auth['client'])
  const has = (key: string): boolean => client[key] !== undefined
  const mistakes: Mistake[] = []
  if (auth['issuer'] === undefined) {
    const message =
      'expected issuer beside client: the client is known to one authorization server, and what it proves itself with goes to no other'
    mistakes.push({ path, message })
  }
  if (has('secret') && has('privateKey')) {
    mistakes.push({ path, message: 'expected secret or privateKey, got both; remove one of them' })
  }
  if (grant === 'client_credentials' && !has('secret') && !has('privateKey')) {
    mistakes.push({ path, message: `expected secret or privateKey beside grant: ${grant}` })
  }
  if (has('algorithm') && !has('privateKey')) {
    const message = 'has no meaning without privateKey; remove it'
    mistakes.push({ path: [...path, 'algorithm'], message })
  }
  return mistakes
}

/** What is no scope would be left out without a word. */
function checkScopes(path: ConfigPath, auth: Readonly<Record<string, unknown>>): Mistake[] {
  const scopes: readonly unknown[] = Array.isArray(auth['scopes']) ? auth['scopes'] : []
  return scopes.flatMap((scope, index) =>
    typeof scope !== 'string' || isScope(scope)
      ? []
      : [
          {
            path: [...path, 'scopes', index],
            message:
              'expected one scope each, of letters without spaces, quotes and accents: [files:read, files:write]',
          },
        ],
  )
}

function checkAddresses(path: ConfigPath, auth: Readonly<Record<string, unknown>>): Mistake[] {
  const identity = asMapping(auth['identity'])
  const issuers: readonly (readonly [ConfigPath, string | undefined])[] = [
    [[...path, 'issuer'], asText(auth['issuer'])],
    [[...path, 'identity', 'issuer'], asText(identity['issuer'])],
  ]
  const mistakes: Mistake[] = issuers.flatMap(([at, text]) =>
    text === undefined || text === '' || isIssuer(text)
      ? []
      : [
          {
            path: at,
            message:
              "expected an https:// URL without query and fragment, exactly as the authorization server's metadata has it under issuer",
          },
        ],
  )
  const document = asText(auth['metadataUrl'])
  const url = document === undefined || document === '' ? undefined : URL.parse(document)
  if (url === null || (url !== undefined && (url.protocol !== 'https:' || url.pathname === '/'))) {
    const message =
      'expected an https:// URL with a path, under which our client ID metadata document lies'
    mistakes.push({ path: [...path, 'metadataUrl'], message })
  }
  return mistakes
}

/** @source RFC 8414, section 2 */
function isIssuer(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && keepsTokens(text) && !/[?#]/.test(text) && url.username === ''
}

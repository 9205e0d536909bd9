/**
 * How one logs in to a server, learned as a stranger does: its challenge, its metadata, its authorization servers'. Every address is
 * gone to through the guard; nothing is registered, asked for or granted.
 *
 * @source MCP 2026-07-28, authorization; RFC 9728; RFC 8414.
 */
import type { AuthFacts, AuthServerFacts } from '../../mcp/probe/report.ts'
import { parseChallenges, pickChallenge } from '../auth/challenge.ts'
import {
  createGuardedFetch,
  refuseAddress,
  showAddress,
  type GuardedFetch,
} from '../auth/guarded-fetch.ts'
import { OAuthFailure } from '../auth/oauth-failure.ts'
import {
  findServer,
  listAt,
  textAt,
  type ServerMetadata,
  type TriedPlace,
} from '../auth/server-metadata.ts'
import { coversPeer, resourcePlaces } from '../auth/well-known.ts'

type Fault = AuthFacts['faults'][number]

/** Servers that one resource may name and that are looked at. */
const MOST_SERVERS = 5
const TIMEOUT_MS = 5_000

/** @param challenges of a 401; undefined where there was none. Never rejects but by its signal. */
export async function learnAuth(
  url: string,
  challenges: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<AuthFacts> {
  const fetchGuarded = createGuardedFetch([url], { timeoutMs: TIMEOUT_MS, maxBytes: 256 * 1024 })
  const wanted = challenges !== undefined
  const parsed = parseChallenges(challenges ?? [])
  const faults: Fault[] = []
  const tried: TriedPlace[] = []
  if (wanted && parsed.length === 0) {
    faults.push({
      rule: 'auth.challenge',
      saw: (challenges ?? []).join(', ') || 'no WWW-Authenticate',
    })
  }
  const named = pickChallenge(parsed)?.resourceMetadata
  const places = [...new Set([...(named === undefined ? [] : [named]), ...resourcePlaces(url)])]
  const metadata = await findMetadata(fetchGuarded, url, places, tried, faults, signal)
  if (
    metadata === undefined &&
    wanted &&
    faults.every(({ rule }) => rule !== 'auth.resource-metadata')
  ) {
    const saw = tried.map((one) => `${showAddress(one.url)} (${one.what})`).join(', ')
    faults.push({ rule: 'auth.resource-metadata', saw })
  }
  const issuers = metadata?.servers.slice(0, MOST_SERVERS) ?? []
  const servers: AuthServerFacts[] = []
  for (const issuer of issuers)
    servers.push(await lookAtServer(fetchGuarded, issuer, faults, signal))
  return {
    wanted,
    challenges: parsed.map(({ scheme, scope, resourceMetadata }) => ({
      scheme,
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
    })),
    ...(metadata === undefined ? {} : { metadata }),
    servers,
    tried: tried.map((one) => ({ url: showAddress(one.url), what: one.what })),
    faults,
  }
}

async function findMetadata(
  fetchGuarded: GuardedFetch,
  peer: string,
  places: readonly string[],
  tried: TriedPlace[],
  faults: Fault[],
  signal: AbortSignal,
): Promise<AuthFacts['metadata']> {
  for (const url of places) {
    const refused = refuseAddress(url, [peer])
    const answer = refused ?? (await fetchOrWhy(fetchGuarded, url, signal))
    if (typeof answer === 'string') {
      tried.push({ url, what: answer })
      continue
    }
    const resource = textAt(answer, 'resource')
    const servers = listAt(answer, 'authorization_servers') ?? []
    if (resource === undefined || servers.length === 0) {
      const lacks = resource === undefined ? 'resource' : 'authorization_servers'
      tried.push({ url, what: `JSON without ${lacks}` })
      continue
    }
    if (!coversPeer(resource, peer)) {
      const saw = `${showAddress(url)} is of the resource ${resource.slice(0, 200)}, not of this server`
      faults.push({ rule: 'auth.resource-metadata', saw })
    }
    const scopes = listAt(answer, 'scopes_supported') ?? []
    return { url: showAddress(url), resource: resource.slice(0, 300), servers, scopes }
  }
  return undefined
}

async function fetchOrWhy(
  fetchGuarded: GuardedFetch,
  url: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | string> {
  try {
    const { status, json, instead } = await fetchGuarded({ url, what: 'the metadata', signal })
    return status === 200 && json !== undefined ? json : instead
  } catch (error) {
    return whyNot(error, signal)
  }
}

async function lookAtServer(
  fetchGuarded: GuardedFetch,
  issuer: string,
  faults: Fault[],
  signal: AbortSignal,
): Promise<AuthServerFacts> {
  const shown = showAddress(issuer)
  const tried: TriedPlace[] = []
  let why = 'nothing at its well-known places'
  let server: ServerMetadata | undefined
  try {
    server = await findServer(fetchGuarded, issuer, tried, signal)
  } catch (error) {
    why = whyNot(error, signal)
  }
  if (server === undefined) {
    faults.push({ rule: 'auth.server-metadata', saw: `${shown}: ${why}` })
    const nothing = { registration: [], grants: [], pkce: [], sendsIssuer: false }
    return { issuer: shown, found: false, ...nothing }
  }
  const pkce = server.codeChallengeMethods ?? []
  if (!pkce.includes('S256')) {
    faults.push({
      rule: 'auth.pkce',
      saw: `${shown}: ${pkce.join(', ') || 'no code_challenge_methods_supported'}`,
    })
  }
  const isDynamic = server.registrationEndpoint !== undefined
  if (!server.takesMetadataDocuments) {
    faults.push({ rule: isDynamic ? 'deprecated.registration' : 'auth.registration', saw: shown })
  }
  return {
    issuer: shown,
    found: true,
    registration: [
      ...(server.takesMetadataDocuments ? (['client ID metadata document'] as const) : []),
      ...(isDynamic ? (['dynamic'] as const) : []),
      'by hand',
    ],
    grants: server.grantTypesSupported ?? [],
    pkce,
    sendsIssuer: server.sendsIssuer,
  }
}

function whyNot(error: unknown, signal: AbortSignal): string {
  if (error instanceof OAuthFailure) return error.message
  if (signal.aborted) return 'no time was left'
  throw error
}

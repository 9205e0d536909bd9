/**
 * Who gives tokens for a peer: its own metadata where the reference says, then its authorization server's.
 *
 * A document of another resource or another issuer ends it at once, before anything is asked for. A peer that says nothing
 * at all is taken for one of revision 2025-03-26.
 *
 * @source RFC 9728; MCP 2026-07-28, authorization, authorization server discovery; MCP 2025-03-26, authorization 2.3.
 */
import { parseChallenges, pickChallenge } from './challenge.ts'
import { refuseAddress, showAddress, type GuardedFetch } from './guarded-fetch.ts'
import { OAuthFailure, quote } from './oauth-failure.ts'
import {
  assumeServer,
  findServer,
  isIdentifier,
  listAt,
  tellPlaces,
  textAt,
  type ServerMetadata,
  type TriedPlace,
} from './server-metadata.ts'
import { canonicalResource, coversPeer, resourcePlaces } from './well-known.ts'
import type { AuthConfig } from './words.ts'

/** A peer and how the operator wants it logged in to. */
export interface AuthPeer {
  readonly name: string
  /** Where it is spoken to. */
  readonly url: string
  readonly auth: AuthConfig
}

/** Who gives tokens for a peer. Plain data. */
export interface Discovered {
  /** The canonical URI of the peer, or what its metadata says in its place. @source RFC 8707; RFC 9728, section 3.3 */
  readonly resource: string
  /** Of the peer's own metadata. */
  readonly resourceScopes?: readonly string[]
  readonly wantsDpop: boolean
  readonly server: ServerMetadata
  /** Where nothing was found, when the endpoints are assumed: for messages. */
  readonly tried: readonly TriedPlace[]
}

/** What a peer refused with. */
export interface RefusalWords {
  /** Each `WWW-Authenticate` field as it came. */
  readonly challenges: readonly string[]
}

/** Finds an authorization server by its issuer; may answer from memory. */
export type ServerFinder = (
  issuer: string,
  tried: TriedPlace[],
  spellings?: readonly string[],
) => Promise<ServerMetadata | undefined>

interface Resource {
  readonly resource: string
  readonly servers: readonly string[]
  readonly scopes: readonly string[] | undefined
  readonly wantsDpop: boolean
}

/** Addresses that the operator configured for a peer. */
export function operatorsAddresses({ url, auth }: AuthPeer): readonly string[] {
  return [url, auth.issuer, auth.identity?.issuer].filter((one) => one !== undefined)
}

/** @throws OAuthFailure */
export async function discoverPeer(
  fetchGuarded: GuardedFetch,
  peer: AuthPeer,
  refusal: RefusalWords | undefined,
  signal: AbortSignal,
  find: ServerFinder = (issuer, tried, spellings) =>
    findServer(fetchGuarded, issuer, tried, signal, spellings),
): Promise<Discovered> {
  const challenges = parseChallenges(refusal?.challenges ?? [])
  const wantsDpop = challenges.some(({ scheme }) => scheme === 'dpop')
  const tried: TriedPlace[] = []
  const places = new Set(resourcePlaces(peer.url))
  const named = pickChallenge(challenges)?.resourceMetadata
  const resource = await findResource(
    fetchGuarded,
    peer,
    named === undefined ? [...places] : [...new Set([named, ...places])],
    tried,
    signal,
  )
  if (resource === undefined) return { ...(await discoverLegacy(peer, tried, find)), wantsDpop }
  const { scopes } = resource
  return {
    resource: resource.resource,
    ...(scopes !== undefined && { resourceScopes: scopes }),
    wantsDpop: wantsDpop || resource.wantsDpop,
    server: await serverOf(peer, resource, find),
    tried: [],
  }
}

async function findResource(
  fetchGuarded: GuardedFetch,
  peer: AuthPeer,
  places: readonly string[],
  tried: TriedPlace[],
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const what = `the metadata of ${peer.name}`
  let silence: OAuthFailure | undefined
  for (const url of places) {
    // What is misspelled, or lacks the s of https as behind many proxies, is not gone to: the next place may be right.
    const refused = refuseAddress(url, operatorsAddresses(peer))
    if (refused !== undefined) {
      tried.push({ url, what: refused })
      continue
    }
    try {
      const { status, json, instead } = await fetchGuarded({ url, what, signal })
      const found = status === 200 && json !== undefined ? readResource(json) : instead
      if (typeof found === 'string') tried.push({ url, what: found })
      else if (isIdentifier(found.resource) && coversPeer(found.resource, peer.url)) return found
      else throw otherResource(url, peer, found.resource)
    } catch (error) {
      if (!(error instanceof OAuthFailure) || error.reason !== 'unreachable') throw error
      silence ??= error
      tried.push({ url, what: 'no answer' })
    }
  }
  // Who does not answer has not said that there is nothing.
  if (silence === undefined) return undefined
  const message = `${silence.message}. Looked at: ${tellPlaces(tried)}`
  throw new OAuthFailure('unreachable', message, { cause: silence })
}

/** @returns what is wrong with it, in words. */
function readResource(json: Readonly<Record<string, unknown>>): Resource | string {
  const resource = textAt(json, 'resource')
  const servers = listAt(json, 'authorization_servers')
  if (resource === undefined) return 'JSON without a resource'
  if (servers === undefined || servers.length === 0) return 'JSON without authorization_servers'
  const scopes = listAt(json, 'scopes_supported')
  const wantsDpop = json['dpop_bound_access_tokens_required'] === true
  return { resource, servers, scopes, wantsDpop }
}

async function serverOf(
  peer: AuthPeer,
  { servers }: Resource,
  find: ServerFinder,
): Promise<ServerMetadata> {
  const { issuer = servers[0] ?? '' } = peer.auth
  if (!servers.includes(issuer)) {
    const named = servers.slice(0, 5).map(quote)
    throw new OAuthFailure(
      'untrustworthy',
      `auth.issuer of ${peer.name} is ${quote(issuer)}, and ${peer.name} takes tokens of ${named.join(', ')}: ` +
        'what was registered at one is not shown to another. If it moved, register there and change auth',
    )
  }
  const tried: TriedPlace[] = []
  const server = await find(issuer, tried)
  if (server !== undefined) return server
  throw new OAuthFailure(
    'no_metadata',
    `the authorization server ${showAddress(issuer)} of ${peer.name} says nothing of itself. Looked at: ${tellPlaces(tried)}`,
  )
}

/** Of a peer without metadata: what the operator names, or the peer's own origin. */
async function discoverLegacy(peer: AuthPeer, tried: TriedPlace[], find: ServerFinder) {
  const resource = canonicalResource(peer.url)
  const { issuer } = peer.auth
  const { origin } = new URL(peer.url)
  const server =
    issuer === undefined
      ? // Nobody spelled it: with or without the slash it is the same origin.
        ((await find(origin, tried, [origin, `${origin}/`])) ?? assumeServer(origin))
      : await find(issuer, tried)
  if (server !== undefined) return { resource, server, tried: server.assumed ? tried : [] }
  throw new OAuthFailure(
    'no_metadata',
    `nothing says how to log in to ${peer.name}. Looked at: ${tellPlaces(tried)}`,
  )
}

function otherResource(url: string, peer: AuthPeer, said: string): OAuthFailure {
  return new OAuthFailure(
    'untrustworthy',
    `${showAddress(url)} is the metadata of ${quote(said)} and not of ` +
      `${canonicalResource(peer.url)}: no token was asked for`,
  )
}

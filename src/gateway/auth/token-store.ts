/** The tokens and clients of a store as words: what the token file seals is their JSON. */
import { statSync } from 'node:fs'
import { ComityError } from '../../core/words/errors.ts'
import { isObject } from '../../core/words/is-object.ts'
import {
  openTokenFile,
  tokenFileOf,
  type SealedPlace,
  type TokenFile,
  type TokenFileOptions,
} from '../../store/tokens.ts'
import type { RegisteredClient, TokenPlace, TokenSet, TokenStore } from './words.ts'

/** The tokens of a store, opened when they are first needed: most gateways never log in anywhere. */
export interface TokenDoor {
  /** @throws ComityError as `openTokenFile`. */
  open(): TokenStore
  /** As `open`, where there is anything to open. */
  openIfThere(): TokenStore | undefined
  close(): void
}

export function createTokenDoor(options: TokenFileOptions): TokenDoor {
  const path = tokenFileOf(options.store)
  let store: TokenStore | undefined
  let opened: string | undefined
  let openings = 0
  let closed = false
  const close = (): void => {
    store?.close()
    store = undefined
  }
  /** Whoever removed the file by hand, as damage or a lost key may ask for, has another one since. */
  const isThere = (): boolean => {
    const now = fileAt(path)
    if (store !== undefined && now !== opened) close()
    return now !== undefined
  }
  const open = (): TokenStore => {
    // A renewal that is still under way opens nothing that nobody would close.
    if (closed) throw new ComityError('conflict', 'comity ends: its tokens are closed')
    isThere()
    if (store !== undefined) return store
    const file = openTokenStore(options)
    opened = fileAt(path)
    openings += 1
    const first = openings * FILES_APART
    return (store = { ...file, revision: () => first + file.revision() })
  }
  return {
    open,
    openIfThere: () => (isThere() ? open() : undefined),
    close() {
      closed = true
      close()
    },
  }
}

/** So far are the revisions of one file from those of the next one. */
const FILES_APART = 2 ** 32

/** Which file lies there; none where it cannot be told. */
function fileAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path)
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}

/**
 * Opens the tokens beside a store.
 *
 * @throws ComityError as `openTokenFile`.
 */
export function openTokenStore(options: TokenFileOptions): TokenStore {
  const file = openTokenFile(options)
  return {
    load(place) {
      const kept = file.load(placeOf(place))
      const tokens = kept === undefined ? undefined : parseTokens(kept.text)
      return kept === undefined || tokens === undefined
        ? undefined
        : { version: kept.version, tokens }
    },
    versionOf: (place) => file.versionOf(placeOf(place)),
    revision: () => file.revision(),
    placesOf: (principal, peer) =>
      file
        .places(['tokens', principal, peer])
        .flatMap(([, , , issuer, resource]) =>
          issuer === undefined || resource === undefined
            ? []
            : [{ principal, peer, issuer, resource }],
        ),
    save: (place, tokens, version) => file.save(placeOf(place), JSON.stringify(tokens), version),
    remove: (place, version) => file.remove(placeOf(place), version),
    loadClient: (issuer, peer, id) => loadClient(file, clientAt(issuer, peer, id)),
    saveClient(peer, client) {
      const { issuer, id } = client
      for (const place of [clientAt(issuer, peer, id), clientAt(issuer, peer)])
        // The newest wins: an earlier one of the same place is one that nobody needs any more.
        while (!file.save(place, JSON.stringify(client), file.versionOf(place)));
    },
    removeClient(issuer, peer) {
      const last = clientAt(issuer, peer)
      const id = loadClient(file, last)?.id
      for (const place of id === undefined ? [last] : [last, clientAt(issuer, peer, id)])
        file.remove(place, file.versionOf(place))
    },
    exclusively: (place, work) => file.exclusively(placeOf(place), work),
    close: () => file.close(),
  }
}

function placeOf({ principal, peer, issuer, resource }: TokenPlace): SealedPlace {
  return ['tokens', principal, peer, issuer, resource]
}

function clientAt(issuer: string, peer: string, id?: string): SealedPlace {
  return ['client', issuer, peer, ...(id === undefined ? [] : [id])]
}

/** @returns undefined for what another version of comity may have meant by it. */
function parseTokens(text: string): TokenSet | undefined {
  const said: unknown = JSON.parse(text)
  if (!isObject(said)) return undefined
  const { accessToken, tokenType, refreshToken, expiresAt, scopes, clientId, dpopKey } = said
  if (typeof accessToken !== 'string' || typeof clientId !== 'string') return undefined
  if (tokenType !== 'bearer' && tokenType !== 'dpop') return undefined
  return {
    accessToken,
    tokenType,
    clientId,
    scopes: textsOf(scopes),
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
    ...(typeof expiresAt === 'number' ? { expiresAt } : {}),
    ...(isObject(dpopKey) ? { dpopKey } : {}),
  }
}

/** A damaged one is none: another is registered in its place, and nobody has to do anything for it. */
function loadClient(file: TokenFile, place: SealedPlace): RegisteredClient | undefined {
  try {
    const kept = file.load(place)
    return kept === undefined ? undefined : parseClient(kept.text)
  } catch (error) {
    if (error instanceof ComityError && error.code === 'store_corrupt') return undefined
    throw error
  }
}

function parseClient(text: string): RegisteredClient | undefined {
  const said: unknown = JSON.parse(text)
  if (!isObject(said)) return undefined
  const { issuer, id, secret, redirectUris, expiresAt } = said
  const method = METHODS.find((known) => known === said['method'])
  if (typeof issuer !== 'string' || typeof id !== 'string' || method === undefined) return undefined
  return {
    issuer,
    id,
    method,
    redirectUris: textsOf(redirectUris),
    ...(typeof secret === 'string' ? { secret } : {}),
    ...(typeof expiresAt === 'number' ? { expiresAt } : {}),
  }
}

const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

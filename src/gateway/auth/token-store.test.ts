import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { openTokenFile, tokenFileOf } from '../../store/tokens.ts'
import { createTokenDoor, openTokenStore } from './token-store.ts'
import type { RegisteredClient, TokenPlace, TokenSet, TokenStore } from './words.ts'

const PLACE: TokenPlace = {
  principal: 'alice',
  peer: 'docs',
  issuer: 'https://as.example/',
  resource: 'https://docs.example/mcp',
}
const TOKENS: TokenSet = {
  accessToken: 'access',
  tokenType: 'dpop',
  refreshToken: 'refresh',
  expiresAt: 1_800_000_000_000,
  scopes: ['read'],
  clientId: 'client',
  dpopKey: { kty: 'EC', d: 'secret' },
}

let folder: string
let store: TokenStore
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'comity-tokens-'))
  store = openTokenStore({ store: join(folder, 'comity.db') })
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

function client(id: string): RegisteredClient {
  return {
    issuer: PLACE.issuer,
    id,
    secret: `secret of ${id}`,
    method: 'client_secret_basic',
    redirectUris: ['http://127.0.0.1:8765/comity/logged-in'],
  }
}

describe('tokens', () => {
  test('come back as they were saved, whole or with what there was', () => {
    expect(store.save(PLACE, TOKENS, 0)).toBe(true)
    expect(store.load(PLACE)).toEqual({ version: 1, tokens: TOKENS })
    const few: TokenSet = { accessToken: 'a', tokenType: 'bearer', scopes: [], clientId: 'c' }
    expect(store.save(PLACE, few, 1)).toBe(true)
    expect(store.load(PLACE)).toEqual({ version: 2, tokens: few })
  })

  test.each(['principal', 'peer', 'issuer', 'resource'] as const)(
    'of another %s are others',
    (part) => {
      store.save(PLACE, TOKENS, 0)
      const other = { ...PLACE, [part]: `${PLACE[part]}x` }
      expect([store.load(other), store.versionOf(other)]).toEqual([undefined, 0])
    },
  )

  test('places are those of one principal at one peer', () => {
    store.save(PLACE, TOKENS, 0)
    store.save({ ...PLACE, issuer: 'https://other.example' }, TOKENS, 0)
    store.save({ ...PLACE, principal: 'bob' }, TOKENS, 0)
    store.saveClient('docs', client('one'))
    expect(store.placesOf('alice', 'docs')).toEqual([
      PLACE,
      { ...PLACE, issuer: 'https://other.example' },
    ])
  })

  test('what another version may have meant by it counts as none, and can be replaced', () => {
    const file = openTokenFile({ store: join(folder, 'comity.db') })
    const { principal, peer, issuer, resource } = PLACE
    file.save(['tokens', principal, peer, issuer, resource], '{"accessToken":1}', 0)
    file.close()
    expect(store.load(PLACE)).toBeUndefined()
    expect(store.save(PLACE, TOKENS, store.versionOf(PLACE))).toBe(true)
  })
})

describe('clients', () => {
  test('the one that was registered last is the client, an earlier one is still found by its id', () => {
    store.saveClient('docs', client('one'))
    store.saveClient('docs', client('two'))
    expect(store.loadClient(PLACE.issuer, 'docs')).toEqual(client('two'))
    expect(store.loadClient(PLACE.issuer, 'docs', 'one')).toEqual(client('one'))
    expect(store.loadClient(PLACE.issuer, 'other')).toBeUndefined()
    expect(store.loadClient('https://other.example', 'docs')).toBeUndefined()
  })

  test('one that is removed is gone under both', () => {
    store.saveClient('docs', client('one'))
    store.removeClient(PLACE.issuer, 'docs')
    store.removeClient(PLACE.issuer, 'docs')
    expect(store.loadClient(PLACE.issuer, 'docs')).toBeUndefined()
    expect(store.loadClient(PLACE.issuer, 'docs', 'one')).toBeUndefined()
  })
})

test('a client that does not open any more is none: another is registered in its place', () => {
  store.saveClient('docs', client('one'))
  const db = new DatabaseSync(tokenFileOf(join(folder, 'comity.db')))
  db.exec("UPDATE sealed SET value = zeroblob(60) WHERE place LIKE '%client%'")
  db.close()
  expect(store.loadClient(PLACE.issuer, 'docs')).toBeUndefined()
  expect(store.loadClient(PLACE.issuer, 'docs', 'one')).toBeUndefined()
  store.saveClient('docs', client('two'))
  expect(store.loadClient(PLACE.issuer, 'docs')).toEqual(client('two'))
  store.removeClient(PLACE.issuer, 'docs')
  expect(store.loadClient(PLACE.issuer, 'docs')).toBeUndefined()
})

test('where nobody ever logged in, looking makes no file', () => {
  const file = join(folder, 'fresh.db')
  const door = createTokenDoor({ store: file })
  expect(door.openIfThere()).toBeUndefined()
  expect(existsSync(tokenFileOf(file))).toBe(false)
  door.open().save(PLACE, TOKENS, 0)
  expect(door.openIfThere()?.load(PLACE)?.tokens).toEqual(TOKENS)
  door.close()
  expect(() => door.open()).toThrow('comity ends')
})

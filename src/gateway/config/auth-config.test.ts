import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { checkConfig } from './load-config.ts'
import type { HttpServerConfig } from './config.ts'
import { sayMistakes } from './mistakes.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-auth-config-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function check(server: string, env: Record<string, string> = {}) {
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, `mcpServers:\n  docs: ${server}\n`)
  return checkConfig(file, { HOME: folder, ...env })
}

function load(server: string, env: Record<string, string> = {}): HttpServerConfig {
  const checked = check(server, env)
  if ('mistakes' in checked) throw new Error(sayMistakes('comity.yaml', checked.mistakes))
  const [config] = checked.config.mcpServers
  if (config?.transport !== 'http') throw new Error('expected a server over HTTP')
  return config
}

function mistakeOf(server: string): string {
  const checked = check(server)
  if ('config' in checked) throw new Error('expected a mistake')
  return sayMistakes('comity.yaml', checked.mistakes)
}

describe('auth of a server', () => {
  test('nothing need be said', () => {
    expect(load('{ url: "https://docs.example/mcp" }').auth).toEqual({
      grant: 'authorization_code',
      scopes: [],
    })
  })

  test.each([
    [
      'its own header says who we are',
      '{ url: "https://docs.example/mcp", headers: { authorization: "Basic eA==" } }',
    ],
    ['it is reached over open http', '{ url: "http://docs.example/mcp" }'],
  ])('no login is offered where %s', (_why, server) => {
    expect(load(server).auth).toBeUndefined()
  })

  test('everything arrives, references expanded, and what is secret is known as such', () => {
    writeFileSync(join(folder, 'key.pem'), 'PEM\n')
    const { auth, brought } = load(
      `{ url: "https://docs.example/mcp", auth: { grant: client_credentials, issuer: "https://as.example/x", scopes: [read, write],
         client: { id: "\${env:ID}", privateKey: "\${file:key.pem}", algorithm: ES256 }, dpop: true } }`,
      { ID: 'gateway' },
    )
    expect(auth).toEqual({
      grant: 'client_credentials',
      issuer: 'https://as.example/x',
      scopes: ['read', 'write'],
      client: { id: 'gateway', privateKey: 'PEM', algorithm: 'ES256' },
      dpop: true,
    })
    expect(brought).toContain('PEM')
    const literal = load(
      '{ url: "https://docs.example/mcp", auth: { grant: enterprise, identity: { issuer: "https://idp.example", idToken: ey.ey.x, client: { id: c, secret: hunter2 } } } }',
    )
    expect(literal.auth?.identity).toEqual({
      issuer: 'https://idp.example',
      idToken: 'ey.ey.x',
      client: { id: 'c', secret: 'hunter2' },
    })
    expect(literal.brought).toEqual(['ey.ey.x', 'hunter2'])
  })

  test('the key of the tokens comes from the environment', () => {
    const checked = check('{ url: "https://docs.example/mcp" }', { COMITY_TOKEN_KEY: 'k' })
    expect('config' in checked ? checked.config.tokenKey : undefined).toBe('k')
    const without = check('{ url: "https://docs.example/mcp" }', { COMITY_TOKEN_KEY: '' })
    expect('config' in without ? without.config.tokenKey : 'x').toBeUndefined()
  })

  const at = 'url: "https://docs.example/mcp"'
  test.each([
    ['{ command: npx, auth: {} }', 'auth has no meaning beside command'],
    [
      `{ ${at}, headers: { authorization: "Bearer hunter2" }, auth: {} }`,
      'expected auth or an Authorization header',
    ],
    ['{ url: "http://docs.example/mcp", auth: {} }', 'expected an https:// url beside auth'],
    [`{ ${at}, auth: hunter2 }`, 'expected a mapping with grant, client'],
    [`{ ${at}, auth: { grant: hunter2 } }`, 'expected one of: authorization_code'],
    [`{ ${at}, auth: { grnt: enterprise } }`, 'did you mean grant?'],
    [`{ ${at}, auth: { grant: client_credentials } }`, 'expected client beside grant'],
    [
      `{ ${at}, auth: { grant: client_credentials, issuer: "https://a", client: { id: x } } }`,
      'expected secret or privateKey beside',
    ],
    [`{ ${at}, auth: { client: { id: x, secret: hunter2 } } }`, 'expected issuer beside client'],
    [
      `{ ${at}, auth: { issuer: "https://a", client: { id: x, secret: hunter2, privateKey: k } } }`,
      'got both',
    ],
    [
      `{ ${at}, auth: { issuer: "https://a", client: { id: x, algorithm: ES256 } } }`,
      'without privateKey',
    ],
    [`{ ${at}, auth: { grant: jwt_bearer } }`, 'expected assertion beside grant'],
    [`{ ${at}, auth: { grant: enterprise } }`, 'expected identity beside grant'],
    [`{ ${at}, auth: { assertion: hunter2 } }`, 'set grant: jwt_bearer'],
    [
      `{ ${at}, auth: { grant: jwt_bearer, assertion: x, redirectPort: 80 } }`,
      'set grant: authorization_code',
    ],
    [`{ ${at}, auth: { redirectPort: 0 } }`, 'expected a port from 1 to 65535'],
    [`{ ${at}, auth: { issuer: "http://as.example" } }`, 'expected an https:// URL without query'],
    [
      `{ ${at}, auth: { issuer: "https://as.example/?a=hunter2" } }`,
      'expected an https:// URL without query',
    ],
    [
      `{ ${at}, auth: { metadataUrl: "https://as.example/" } }`,
      'expected an https:// URL with a path',
    ],
    [`{ ${at}, auth: { client: { id: x, secret: 12345 }, issuer: "https://a" } }`, 'put numbers'],
    [`{ ${at}, auth: { grant: jwt_bearer, assertion: "\${env:MISSING}" } }`, 'MISSING is not set'],
  ])('%s is a mistake, told without a value', (server, said) => {
    const message = mistakeOf(server)
    expect(message).toContain('has one mistake')
    expect(message).toContain(said)
    expect(message).not.toMatch(/hunter2|12345/)
  })

  test('a server that is turned off may lack what it needs', () => {
    expect(
      load(`{ ${at}, disabled: true, auth: { grant: jwt_bearer, assertion: "\${env:MISSING}" } }`)
        .disabled,
    ).toBe(true)
  })
})

test('a scope that could not be sent is a mistake, and is not left out without a word', () => {
  const said = mistakeOf(
    '{ url: "https://docs.example/mcp", auth: { scopes: ["files:read files:write", "schön", ok] } }',
  )
  expect(said).toContain('auth.scopes[0]')
  expect(said).toContain('auth.scopes[1]')
  expect(said).not.toContain('auth.scopes[2]')
})

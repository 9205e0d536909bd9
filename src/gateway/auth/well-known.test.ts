import { expect, test } from 'vitest'
import { canonicalResource, coversPeer, resourcePlaces, serverPlaces } from './well-known.ts'

test.each([
  ['https://R.Example/team/mcp', 'https://r.example/team/mcp'],
  ['https://r.example:443/', 'https://r.example'],
  ['https://r.example', 'https://r.example'],
  ['https://r.example/mcp#part', 'https://r.example/mcp'],
  ['http://localhost:8080/mcp?x=1', 'http://localhost:8080/mcp?x=1'],
])('the canonical URI of %s', (url, expected) => {
  expect(canonicalResource(url)).toBe(expected)
})

test.each([
  ['https://r.example/team/mcp', true],
  ['https://r.example/team/mcp/', true],
  ['https://r.example/team', true],
  ['https://r.example/', true],
  ['https://r.example', true],
  ['https://r.example/tea', false],
  ['https://r.example/team/mcp/deeper', false],
  ['https://r.example/other', false],
  ['https://other.example/team/mcp', false],
  ['http://r.example/team/mcp', false],
  ['https://r.example:8443/team/mcp', false],
  ['https://r.example/team/mcp?a=1', false],
  ['https://r.example/team/mcp#x', false],
  ['https://user@r.example/team/mcp', false],
  ['no url', false],
])('a document of %s is of the peer: %s', (resource, expected) => {
  expect(coversPeer(resource, 'https://r.example/team/mcp')).toBe(expected)
})

test('a resource lies at its path and at the root', () => {
  expect(resourcePlaces('https://r.example/team/mcp')).toEqual([
    'https://r.example/.well-known/oauth-protected-resource/team/mcp',
    'https://r.example/.well-known/oauth-protected-resource',
  ])
  expect(resourcePlaces('https://r.example/')).toEqual([
    'https://r.example/.well-known/oauth-protected-resource',
  ])
})

test('an authorization server with a path has three places, without two', () => {
  expect(serverPlaces('https://a.example/tenant1')).toEqual([
    'https://a.example/.well-known/oauth-authorization-server/tenant1',
    'https://a.example/.well-known/openid-configuration/tenant1',
    'https://a.example/tenant1/.well-known/openid-configuration',
  ])
  expect(serverPlaces('https://a.example/')).toEqual([
    'https://a.example/.well-known/oauth-authorization-server',
    'https://a.example/.well-known/openid-configuration',
  ])
})

/** Completion through the door, for both eras. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { Catalogue } from '../../core/ports/catalogue.ts'
import type { PeerQuery, QueryAnswer } from '../../core/ports/peer.ts'
import { ComityError } from '../../core/words/errors.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { dig, openTestDoor, postModern } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const CAPABILITIES: readonly Scripted[] = [
  { kind: 'prompt', exposed: 'desk_greet' },
  { kind: 'template', exposed: 'note://{id}' },
  { kind: 'prompt', exposed: 'hers', only: 'eve' },
]

function answered(result: unknown, kind: QueryAnswer['kind'] = 'result'): QueryAnswer {
  return { kind, native: mcpNative(encodeJson(result), '2025-11-25') }
}

const VALUES = answered({ completion: { values: ['de', 'en'], total: 2 }, extra: 1 })

async function open(
  answer: () => Promise<QueryAnswer> = () => Promise.resolve(VALUES),
  completions = true,
) {
  const asked: { route: string; query: PeerQuery }[] = []
  const over: Partial<Catalogue> = {
    features: () =>
      Promise.resolve({ completions, subscribe: false, logging: false, extensions: {} }),
    resolve: async (kind, exposed, principal) => {
      const found = await house.catalogue.resolve(kind, exposed, principal)
      return found === undefined ? undefined : { ...found, capability: `own ${exposed}` }
    },
    query: (route, query) => {
      asked.push({ route: route.exposed, query })
      return answer()
    },
  }
  const house = createScriptedHouse(CAPABILITIES)
  const server = await openTestDoor({ ...house, catalogue: { ...house.catalogue, ...over } })
  closers.push(server.close)
  return { asked, ...server }
}

const ASK = {
  ref: { type: 'ref/prompt', name: 'desk_greet', title: 'kept' },
  argument: { name: 'language', value: 'd' },
  context: { arguments: { tone: 'warm' } },
}

test('the peer is asked by its own name, with everything else as it came', async () => {
  const { url, asked } = await open()
  const { body } = await postModern(url, 'completion/complete', ASK)
  expect(dig(body, 'result')).toMatchObject({
    resultType: 'complete',
    completion: { values: ['de', 'en'], total: 2 },
    extra: 1,
  })
  expect(dig(body, 'result')).not.toHaveProperty('ttlMs')
  expect(asked.map(({ query }) => [query.method, query.params.value()])).toEqual([
    ['completion/complete', { ...ASK, ref: { ...ASK.ref, name: 'own desk_greet' } }],
  ])
})

test('the official client completes a template’s argument', async () => {
  const { url, asked } = await open()
  const client = new Client(
    { name: 'v2', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  closers.push(() => client.close())
  const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: 'note://{id}' },
    argument: { name: 'id', value: '1' },
  })
  expect(completion.values).toEqual(['de', 'en'])
  expect(asked[0]?.query.params.value()).toMatchObject({ ref: { uri: 'own note://{id}' } })
})

test('more than a hundred values are cut to a hundred, and said to be more', async () => {
  const values = Array.from({ length: 150 }, (_, index) => `v${index}`)
  const { url } = await open(() =>
    Promise.resolve(answered({ completion: { total: 150, values } })),
  )
  const { body } = await postModern(url, 'completion/complete', ASK)
  expect(dig(body, 'result', 'completion')).toEqual({
    total: 150,
    values: values.slice(0, 100),
    hasMore: true,
  })
})

test.each([[{}], [{ completion: 1 }], [{ completion: { values: 'x' } }]])(
  'an answer without values, %j, is one with none',
  async (result) => {
    const { url } = await open(() => Promise.resolve(answered(result)))
    const { body } = await postModern(url, 'completion/complete', ASK)
    expect(dig(body, 'result', 'completion')).toEqual({ values: [] })
  },
)

test('a peer that completes nothing gives no values, and why', async () => {
  const { url } = await open(() =>
    Promise.reject(new ComityError('not_allowed', 'desk cannot be asked completion/complete')),
  )
  const { body } = await postModern(url, 'completion/complete', ASK)
  expect(dig(body, 'result')).toMatchObject({
    completion: { values: [] },
    _meta: {
      'comity/missing': [{ peer: 'desk', reason: 'desk cannot be asked completion/complete' }],
    },
  })
})

test('a peer’s own error is the answer', async () => {
  const error = { code: -32602, message: 'no such argument' }
  const { url } = await open(() => Promise.resolve(answered(error, 'error')))
  const { body } = await postModern(url, 'completion/complete', ASK)
  expect(dig(body, 'error')).toEqual(error)
})

test('where no peer completes anything the method is unknown', async () => {
  const { url, asked } = await open(undefined, false)
  const { body, status } = await postModern(url, 'completion/complete', ASK)
  expect([status, dig(body, 'error', 'code')]).toEqual([404, -32601])
  const discovered = await postModern(url, 'server/discover')
  expect(dig(discovered.body, 'result', 'capabilities')).not.toHaveProperty('completions')
  expect(asked).toEqual([])
})

test('it is offered where a peer has it', async () => {
  const { url } = await open()
  const { body } = await postModern(url, 'server/discover')
  expect(dig(body, 'result', 'capabilities', 'completions')).toEqual({})
})

describe('-32602, and no peer is asked', () => {
  test.each<[string, Record<string, unknown>]>([
    ['no ref', { argument: ASK.argument }],
    ['a ref of no known type', { ...ASK, ref: { type: 'ref/tool', name: 'x' } }],
    ['a ref without its name', { ...ASK, ref: { type: 'ref/prompt' } }],
    ['no argument', { ref: ASK.ref }],
    ['an argument without a value', { ...ASK, argument: { name: 'x' } }],
    ['an unknown prompt', { ...ASK, ref: { type: 'ref/prompt', name: 'nowhere' } }],
    ['a hidden prompt', { ...ASK, ref: { type: 'ref/prompt', name: 'hers' } }],
    ['an unknown resource', { ...ASK, ref: { type: 'ref/resource', uri: 'x://{y}' } }],
  ])('%s', async (_name, params) => {
    const { url, asked } = await open()
    const { body } = await postModern(url, 'completion/complete', params)
    expect(dig(body, 'error', 'code')).toBe(-32602)
    expect(asked).toEqual([])
  })
})

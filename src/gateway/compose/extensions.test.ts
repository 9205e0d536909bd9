/** MCP Apps and Skills of several peers, through the catalogue and a real door. */
import { afterEach, expect, test } from 'vitest'
import type { Dispatch } from '../../core/ports/doors.ts'
import type { Peer, PeerListing, PeerQuery, QueryAnswer } from '../../core/ports/peer.ts'
import type { NewCall } from '../../core/words/call.ts'
import { LOCAL, type Principal } from '../../core/words/principal.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { dig, openTestDoor, postModern } from '../../mcp/downstream/testing/test-door.ts'
import type { ScriptedHouse } from '../../mcp/downstream/testing/scripted-house.ts'
import { mcpNative } from '../../mcp/downstream/visit.ts'
import { createCatalogue } from './catalogue.ts'
import { capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'
import { digest } from './world.ts'

const SKILLS = 'io.modelcontextprotocol/skills'
const APPS = 'io.modelcontextprotocol/ui'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** @param hides what the principal `guest` may not see. */
async function open(
  peers: readonly Peer[],
  hides: (peer: string, name: string) => boolean = () => false,
) {
  const catalogue = createCatalogue(
    {
      peers,
      naming: {
        peers: peers.map((peer) => peer.name),
        names: 'prefixed',
        digest: (text) => digest.text(text),
      },
      policy: {
        visible: (principal: Principal, route) =>
          principal.id !== 'guest' || !hides(route.peer, route.capability),
        decide: () => expect.unreachable(),
        decideQuestion: () => expect.unreachable(),
      },
      sight: () => Promise.resolve(),
      pinState: () => 'accepted',
    },
    { patienceMs: 50, firstMs: 2_000 },
  )
  const calls: NewCall[] = []
  const dispatch: Dispatch = (call) => {
    calls.push(call)
    const contents = [{ uri: call.route.capability, text: '' }]
    const native = mcpNative(jsonTextOf({ contents }).bytes, '2025-11-25')
    return Promise.resolve({
      callId: 'c',
      outcome: { state: 'completed', toolError: false, native },
    })
  }
  const server = await openTestDoor({ catalogue, dispatch } as unknown as ScriptedHouse, {
    limits: { pageSize: 2 },
  })
  closers.push(async () => {
    catalogue.close()
    await server.close()
  })
  const ask = async (method: string, params: Record<string, unknown> = {}, as = LOCAL.id) =>
    postModern(server.url, method, params, { headers: { 'x-test-principal': as } })
  return { catalogue, calls, ask }
}

type Answers = (query: PeerQuery) => unknown

/** Answers an error object where it is an Error, a result otherwise. */
function skillPeer(name: string, answers: Answers, listing: Partial<PeerListing> = {}): Peer {
  const extensions = { [SKILLS]: { directoryRead: true } }
  return {
    ...scriptedPeer(name, {
      capabilities: [],
      leftOut: [],
      features: { completions: false, subscribe: false, logging: false, extensions },
      ...listing,
    }),
    query: (query): Promise<QueryAnswer> => {
      const answer = answers(query)
      const isError = answer instanceof Error
      const body = isError ? { code: -32602, message: answer.message } : answer
      const native = mcpNative(jsonTextOf(body).bytes, '2026-07-28')
      return Promise.resolve({ kind: isError ? 'error' : 'result', native })
    },
  }
}

function skill(root: string, ...files: readonly string[]) {
  const resources = ['SKILL.md', ...files].map((file) => ({
    uri: `${root}/${file}`,
    digest: `sha256:${'a'.repeat(64)}`,
    size: 16,
  }))
  return {
    uri: `${root}/SKILL.md`,
    frontmatter: { name: root, description: 'd', own: 1 },
    resources,
  }
}

const listOf =
  (...skills: readonly object[]): Answers =>
  ({ method }) =>
    method === 'skills/list' ? { skills, ttlMs: 7_000, cacheScope: 'public' } : new Error('none')

const urisOf = (body: unknown): unknown[] =>
  (dig(body, 'result', 'skills') as { uri: string }[]).map(({ uri }) => uri)

test('skills of all peers are one list, in pages of ours; two at one address stay two, and both can be read', async () => {
  const { ask, calls } = await open([
    skillPeer('a', listOf(skill('skill://refunds', 'ref/x.md'), skill('skill://acme/git'))),
    skillPeer('b', listOf(skill('skill://refunds', 'ref/x.md'))),
  ])
  const first = await ask('skills/list')
  expect(dig(first.body, 'result')).toMatchObject({
    resultType: 'complete',
    ttlMs: 7_000,
    cacheScope: 'private',
  })
  expect(urisOf(first.body)).toEqual(['skill://refunds/SKILL.md', 'skill://acme/git/SKILL.md'])
  const second = await ask('skills/list', { cursor: dig(first.body, 'result', 'nextCursor') })
  expect(dig(second.body, 'result', 'skills')).toEqual([
    {
      ...skill('skill://refunds', 'ref/x.md'),
      uri: 'comity://b/skill%3A/refunds/SKILL.md',
      resources: [
        expect.objectContaining({ uri: 'comity://b/skill%3A/refunds/SKILL.md' }),
        expect.objectContaining({ uri: 'comity://b/skill%3A/refunds/ref/x.md' }),
      ],
    },
  ])
  expect(dig(second.body, 'result')).not.toHaveProperty('nextCursor')

  for (const uri of ['skill://refunds/ref/x.md', 'comity://b/skill%3A/refunds/ref/x.md'])
    expect(dig((await ask('resources/read', { uri })).body, 'result', 'contents', 0, 'uri')).toBe(
      uri,
    )
  expect(calls.map(({ route }) => [route.peer, route.capability])).toEqual([
    ['a', 'skill://refunds/ref/x.md'],
    ['b', 'skill://refunds/ref/x.md'],
  ])
})

test('a cursor is its principal’s, and no other list’s', async () => {
  const { ask } = await open([
    skillPeer('a', listOf(skill('skill://x'), skill('skill://y'))),
    skillPeer('b', listOf(skill('skill://z'))),
  ])
  const { body } = await ask('skills/list')
  const cursor = dig(body, 'result', 'nextCursor')
  for (const refused of [
    await ask('skills/list', { cursor }, 'guest'),
    await ask('skills/list', { cursor: `${String(cursor)}A` }),
    await ask('tools/list', { cursor }),
  ])
    expect(dig(refused.body, 'error', 'code')).toBe(-32602)
})

test('pages of a peer are followed, and an entry that is none is left out and said so', async () => {
  const { ask } = await open([
    skillPeer('a', ({ params }) => {
      const { cursor } = params.value() as { cursor?: string }
      if (cursor === undefined)
        return { skills: [{ uri: 'skill://broken/SKILL.md' }], nextCursor: '' }
      return { skills: [skill('skill://whole')] }
    }),
  ])
  const { body } = await ask('skills/list')
  expect(urisOf(body)).toEqual(['skill://whole/SKILL.md'])
  expect(dig(body, 'result')).toMatchObject({
    ttlMs: 0,
    _meta: { 'comity/missing': [{ peer: 'a', reason: '1 of its skills cannot be shown' }] },
  })
})

test('a peer that fails takes only its own skills; when all fail it is an error', async () => {
  const failing = skillPeer('a', () => new Error('out of order'))
  const one = await open([failing, skillPeer('b', listOf(skill('skill://x')))])
  const { body } = await one.ask('skills/list')
  expect(urisOf(body)).toEqual(['skill://x/SKILL.md'])
  expect(dig(body, 'result', '_meta', 'comity/missing')).toEqual([
    { peer: 'a', reason: 'out of order' },
  ])
  const none = await open([failing])
  expect(dig((await none.ask('skills/list')).body, 'error', 'code')).toBe(-32603)
})

test('a skill with a file that the caller may not see is not shown to it at all', async () => {
  const { ask } = await open(
    [skillPeer('a', listOf(skill('skill://open'), skill('skill://half', 'secret.md')))],
    (_peer, name) => name.endsWith('secret.md'),
  )
  expect(urisOf((await ask('skills/list')).body)).toHaveLength(2)
  expect(urisOf((await ask('skills/list', {}, 'guest')).body)).toEqual(['skill://open/SKILL.md'])
})

test('one skill is got from whoever serves it, listed or not; nobody’s is -32602', async () => {
  const asked: string[] = []
  const serving =
    (name: string, ...roots: readonly string[]): Answers =>
    ({ method, params }) => {
      const { uri } = params.value() as { uri: string }
      asked.push(`${name} ${uri}`)
      const root = roots.find((one) => `${one}/SKILL.md` === uri)
      if (method !== 'skills/get' || root === undefined) return new Error('none')
      return { skill: skill(root), ttlMs: 3_000, cacheScope: 'public', kept: 1 }
    }
  const { ask } = await open([
    skillPeer('a', serving('a', 'skill://both')),
    skillPeer('b', serving('b', 'skill://both', 'skill://hers')),
  ])
  const hers = await ask('skills/get', { uri: 'skill://hers/SKILL.md' })
  expect(dig(hers.body, 'result')).toMatchObject({
    resultType: 'complete',
    skill: { uri: 'skill://hers/SKILL.md' },
    ttlMs: 3_000,
    cacheScope: 'private',
    kept: 1,
  })
  const scoped = 'comity://b/skill%3A/both/SKILL.md'
  await ask('skills/get', { uri: 'skill://both/SKILL.md' })
  const theirs = await ask('skills/get', { uri: scoped })
  expect(dig(theirs.body, 'result', 'skill', 'uri')).toBe(scoped)
  // Once it is someone's address, that one alone is asked.
  asked.length = 0
  await ask('skills/get', { uri: 'skill://hers/SKILL.md' })
  expect(asked).toEqual(['b skill://hers/SKILL.md'])
  const nowhere = await ask('skills/get', { uri: 'skill://nowhere/SKILL.md' })
  expect(nowhere.body).toMatchObject({
    error: { code: -32602, data: { uri: 'skill://nowhere/SKILL.md' } },
  })
})

test('a directory is read where it lies, its children under addresses that can be read, page by page', async () => {
  const { ask, calls } = await open([
    skillPeer('a', () => new Error('no such directory')),
    skillPeer('b', ({ method, params }) => {
      const { uri, cursor } = params.value() as { uri: string; cursor?: string }
      if (method !== 'resources/directory/read' || uri !== 'skill://x/t') return new Error('none')
      return cursor === undefined
        ? { resources: [{ uri: 'skill://x/t/1.md', name: '1' }], nextCursor: 'theirs' }
        : { resources: [{ uri: 'skill://x/t/2.md', name: '2' }] }
    }),
  ])
  const first = await ask('resources/directory/read', { uri: 'skill://x/t' })
  expect(dig(first.body, 'result', 'resources')).toEqual([{ uri: 'skill://x/t/1.md', name: '1' }])
  expect(first.text).not.toContain('theirs')
  expect(dig(first.body, 'result')).not.toHaveProperty('ttlMs')
  const cursor = dig(first.body, 'result', 'nextCursor')
  const second = await ask('resources/directory/read', { uri: 'skill://x/t', cursor })
  expect(dig(second.body, 'result', 'resources', 0, 'uri')).toBe('skill://x/t/2.md')
  await ask('resources/read', { uri: 'skill://x/t/2.md' })
  expect(calls[0]?.route.peer).toBe('b')
  const none = await ask('resources/directory/read', { uri: 'skill://y' })
  expect(dig(none.body, 'error', 'code')).toBe(-32602)
})

test('extensions that are carried are offered while a visible peer has them; all others are not', async () => {
  const extensions = {
    [SKILLS]: {},
    [APPS]: { mimeTypes: ['text/html;profile=mcp-app'] },
    'x.y/z': {},
  }
  const features = { completions: false, subscribe: true, logging: false, extensions }
  const { ask } = await open(
    [skillPeer('a', listOf(), { features, capabilities: [capabilityOf('a', 'tool', 't')] })],
    () => true,
  )
  const { body } = await ask('server/discover')
  const { [`x.y/z`]: _left, ...carried } = extensions
  expect(dig(body, 'result', 'capabilities', 'extensions')).toEqual(carried)
  const guest = await ask('server/discover', {}, 'guest')
  expect(dig(guest.body, 'result', 'capabilities')).not.toHaveProperty('extensions')
  expect((await ask('skills/list', {}, 'guest')).status).toBe(404)
  expect((await ask('resources/directory/read', { uri: 'skill://x' })).status).toBe(404)
})

test('a tool names the page that is read under that address: listed, only named, or another peer’s before', async () => {
  const page = (uri: string) => ({ _meta: { ui: { resourceUri: uri, kept: 1 }, other: 2 } })
  const peer = (name: string, ...capabilities: PeerListing['capabilities']) =>
    scriptedPeer(name, { capabilities, leftOut: [] })
  const { ask, calls } = await open([
    peer(
      'a',
      capabilityOf('a', 'resource', 'ui://listed'),
      capabilityOf('a', 'tool', 'one', page('ui://listed')),
    ),
    peer(
      'b',
      capabilityOf('b', 'resource', 'ui://listed'),
      capabilityOf('b', 'tool', 'two', page('ui://listed')),
    ),
    peer(
      'c',
      capabilityOf('c', 'tool', 'three', page('ui://named')),
      capabilityOf('c', 'tool', 'none'),
    ),
    peer('d', capabilityOf('d', 'tool', 'four', { _meta: { 'ui/resourceUri': 'ui://named' } })),
  ])
  const named: Record<string, string> = {}
  let cursor: unknown
  do {
    const { body } = await ask('tools/list', cursor === undefined ? {} : { cursor })
    for (const tool of dig(body, 'result', 'tools') as { name: string; _meta?: object }[]) {
      const uri = dig(tool, '_meta', 'ui', 'resourceUri') ?? dig(tool, '_meta', 'ui/resourceUri')
      if (typeof uri === 'string') named[tool.name] = uri
      if (tool.name === 'b_two') expect(tool._meta).toMatchObject({ ui: { kept: 1 }, other: 2 })
    }
    cursor = dig(body, 'result', 'nextCursor')
  } while (cursor !== undefined)
  expect(named).toEqual({
    a_one: 'ui://listed',
    b_two: 'comity://b/ui%3A%2F%2Flisted',
    c_three: 'ui://named',
    d_four: 'comity://d/ui%3A%2F%2Fnamed',
  })
  for (const uri of Object.values(named)) await ask('resources/read', { uri })
  expect(calls.map(({ route }) => [route.peer, route.capability])).toEqual([
    ['a', 'ui://listed'],
    ['b', 'ui://listed'],
    ['c', 'ui://named'],
    ['d', 'ui://named'],
  ])
})

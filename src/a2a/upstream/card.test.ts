import { afterAll, describe, expect, it } from 'vitest'
import { NEVER } from '../../../test/a2a/calls.ts'
import { openRawPeer, type RawPeer, replyJson, type Script } from '../../../test/a2a/raw-peer.ts'
import { cardOf } from '../../../test/a2a/scripted-agent.ts'
import { openConnections } from '../bindings/http.ts'
import { type CardOptions, cardUrl, createCardSource } from './card.ts'

const connections = openConnections()
afterAll(() => connections.close())

function sourceOf(peer: RawPeer, more: Partial<CardOptions> = {}) {
  let now = 1_000_000
  const source = createCardSource(
    { connections, clock: { now: () => now } },
    { url: `${peer.origin}/`, ...more },
  )
  return { source, pass: (ms: number) => (now += ms), current: () => source.current(NEVER) }
}

/** Serves a card with headers, answering 304 to its own tag. */
function serve(card: () => Record<string, unknown>, headers: Record<string, string>): Script {
  return (request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const tag = headers['etag']
    if (tag !== undefined && request.headers['if-none-match'] === tag) {
      return void response.writeHead(304).end()
    }
    replyJson(response, 200, card())
  }
}

it('a base means the well-known path under it, anything else is direct', () => {
  expect(cardUrl('https://h')).toBe('https://h/.well-known/agent-card.json')
  expect(cardUrl('https://h/agents/a/')).toBe('https://h/agents/a/.well-known/agent-card.json')
  expect(cardUrl('https://h/card.json')).toBe('https://h/card.json')
})

describe('keeping', () => {
  it('as long as Cache-Control says, then revalidated by its tag', async () => {
    await using peer = await openRawPeer(
      serve(() => cardOf(peer.origin), { etag: '"v1"', 'cache-control': 'public, max-age=60' }),
    )
    const { source, pass, current } = sourceOf(peer)
    let changes = 0
    source.onChanged(() => (changes += 1))
    const first = await current()
    pass(59_000)
    await current()
    expect(peer.seen.length).toBe(1)
    pass(2_000)
    expect(await current()).toEqual(first)
    expect(peer.seen.map((request) => request.headers['if-none-match'])).toEqual([
      undefined,
      '"v1"',
    ])
    expect(peer.seen[0]?.headers['a2a-version']).toBe('1.0')
    expect(changes).toBe(0)
  })

  it('a changed card is told; the order of its members is no change', async () => {
    let version = 0
    await using peer = await openRawPeer(
      serve(() => {
        const card = cardOf(peer.origin)
        version += 1
        if (version === 2) return Object.fromEntries(Object.entries(card).toReversed())
        return version === 3 ? { ...card, description: 'Other' } : card
      }, {}),
    )
    const { source, pass, current } = sourceOf(peer, { keepMs: 10 })
    let changes = 0
    source.onChanged(() => (changes += 1))
    for (let read = 0; read < 3; read += 1) {
      await current()
      pass(20)
    }
    expect(peer.seen.length).toBe(3)
    expect(changes).toBe(1)
  })

  it('many who ask at once make one request', async () => {
    await using peer = await openRawPeer(serve(() => cardOf(peer.origin), {}))
    const { current } = sourceOf(peer)
    await Promise.all(Array.from({ length: 20 }, current))
    expect(peer.seen.length).toBe(1)
  })

  it('a card that cannot be fetched again stands, and the report says so', async () => {
    let isDown = false
    const script = serve(() => cardOf(peer.origin), {})
    await using peer = await openRawPeer((request, response) =>
      isDown ? void response.writeHead(503).end() : script(request, response),
    )
    const { pass, current } = sourceOf(peer, { keepMs: 10 })
    await current()
    isDown = true
    pass(20)
    const stale = await current()
    expect(stale).toMatchObject({ kind: 'usable' })
    expect(stale.kind === 'usable' && stale.stale).toContain('HTTP 503')
  })

  it('a card that is bad now is not used any more', async () => {
    let isBad = false
    await using peer = await openRawPeer(
      serve(() => {
        const { skills, ...rest } = cardOf(peer.origin)
        return isBad ? rest : { ...rest, skills }
      }, {}),
    )
    const { source, pass, current } = sourceOf(peer, { keepMs: 10 })
    let changes = 0
    source.onChanged(() => (changes += 1))
    await current()
    isBad = true
    pass(20)
    const now = await current()
    expect(now).toMatchObject({ kind: 'unusable', code: 'protocol_violation' })
    expect(now.kind === 'unusable' && now.detail).toContain('skills')
    expect(changes).toBe(1)
    isBad = false
    pass(1500)
    expect((await current()).kind).toBe('usable')
    expect(changes).toBe(2)
  })
})

describe('bad cards', () => {
  it.each([
    ['nothing there', 404, '', 'HTTP 404'],
    ['no JSON', 200, '<html>', 'not JSON'],
    ['too large', 200, JSON.stringify('x'.repeat(5000)), 'too large'],
  ])('%s', async (_name, status, body, said) => {
    await using peer = await openRawPeer((_request, response) => replyJson(response, status, body))
    const card = await sourceOf(peer, { maxBytes: 4000 }).current()
    expect(card.kind).toBe('unusable')
    expect(card.kind === 'unusable' && card.detail).toContain(said)
  })

  it('credentials that are wanted are named as what to set', async () => {
    await using peer = await openRawPeer((_request, response) => replyJson(response, 401, '{}'))
    expect(await sourceOf(peer).current()).toMatchObject({
      kind: 'unreachable',
      code: 'credentials_missing',
    })
  })

  it('an interface elsewhere is used only when the operator named its origin', async () => {
    await using other = await openRawPeer(() => undefined)
    await using peer = await openRawPeer((_request, response) =>
      replyJson(response, 200, cardOf(peer.origin, { interfaceUrl: `${other.origin}/a2a` })),
    )
    expect((await sourceOf(peer).current()).kind).toBe('unusable')
    const allowed = await sourceOf(peer, { allowedOrigins: [other.origin] }).current()
    expect(allowed.kind === 'usable' && allowed.interface.url).toBe(`${other.origin}/a2a`)
  })
})

describe('redirects', () => {
  it('within the origin they are followed, a few', async () => {
    await using peer = await openRawPeer((request, response) => {
      if (request.path === '/real.json') return replyJson(response, 200, cardOf(peer.origin))
      response.writeHead(302, { location: '/real.json' }).end()
    })
    expect((await sourceOf(peer).current()).kind).toBe('usable')
    await using circle = await openRawPeer((request, response) => {
      response.writeHead(302, { location: request.path }).end()
    })
    expect((await sourceOf(circle).current()).kind).toBe('unusable')
    expect(circle.seen.length).toBe(4)
  })

  it('to another origin they are not, and no header gets there', async () => {
    await using other = await openRawPeer((_request, response) =>
      replyJson(response, 200, cardOf(other.origin)),
    )
    await using peer = await openRawPeer((_request, response) => {
      response.writeHead(302, { location: `${other.origin}/card.json` }).end()
    })
    const card = await sourceOf(peer, { headers: { authorization: 'Bearer canary' } }).current()
    expect(card.kind).toBe('unusable')
    expect(other.seen).toEqual([])
  })
})

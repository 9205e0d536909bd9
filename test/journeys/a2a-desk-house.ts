/**
 * A house behind the A2A door for its tests: the real gate, dispatch, store and translator, and one scripted peer, `docs`,
 * whose tools do what their names say. Callers are told apart by bearer token: `alice`, `bob`.
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'
import { onTestFinished } from 'vitest'
import { createA2aDoor, type A2aDoorOptions } from '../../src/a2a/downstream/server.ts'
import { jsonTextOf, nativeOf } from '../../src/bridge/native-text.ts'
import { translator } from '../../src/bridge/translator.ts'
import type { DispatchPorts } from '../../src/core/dispatch.ts'
import { createBegin } from '../../src/core/long-call.ts'
import type { Upstream } from '../../src/core/ports/upstream.ts'
import { createResume } from '../../src/core/resume.ts'
import type { OutboundCall } from '../../src/core/words/call.ts'
import { refused, type Outcome } from '../../src/core/words/outcome.ts'
import type { Principal } from '../../src/core/words/principal.ts'
import type { Route } from '../../src/core/words/route.ts'
import { createIds, digest, onAbort, systemClock } from '../../src/gateway/compose/world.ts'
import { openStore } from '../../src/store/open-sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { createFolder } from '../../src/store/testing/make.ts'

export interface DeskHouse {
  readonly url: string
  readonly store: Store
  /** Params of every call that reached the peer, as text. */
  readonly received: readonly string[]
  /** Lets the `slow` tool answer. */
  release(): void
  /** Resolves when a call has reached the peer. */
  arrived(): Promise<void>
  /** Closes the door alone; the server goes on listening. */
  stop(): Promise<void>
  close(): Promise<void>
}

/** Skill ids are the operator's; what stands behind them is named otherwise. */
const SKILLS = {
  find: 'search_documents',
  wait: 'slow_tool',
  fail: 'broken_tool',
  lose: 'lost_tool',
  forbid: 'denied_tool',
  ask: 'approved_tool',
  secret: 'hidden_tool',
} as const

const AGENTS = [
  {
    name: 'desk',
    description: 'Finds things',
    version: '1.2.3',
    skills: [{ id: 'find', description: 'Finds documents', text: 'query' }],
  },
  {
    name: 'many',
    description: 'Does many things',
    version: '1.2.3',
    skills: [
      { id: 'find', description: 'Finds documents', text: 'query' },
      ...(['wait', 'fail', 'lose', 'forbid', 'ask', 'secret'] as const).map((id) => ({ id })),
    ],
  },
] as const

const SCHEMA = { type: 'object', properties: { query: { type: 'string' } } }

/** Opens the house on a free port of 127.0.0.1; it is closed when the test ends. */
export async function openDeskHouse(options: Partial<A2aDoorOptions> = {}): Promise<DeskHouse> {
  const folder = createFolder()
  const store = await openStore({ file: folder.file, clock: systemClock })
  const peer = createPeer()
  const core = createCore(store, peer.upstream)
  const door = createA2aDoor(
    {
      agents: AGENTS,
      route: (_agent, skillId, principal) => {
        const route = routeOf(SKILLS[skillId as keyof typeof SKILLS])
        return Promise.resolve(
          isVisible(principal, route) ? { route, inputSchema: SCHEMA } : undefined,
        )
      },
      begin: core.begin,
      tasks: store.tasks,
      desk: core.resume,
    },
    { clock: systemClock, authenticate, ...options },
  )
  const server = createServer((request, response) => void door.handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  door.servedAt(url)
  let closing: Promise<void> | undefined
  const closeAll = async (): Promise<void> => {
    peer.release()
    await door.close()
    server.closeAllConnections()
    server.close()
    await store.close()
    folder.remove()
  }
  const close = (): Promise<void> => (closing ??= closeAll())
  onTestFinished(close)
  return {
    url,
    store,
    received: peer.received,
    release: peer.release,
    arrived: peer.arrived,
    stop: () => door.close(),
    close,
  }
}

/** A client of the official SDK, its card discovered. */
export async function clientOf(url: string, agent: string, token = 'alice'): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  return factory.createFromUrl(`${url}/a2a/${agent}/.well-known/agent-card.json`, '')
}

function authenticate(headers: IncomingHttpHeaders): ReturnType<A2aDoorOptions['authenticate']> {
  const token = /^Bearer (alice|bob)$/u.exec(headers.authorization ?? '')?.[1]
  if (token !== undefined) {
    return Promise.resolve({ principal: { id: token, groups: [], via: 'token' } })
  }
  const challenge = { 'www-authenticate': 'Bearer realm="comity"' }
  return Promise.resolve({ refused: { status: 401, message: 'a token', headers: challenge } })
}

function isVisible(_principal: Principal, route: Route): boolean {
  return route.capability !== SKILLS.secret
}

function routeOf(capability: string): Route {
  return {
    exposed: `docs_${capability}`,
    peer: 'docs',
    protocol: 'mcp',
    kind: 'tool',
    capability,
    endpoint: 'endpoint',
    fingerprint: 'fingerprint',
    hints: {},
    trusted: true,
  }
}

function createCore(store: Store, upstream: Upstream) {
  const ports: DispatchPorts = {
    policy: {
      visible: isVisible,
      decideQuestion: () => {
        throw new Error('no peer asks here')
      },
      decide: (_principal, { capability }) => ({
        effect: capability === SKILLS.forbid ? 'deny' : capability === SKILLS.ask ? 'ask' : 'allow',
        rule: `rules[0] docs/${capability}`,
        version: '1',
        risk: capability === SKILLS.find ? 'read' : 'write',
        approvalTtlMs: 60_000,
      }),
    },
    pins: { state: () => 'accepted' },
    argumentCheck: {
      check: (route, args) => {
        const value = args.value() as { readonly query?: unknown }
        const wrong = route.capability === SKILLS.find && typeof value.query !== 'string'
        return wrong ? [{ path: '/query', expected: 'a string' }] : []
      },
    },
    approvals: {
      find: (asked) => store.approvals.find(asked),
      request: (asked, ttlMs) => store.approvals.request(asked, ttlMs),
      describe: () => 'none given',
    },
    digest,
    upstreamOf: () => upstream,
    ledger: store.ledger,
    tasks: store.tasks,
    translator,
    clock: systemClock,
    ids: createIds(systemClock),
    onAbort,
    acceptanceOf: () => undefined,
    isJudged: () => false,
    running: new Map(),
    onFault: (what, error) => {
      throw new Error(what, { cause: error })
    },
  }
  const begin = createBegin(ports)
  const resume = createResume({
    ...ports,
    judge: { judge: () => Promise.resolve({ reasons: [], checks: [] }) },
    routeOf: () => Promise.resolve(undefined),
    deadline: (afterMs) => AbortSignal.timeout(afterMs),
    jsonText: jsonTextOf,
  })
  return { begin, resume }
}

function createPeer() {
  const received: string[] = []
  const released = Promise.withResolvers<void>()
  const waiting = new Set<() => void>()
  const answer = (call: OutboundCall, signal: AbortSignal): Promise<Outcome> | Outcome => {
    switch (call.route.capability) {
      case SKILLS.wait:
        return untilReleased(released.promise, signal)
      case SKILLS.fail:
        return completed({ content: [{ type: 'text', text: 'no such file' }], isError: true }, true)
      case SKILLS.lose:
        return { state: 'unknown', because: 'sent_no_answer', detail: 'docs: the connection broke' }
      case SKILLS.ask:
        return refused('peer', 'peer_unreachable', 'docs: cannot be reached')
      default:
        return completed({
          content: [{ type: 'text', text: 'found' }],
          structuredContent: { hits: 1 },
        })
    }
  }
  const upstream: Upstream = {
    call: async (call, exchange, dispatched) => {
      dispatched({ wireId: '1', revision: '2026-07-28', ours: {}, theirs: {} })
      received.push(new TextDecoder().decode(call.native.bytes))
      for (const told of waiting) told()
      return answer(call, exchange.signal)
    },
  }
  const arrived = async (): Promise<void> => {
    if (received.length > 0) return
    await new Promise<void>((resolve) => waiting.add(resolve))
  }
  return { upstream, received, release: () => released.resolve(), arrived }
}

async function untilReleased(released: Promise<void>, signal: AbortSignal): Promise<Outcome> {
  const stopped = once(signal, 'abort').then((): Outcome => ({
    state: 'unknown',
    because: 'cancel_unconfirmed',
    detail: 'docs: asked to stop',
  }))
  const ended = released.then(() => completed({ content: [{ type: 'text', text: 'at last' }] }))
  return Promise.race([stopped, ended])
}

function completed(result: unknown, toolError = false): Outcome {
  return { state: 'completed', native: nativeOf('mcp', '2026-07-28', result), toolError }
}

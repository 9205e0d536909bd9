/** Each peer against core's ports: every feature in every revision and transport that is spoken to. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Exchange, StopReason } from '../../src/core/ports/upstream.ts'
import type { OutboundCall } from '../../src/core/words/call.ts'
import { LOCAL } from '../../src/core/words/principal.ts'
import type { Outcome } from '../../src/core/words/outcome.ts'
import { CANNOT_BE_ASKED, type CallerCan } from '../../src/core/words/question.ts'
import { createMcpPeer, type McpPeer, type McpPeerConfig } from '../../src/mcp/upstream/client.ts'
import { canonicalJson } from '../../src/mcp/wire/canonical.ts'
import { jsonText, mcpNative } from '../../src/mcp/wire/native.ts'
import { answerQuestion } from './caller.ts'
import { expectThat, findCell, until, type Cell, type Finding } from './cells.ts'
import { WATCHED, type Json } from './peer.ts'
import { checkLogin, LOGIN_CHECKS, type CallOnce, type OpenAt } from './peer-logins.ts'
import { servePeer, type ServedPeer } from './peer-http.ts'
import { hasQuestion, isModern, nameOf, PEERS, type Asked, type End } from './revisions.ts'

const LARGE = 3 * 1024 * 1024
const ALL: CallerCan = { form: true, url: true, sampling: true, roots: true }
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const sha256 = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex')

/** Runs every feature at every peer. */
export async function runPeers(): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (const end of PEERS) {
    const { peer, close } = await openEnd(end)
    try {
      for (const [feature, check] of Object.entries(CHECKS)) {
        cells.push(await findCell(nameOf(end), feature, () => check(peer, end)))
      }
      for (const [feature, check] of Object.entries(LOGIN_CHECKS)) {
        const found = () => checkLogin(end, check, openAt, callOnce)
        cells.push(await findCell(nameOf(end), feature, found))
      }
    } finally {
      await close()
    }
  }
  return cells
}

async function openEnd({
  revision,
  transport,
}: End): Promise<{ readonly peer: McpPeer; close(): Promise<void> }> {
  let served: ServedPeer | undefined
  if (transport !== 'stdio') served = await servePeer(revision, transport)
  const args = [join(import.meta.dirname, 'peer-lines.ts'), revision]
  const peer = makePeer(
    served === undefined
      ? { transport: 'stdio', command: process.execPath, args, env: {} }
      : { transport: 'http', url: served.url, headers: {} },
  )
  await peer.listing()
  return {
    peer,
    async close() {
      await peer.close()
      await served?.close()
    },
  }
}

const openAt: OpenAt = (url, credentials) =>
  makePeer({ transport: 'http', url, headers: {}, credentials })

const callOnce: CallOnce = (peer, name, opens) =>
  call(peer, name, { ...CANNOT_BE_ASKED, url: opens }).outcome

function makePeer(server: McpPeerConfig['server']): McpPeer {
  return createMcpPeer(
    { name: 'peer', trusted: true, server },
    {
      clock: { now: Date.now },
      digest: {
        text: sha256,
        json: ({ bytes }) => sha256(canonicalJson(bytes)),
        jsonValue: ({ bytes }) => sha256(canonicalJson(bytes, undefined, { numbers: 'value' })),
      },
      environment: process.env,
      clientInfo: { name: 'compat', version: '1' },
    },
  )
}

interface Run {
  readonly outcome: Promise<Outcome>
  readonly events: Json[]
  stop(): void
}

let calls = 0

/** One call as core makes it; questions are answered as the callers of the other tables do. */
function call(peer: McpPeer, name: string, can: CallerCan = CANNOT_BE_ASKED, more: Json = {}): Run {
  const stopping = new AbortController()
  const events: Json[] = []
  let why: StopReason | undefined
  const exchange: Exchange = {
    signal: stopping.signal,
    stopReason: () => why,
    emit: (event) => void events.push(event.native.value() as Json),
    can,
    // As core's gate does it: what the rules or the caller forbid is asked of nobody.
    ask: async (question) => {
      if (question.kind === 'text' || !can[question.kind])
        return { key: question.key, action: 'decline', unasked: 'rules' }
      const { method, params } = question.native.value() as { method: string; params: Json }
      const answer = mcpNative(encode(answerQuestion(method, params)), '2025-11-25')
      return { key: question.key, action: 'accept', native: answer }
    },
  }
  const args = jsonText(encode({ text: 'hé' }))
  const params = { name, arguments: { text: 'hé' }, _meta: { progressToken: 1 } }
  const outbound: OutboundCall = {
    callId: `c${(calls += 1)}`,
    openedAt: Date.now(),
    route: {
      exposed: name,
      peer: 'peer',
      protocol: 'mcp',
      kind: 'tool',
      capability: name,
      endpoint: peer.endpoint,
      fingerprint: '',
      hints: {},
      trusted: true,
    },
    principal: LOCAL,
    operation: 'call',
    native: mcpNative(encode(params), '2026-07-28'),
    arguments: args,
    door: 'compat',
    deadlineAt: Date.now() + 60_000,
    trace: {},
    ...more,
  }
  return {
    outcome: peer.upstream.call(outbound, exchange, () => undefined),
    events,
    stop() {
      why = 'caller_canceled'
      stopping.abort()
    },
  }
}

async function textOf(outcome: Promise<Outcome>): Promise<string> {
  const ended = await outcome
  if (ended.state !== 'completed') return `${ended.state} ${'detail' in ended ? ended.detail : ''}`
  const { content } = ended.native.value() as { content: readonly Json[] }
  return content.map((block) => String(block['text'])).join('')
}

async function expectText(outcome: Promise<Outcome>, expected: string): Promise<void> {
  const said = await textOf(outcome)
  expectThat(said === expected, `expected ${expected}, got ${said.slice(0, 300)}`)
}

type Check = (peer: McpPeer, end: End) => Promise<Finding>

const CHECKS: Readonly<Record<string, Check>> = {
  async call(peer) {
    await expectText(call(peer, 'echo').outcome, 'hé')
    return 'works'
  },
  async error(peer) {
    const outcome = await call(peer, 'refuse').outcome
    expectThat(outcome.state === 'failed' && outcome.native !== undefined, outcome.state)
    return 'works'
  },
  async progress(peer) {
    const run = call(peer, 'progress')
    await expectText(run.outcome, 'progressed')
    const steps = run.events.map((event) => event['progress']).join()
    expectThat(steps === '1,2,3', `progress was ${steps}`)
    return 'works'
  },
  async cancel(peer) {
    const run = call(peer, 'wait')
    await until(() => run.events.length > 0, 'it is at work')
    run.stop()
    const { state } = await run.outcome
    expectThat(state === 'unknown', `the call ended ${state}`)
    const stopped = async () => Number(await textOf(call(peer, 'stopped').outcome))
    await until(async () => (await stopped()) === 1, 'the peer was told to stop')
    return 'works'
  },
  'elicitation form': (peer, end) => checkAsk(peer, end, 'form', 'accept Ada'),
  'elicitation url': (peer, end) => checkAsk(peer, end, 'url', 'accept'),
  sampling: (peer, end) => checkAsk(peer, end, 'sampling', 'sampled something'),
  async 'list change'(peer) {
    let changed = 0
    const stop = peer.onChanged(() => (changed += 1))
    await expectText(call(peer, 'grow').outcome, 'grown')
    await until(() => changed > 0, 'a notice of the change')
    stop()
    const { capabilities } = await peer.listing()
    expectThat(
      capabilities.some(({ name }) => name.startsWith('grown_')),
      'the new tool is missing',
    )
    return 'works'
  },
  async 'resource update'(peer) {
    const seen: string[] = []
    const stop = peer.watch?.(WATCHED, (uri) => void seen.push(uri))
    expectThat(stop !== undefined, 'it cannot be watched')
    // Until the peer has taken the subscription, its updates go nowhere.
    await until(async () => {
      await call(peer, 'touch').outcome
      return seen.includes(WATCHED)
    }, 'a notice of the update')
    stop?.()
    return 'works'
  },
  async 'large result'(peer) {
    expectThat((await textOf(call(peer, 'large').outcome)).length === LARGE, 'it is not whole')
    return 'works'
  },
  async 'structured content'(peer) {
    const outcome = await call(peer, 'structured').outcome
    expectThat(outcome.state === 'completed', outcome.state)
    const said = outcome.state === 'completed' ? outcome.native.value() : undefined
    const { structuredContent } = said as Json
    expectThat(JSON.stringify(structuredContent) === '{"total":3,"odd":1e+21}', 'it came otherwise')
    return 'works'
  },
  async deny(peer, end) {
    const said = await answerOf(peer, end, 'ask_form', CANNOT_BE_ASKED)
    expectThat(said.startsWith('not answered'), `it said ${said}`)
    return 'works'
  },
  ask: async () =>
    'impossible because approvals are asked before a call reaches any peer; the door’s table has them',
  async task(peer, { revision }) {
    const outcome = await call(peer, 'long', { ...CANNOT_BE_ASKED, tasks: 'held' }).outcome
    if (revision < '2025-11-25') {
      await expectText(Promise.resolve(outcome), 'done at last')
      return `impossible because ${revision} has no tasks; the call is waited for`
    }
    expectThat(outcome.state === 'working' && outcome.handle.kind === 'mcp_task', outcome.state)
    const { work } = peer.upstream
    if (outcome.state !== 'working' || work === undefined) throw new Error('nothing to follow')
    let last: Outcome = outcome
    const signal = AbortSignal.timeout(10_000)
    for await (const news of work.follow(outcome.handle, undefined, signal))
      if (news.kind === 'status') last = news.outcome
    await expectText(Promise.resolve(last), 'done at last')
    return 'works'
  },
}

async function checkAsk(peer: McpPeer, end: End, kind: Asked, expected: string): Promise<Finding> {
  const said = await answerOf(peer, end, `ask_${kind}`, ALL)
  if (!hasQuestion(end.revision, kind)) {
    expectThat(said.startsWith('not answered'), `it said ${said}`)
    return `impossible because ${end.revision} has no such question; a peer that asks it all the same is told so`
  }
  expectThat(said === expected, `expected ${expected}, got ${said}`)
  return 'works'
}

/** What the tool says once its question was answered; a modern peer is called again with the answer. */
async function answerOf(
  peer: McpPeer,
  { revision }: End,
  tool: string,
  can: CallerCan,
): Promise<string> {
  const first = call(peer, tool, can)
  const outcome = await first.outcome
  if (!isModern(revision) || outcome.state !== 'input_required') return textOf(first.outcome)
  const answers = outcome.questions.map(({ key, native }) => {
    const { method, params } = native.value() as { method: string; params: Json }
    const given = mcpNative(encode(answerQuestion(method, params)), '2026-07-28')
    return { key, action: 'accept', native: given } as const
  })
  const continuation = { callId: 'c0', handle: outcome.handle, answers }
  return textOf(call(peer, tool, can, { continuation }).outcome)
}

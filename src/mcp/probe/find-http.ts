/**
 * Which revisions a server speaks over HTTP: each is asked for by itself, none is concluded from another. Opens at most one session a
 * revision and ends them again; sends nothing that could act.
 *
 * @source MCP 2026-07-28, basic, versioning; 2025-11-25, transports, backwards compatibility.
 */
import { sessionOf, type HttpEndpoint } from '../upstream/http-headers.ts'
import { LEGACY_REVISIONS } from '../wire/rev-2025-11-25.ts'
import {
  judgeInitialize,
  judgeRefused,
  openModern,
  type Discovery,
  type Spoken,
} from './discovery.ts'
import type { Findings } from './findings.ts'
import { findSse, type SseOptions } from './find-sse.ts'
import { sayReply, type Asking, type ClientInfo, type Reply } from './raw.ts'
import type { RevisionTried } from './report.ts'
import { DECLARED } from './server-asks.ts'
import type { RawHttp } from './wire-http.ts'

export interface HttpSearch {
  /** Bears nothing: shows what a stranger is answered. */
  readonly bare: RawHttp
  /** Bears what the peer has; the same as `bare` where there is nothing. */
  readonly wire: RawHttp
  readonly endpoint: HttpEndpoint
  readonly sse: Omit<SseOptions, 'endpoint'>
  readonly clientInfo: ClientInfo
  readonly findings: Findings
}

/** Looks for all of them. */
export async function findOverHttp(search: HttpSearch): Promise<Discovery> {
  const { bare, wire, findings, clientInfo } = search
  const first = await openModern(bare, clientInfo, findings)
  const refused = bare.challenges()
  const modern = wire === bare ? first : await openModern(wire, clientInfo, findings)
  const nobody = modern.reply.kind === 'nothing' && modern.reply.unreachable === true
  if (nobody || modern.reply.status === 401) {
    return {
      revisions: [modern.tried],
      ...(refused === undefined ? {} : { refused }),
      unreachable: sayReply(modern.reply),
      asked: () => [],
      close: () => Promise.resolve(),
    }
  }
  const sessions = await openSessions(search)
  const sse = await findSse({ ...search.sse, endpoint: search.endpoint })
  const revisions = [modern.tried, ...sessions.revisions, ...(sse === undefined ? [] : [sse.tried])]
  judgeRefused(revisions, findings)
  const legacy = sessions.newest ?? sse?.spoken
  const none = modern.spoken === undefined && legacy === undefined
  return {
    revisions,
    ...(modern.spoken === undefined ? {} : { modern: modern.spoken }),
    ...(legacy === undefined ? {} : { legacy }),
    ...(refused === undefined ? {} : { refused }),
    ...(none ? { unreachable: saySilence(revisions) } : {}),
    asked: () => [...wire.asks.methods(), ...(sse?.asked() ?? [])],
    async close() {
      await endSession(wire, sessions.newest)
      await sse?.close()
    },
  }
}

async function openSessions({ wire, clientInfo, findings }: HttpSearch) {
  const revisions: RevisionTried[] = []
  let newest: Spoken | undefined
  for (const revision of LEGACY_REVISIONS) {
    const params = { protocolVersion: revision, capabilities: DECLARED, clientInfo }
    const reply = await wire.ask({ method: 'initialize', params })
    const tried = judgeInitialize(reply, revision, 'http', findings)
    revisions.push(tried)
    if (reply.kind !== 'result') continue
    const spoken = await openSession(wire, revision, reply, findings)
    if (tried.spoken && newest === undefined) newest = spoken
    else await endSession(wire, spoken)
  }
  return { revisions, ...(newest === undefined ? {} : { newest }) }
}

async function openSession(
  wire: RawHttp,
  revision: string,
  reply: Extract<Reply, { kind: 'result' }>,
  findings: Findings,
): Promise<Spoken> {
  const given = reply.headers['mcp-session-id']
  const session = sessionOf({ 'mcp-session-id': typeof given === 'string' ? given : undefined })
  if (given !== undefined && session === undefined) findings.add('session.id')
  const headers = {
    // The oldest revision of this transport has no such header.
    ...(revision === '2025-03-26' ? {} : { 'mcp-protocol-version': revision }),
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
  }
  const status = await wire.tell('notifications/initialized', undefined, headers)
  if (status !== undefined && status !== 202 && status < 400) {
    findings.add('http.notification', `HTTP ${status}`, `notifications/initialized ${revision}`)
  }
  const asking: Asking = {
    revision,
    era: 'legacy',
    transport: 'http',
    ask: (method, params = {}, more = {}) =>
      wire.ask({ ...more, method, params, headers: { ...headers, ...more.headers } }),
  }
  return { asking, wire, opened: reply.result, ...(session === undefined ? {} : { session }) }
}

/** Ends what the probe began itself, and nothing else. */
async function endSession(wire: RawHttp, spoken: Spoken | undefined): Promise<void> {
  const { session } = spoken ?? {}
  if (session === undefined) return
  const revision = spoken?.asking.revision
  await wire.visit('DELETE', { 'mcp-session-id': session, 'mcp-protocol-version': revision })
}

function saySilence(revisions: readonly RevisionTried[]): string {
  const said = revisions.map(({ revision, detail = '' }) => `${revision}: ${detail}`)
  return `it answers, but speaks no revision of MCP (${said.join('; ').slice(0, 600)})`
}

/** What finding out about revisions comes to, over any transport: which are spoken, and one open way to ask in each era. */
import { objectOf } from '../upstream/facts.ts'
import { ACCEPTED } from '../upstream/probe.ts'
import { MODERN_ONLY_CODES, MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import type { Findings } from './findings.ts'
import {
  askModern,
  sayReply,
  type Asking,
  type ClientInfo,
  type RawRequest,
  type RawWire,
  type Reply,
} from './raw.ts'
import type { RevisionTried } from './report.ts'

/** A revision that is spoken, and the way to ask in it. */
export interface Spoken {
  readonly asking: Asking
  /** Left out: over HTTP+SSE nothing odd is sent. */
  readonly wire?: RawWire
  /** The result of server/discover or initialize. */
  readonly opened: Readonly<Record<string, unknown>>
  readonly session?: string
  /** Asks as the first thing on a connection of its own. Left out: every request is as good as the first. */
  stranger?(request: RawRequest): Promise<Reply>
}

export interface Discovery {
  readonly revisions: readonly RevisionTried[]
  readonly modern?: Spoken
  /** The newest of the session revisions. */
  readonly legacy?: Spoken
  /** It answered 401: with which challenges. */
  readonly refused?: readonly string[]
  /** No revision is spoken: why, in words. */
  readonly unreachable?: string
  /** Methods by which it asked the client for something. */
  asked(): readonly string[]
  close(): Promise<void>
}

/** Asks server/discover; judges what the answer alone shows. @returns undefined when 2026-07-28 is not spoken. */
export async function openModern(
  wire: RawWire,
  clientInfo: ClientInfo,
  findings: Findings,
): Promise<{ readonly reply: Reply; readonly spoken?: Spoken; readonly tried: RevisionTried }> {
  const asking = askModern(wire, clientInfo)
  const reply = await asking.ask('server/discover')
  const tried = (spoken: boolean, detail?: string): RevisionTried => ({
    revision: MODERN_REVISION,
    transport: wire.transport,
    by: 'server/discover',
    spoken,
    ...(detail === undefined ? {} : { detail }),
  })
  if (reply.kind === 'result' && isDiscover(reply.result)) {
    const { supportedVersions: versions } = reply.result
    const names = Array.isArray(versions) && versions.includes(MODERN_REVISION)
    const onlyOthers = isTexts(versions) && !names
    if (onlyOthers) return { reply, tried: tried(false, `it supports ${versions.join(', ')}`) }
    return { reply, spoken: { asking, wire, opened: reply.result }, tried: tried(true) }
  }
  if (reply.kind === 'error' && MODERN_ONLY_CODES.has(reply.code)) {
    const { supported } = objectOf(reply.data)
    const others = isTexts(supported) ? `; it supports ${supported.join(', ')}` : ''
    return { reply, tried: tried(false, `${sayReply(reply)}${others}`) }
  }
  if (reply.kind === 'error' && (await servesModern(asking))) {
    findings.add('discover.missing', sayReply(reply))
    return { reply, spoken: { asking, wire, opened: {} }, tried: tried(true, sayReply(reply)) }
  }
  return { reply, tried: tried(false, sayReply(reply)) }
}

/** What an answer to `initialize` comes to. @returns whether it is that of a session. */
export function judgeInitialize(
  reply: Reply,
  asked: string,
  transport: RevisionTried['transport'],
  findings: Findings,
): RevisionTried {
  const tried = { revision: asked, transport, by: 'initialize' as const }
  if (reply.kind !== 'result') return { ...tried, spoken: false, detail: sayReply(reply) }
  const { protocolVersion: agreed } = reply.result
  if (agreed === asked) return { ...tried, spoken: true }
  const said = typeof agreed === 'string' ? agreed.slice(0, 40) : 'no protocolVersion'
  if (typeof agreed !== 'string' || !(ACCEPTED.has(agreed) || agreed === MODERN_REVISION)) {
    findings.add('init.version', said, `initialize ${asked}`)
  }
  return { ...tried, spoken: false, detail: `it answers with ${said}` }
}

/** Revisions that were refused by a server that speaks others of their kind. */
export function judgeRefused(revisions: readonly RevisionTried[], findings: Findings): void {
  const byInitialize = revisions.filter(
    ({ by, transport }) => by === 'initialize' && transport !== 'http+sse',
  )
  if (!byInitialize.some(({ spoken }) => spoken)) return
  for (const { spoken, detail = '', revision } of byInitialize) {
    if (!spoken && /\berror -?\d/.test(detail)) findings.add('init.refused', detail, revision)
  }
}

/** A result of something else, such as a page that answers everything, is none. */
function isDiscover(result: Readonly<Record<string, unknown>>): boolean {
  return 'supportedVersions' in result || 'resultType' in result
}

/** Lists have no effects, and only a server of 2026-07-28 gives one a resultType. */
async function servesModern(asking: Asking): Promise<boolean> {
  const reply = await asking.ask('tools/list')
  return reply.kind === 'result' && typeof reply.result['resultType'] === 'string'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')
}

/**
 * Session revisions over Streamable HTTP: what a POST or DELETE does to a session, and what happens without one.
 *
 * Every `initialize` is given a session id. From then on a request of that principal needs one (missing: 400, ended or unknown:
 * 404); a principal that holds no session may send requests without, which name their revision in the version header, and are
 * then served alone, as servers without sessions serve them. Clients that were issued an id send it; those that never were
 * cannot be told apart by anything but their principal.
 *
 * @source MCP 2025-11-25, transports, Streamable HTTP, session management
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ComityError } from '../../core/words/errors.ts'
import type { Principal } from '../../core/words/principal.ts'
import { encodeError, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts'
import {
  LEGACY_NOTIFICATIONS,
  LEGACY_REVISIONS,
  type LegacyRevision,
  SESSION_HEADER,
} from '../wire/rev-2025-11-25.ts'
import { MCP_HEADERS, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { Reply } from './answer.ts'
import { answerBatch, BATCH_REVISION, encodeBatch, parseBatch, refuseArray } from './batch.ts'
import type { HttpAnswer } from './http-answer.ts'
import type { HttpRefusal } from './http-guard.ts'
import { answerInitialize, answerLegacy, readInitialize, takeNotification } from './legacy.ts'
import { answerOnStream, type ArrivalParts } from './http-stream.ts'
import type { Door } from './options.ts'
import { openSessionNews, type SessionNews } from './session-news.ts'
import { sessionlessTerms } from './session-terms.ts'
import type { Sessionless } from './sessionless.ts'
import { createSession, type HttpSession, type Session, type Sessions } from './sessions.ts'

/** What one HTTP request is answered with. */
export interface Desk {
  readonly door: Door
  readonly sessions: Sessions
  readonly sessionless: Sessionless
  readonly answer: HttpAnswer
  readonly closing: AbortSignal
}

/** Whom a request is from. */
export interface From {
  readonly principal: Principal
  readonly headers: IncomingHttpHeaders
}

type Understood = Exclude<RpcMessage, { kind: 'fault' }>

const SESSION = SESSION_HEADER.toLowerCase()
const VERSION = MCP_HEADERS.protocolVersion.toLowerCase()

/** Answers one message of a session revision. @returns undefined when it was answered on its stream. */
export async function answerLegacyMessage(
  desk: Desk,
  message: Understood,
  from: From,
): Promise<Reply | undefined> {
  const opens = message.kind === 'request' && message.method === 'initialize'
  if (opens && from.headers[SESSION] === undefined) return openSession(desk, message, from)
  const found = await findSession(desk, from)
  if (found.kind === 'refused') return refuseMessage(message, found.refusal)
  if (found.kind === 'none') return answerAlone(desk, message, from, found.revision)
  const { session } = found
  if (message.kind !== 'request') return takeInSession(desk, session, message, from)
  const news = (): SessionNews => beginNews(desk, session, from.principal)
  const tell = (told: Uint8Array): void | Promise<void> =>
    session.streams.own.push(told, { droppable: true })
  return answerOnStream(desk, session, message.id, (arrival) =>
    answerLegacy(desk.door, session, message, { ...from, ...arrival, news, tell }),
  )
}

/** Answers an array of messages; @returns undefined when that was done on a stream. */
export async function answerLegacyBatch(
  desk: Desk,
  body: Uint8Array,
  from: From,
): Promise<Reply | undefined> {
  const found = await findSession(desk, from)
  const revision = found.kind === 'session' ? found.session.terms.revision : versionOf(from)
  if (revision !== BATCH_REVISION || found.kind === 'refused') return refuseBatch(found, body)
  const batch = parseBatch(body, desk.door.limits.maxBatch)
  if (!batch.ok) return { status: 400, body: batch.body }
  const { messages } = batch
  const serve = async (arrival: ArrivalParts, session?: Session): Promise<Reply> => {
    const answers = await answerBatch(messages, {
      answer: async (request) => {
        const own = session ?? aloneSession(desk, from, BATCH_REVISION)
        const run = (): Promise<Reply> =>
          answerLegacy(desk.door, own, request, { ...from, ...arrival })
        return (await (session === undefined ? desk.sessionless.run(own, run) : run())).body
      },
      take: (message) => {
        if (found.kind === 'session') takeMessage(desk, found.session, message, from)
        else if (message.kind === 'notification') desk.sessionless.take(from.principal.id, message)
      },
    })
    return answers.length === 0 ? { status: 202 } : { status: 200, body: encodeBatch(answers) }
  }
  if (found.kind === 'none') return serve(aloneArrival(desk))
  const { session } = found
  const news = (): SessionNews => beginNews(desk, session, from.principal)
  return answerOnStream(desk, session, undefined, (arrival) => serve({ ...arrival, news }, session))
}

/** Ends a session. */
export async function endHttpSession(desk: Desk, from: From): Promise<Reply> {
  const found = await findSession(desk, from)
  if (found.kind === 'session') {
    await desk.sessions.end(found.session)
    return { status: 204 }
  }
  const refusal = found.kind === 'refused' ? found.refusal : MISSING_ID
  return refuseMessage(undefined, refusal)
}

export type Found =
  | { readonly kind: 'session'; readonly session: HttpSession }
  /** None was named, and none was issued to this principal. */
  | { readonly kind: 'none'; readonly revision: LegacyRevision }
  | { readonly kind: 'refused'; readonly refusal: HttpRefusal }

const MISSING_ID: HttpRefusal = {
  status: 400,
  message: `expected ${SESSION_HEADER}, as initialize gave it`,
}

/** The session that a request belongs to. */
export async function findSession(desk: Desk, from: From): Promise<Found> {
  const id = from.headers[SESSION]
  if (typeof id === 'string') {
    const session = await desk.sessions.find(id, from.principal.id)
    if (session !== undefined) return { kind: 'session', session }
    const message = 'no such session: initialize again'
    return { kind: 'refused', refusal: { status: 404, message } }
  }
  const revision = versionOf(from)
  if (revision === undefined) {
    const message = `expected ${MCP_HEADERS.protocolVersion} with its _meta (2026-07-28), or ${SESSION_HEADER} from initialize`
    return { kind: 'refused', refusal: { status: 400, message } }
  }
  const isIssued = await desk.sessions.holds(from.principal.id)
  return isIssued ? { kind: 'refused', refusal: MISSING_ID } : { kind: 'none', revision }
}

/** Tells a session news from now on. */
export function beginNews(desk: Desk, session: HttpSession, principal: Principal): SessionNews {
  const { own } = session.streams
  session.news ??= openSessionNews(desk.door, session, principal, (message, key) =>
    own.push(message, { key, droppable: true }),
  )
  return session.news
}

/** The session revision that the version header names. */
function versionOf({ headers }: From): LegacyRevision | undefined {
  const version = headers[VERSION]
  return LEGACY_REVISIONS.find((known) => typeof version === 'string' && known === version.trim())
}

async function openSession(desk: Desk, request: RpcRequest, from: From): Promise<Reply> {
  const { door, sessions } = desk
  const terms = readInitialize(request)
  if ('status' in terms) return terms
  let session: HttpSession | undefined
  try {
    session = await sessions.open(from.principal.id, terms)
  } catch (fault) {
    if (!(fault instanceof ComityError)) throw fault
    return refuseMessage(request, { status: 503, message: fault.message })
  }
  if (session === undefined) {
    const headers = { 'retry-after': '5' }
    return refuseMessage(request, { status: 503, message: 'all sessions are in use', headers })
  }
  const reply = await answerInitialize(door, request, terms, from.principal)
  return { ...reply, headers: { [SESSION_HEADER]: session.id } }
}

/** One request of a caller without a session. */
async function answerAlone(
  desk: Desk,
  message: Understood,
  from: From,
  revision: LegacyRevision,
): Promise<Reply> {
  if (message.kind === 'notification') desk.sessionless.take(from.principal.id, message)
  // Nothing was asked, so nothing waits for a result.
  if (message.kind !== 'request') return { status: 202 }
  const session = aloneSession(desk, from, revision)
  return desk.sessionless.run(session, () =>
    answerLegacy(desk.door, session, message, { ...from, ...aloneArrival(desk) }),
  )
}

function aloneSession({ door }: Desk, { principal }: From, revision: LegacyRevision): Session {
  return createSession(principal.id, sessionlessTerms(revision), door.limits, door.clock.now())
}

function aloneArrival({ answer, closing }: Desk): ArrivalParts {
  return {
    transport: 'http',
    caller: {
      notify: (message) => answer.notify(message),
      signal: closing,
      gone: answer.closed,
    },
  }
}

/** Takes what a session posts without asking. */
function takeMessage(
  desk: Desk,
  session: HttpSession,
  message: Exclude<Understood, RpcRequest>,
  from: From,
): string | undefined {
  if (message.kind !== 'notification') return session.questions.take(message)
  takeNotification(session.running, message)
  if (message.method === LEGACY_NOTIFICATIONS.initialized) {
    beginNews(desk, session, from.principal)
  }
  return undefined
}

function takeInSession(
  desk: Desk,
  session: HttpSession,
  message: Exclude<Understood, RpcRequest>,
  from: From,
): Reply {
  const fault = takeMessage(desk, session, message, from)
  return fault === undefined
    ? { status: 202 }
    : refuseMessage(message, { status: 400, message: fault })
}

/** A message with neither version header, metadata nor session lacks a header, whichever era it meant. */
function refuseMessage(message: Understood | undefined, refusal: HttpRefusal): Reply {
  const isHeader = refusal.status === 400 && message?.kind !== 'result'
  const code = isHeader ? RPC_ERRORS.headerMismatch : RPC_ERRORS.invalidRequest
  const id = message?.kind === 'request' ? message.id : undefined
  return {
    status: refusal.status,
    body: encodeError(id, { code, message: refusal.message }),
    ...(refusal.headers === undefined ? {} : { headers: refusal.headers }),
  }
}

function refuseBatch(found: Found, body: Uint8Array): Reply {
  if (found.kind === 'refused' && found.refusal.status === 404) {
    return refuseMessage(undefined, found.refusal)
  }
  const { code, message } = refuseArray(body)
  return { status: 400, body: encodeError(undefined, { code, message }) }
}

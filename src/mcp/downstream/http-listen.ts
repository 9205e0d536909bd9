/**
 * GET on the endpoint: a session's own stream, one connection at a time, or a call's stream that its caller comes back to.
 *
 * Without an event id a second connection is refused while one is open, as session servers do; with one the caller says that
 * the connection before is lost to it, and the new one takes over.
 *
 * @source MCP 2025-11-25, transports, Streamable HTTP, listening for messages; resumability and redelivery
 */
import type { Reply } from './answer.ts'
import { refusalReply, refuseListening, type HttpRefusal } from './http-guard.ts'
import { beginNews, findSession, type Desk, type From } from './http-legacy.ts'
import { carry, pollLater } from './http-stream.ts'
import { encodeLostResult, type Resumed } from './session-streams.ts'
import type { HttpSession } from './sessions.ts'

/** @returns undefined once the connection carries a stream. */
export async function listen(desk: Desk, from: From): Promise<Reply | undefined> {
  const refused = refuseListening(from.headers)
  if (refused !== undefined) return refusalReply(refused)
  const found = await findSession(desk, from)
  if (found.kind === 'refused') return refusalReply(found.refusal)
  // The field reads this status as: no such stream here.
  if (found.kind === 'none') return refusalReply(NO_STREAM)
  const { session } = found
  const eventId = from.headers['last-event-id']
  const resumed: Resumed =
    typeof eventId === 'string' && eventId !== ''
      ? session.streams.resume(eventId)
      : { kind: 'own_lost' }
  switch (resumed.kind) {
    case 'unknown':
      return refusalReply({
        status: 400,
        message: 'Last-Event-ID is none of this session: open the stream without it',
      })
    case 'call_lost':
      desk.answer.begin()
      desk.answer.end({ status: 200, body: encodeLostResult(resumed.id) })
      return undefined
    case 'own_lost':
      return listenOwn(desk, session, from)
    case 'stream':
      if (resumed.stream === session.streams.own)
        return listenOwn(desk, session, from, resumed.after)
      carry(desk, session, resumed.stream, resumed.after)
      desk.answer.begin()
      pollLater(desk, session, resumed.stream)
      return undefined
  }
}

/** Without a session there is no stream to listen to. */
export const NO_STREAM: HttpRefusal = {
  status: 405,
  message: 'POST a message; GET opens the stream of a session, and DELETE ends one',
  headers: { allow: 'POST, DELETE' },
}

function listenOwn(
  desk: Desk,
  session: HttpSession,
  from: From,
  after?: number,
): Reply | undefined {
  const { own } = session.streams
  if (after === undefined && own.isAttached()) {
    return refusalReply({ status: 409, message: 'this session has its stream open already' })
  }
  beginNews(desk, session, from.principal)
  carry(desk, session, own, after)
  desk.answer.begin()
  return undefined
}

/**
 * The event streams of one session: its own, for what belongs to no request, and one for each call that is answered as a
 * stream; and how an event id leads back to one of them.
 *
 * An event id names its stream, its number and the request that the stream answers, so that after a restart the caller is
 * told which of its calls lost its answer instead of waiting for it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { encodeError, parseId, type RpcId } from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { EventStream } from './event-stream.ts'
import type { ReplayBudget } from './replay-budget.ts'

/** Where an event id leads. */
export type Resumed =
  | { readonly kind: 'stream'; readonly stream: EventStream; readonly after: number }
  /** It was the session's own, of before a restart: there is a new one. */
  | { readonly kind: 'own_lost' }
  /** A call's, and not kept any more. */
  | { readonly kind: 'call_lost'; readonly id: RpcId }
  | { readonly kind: 'unknown' }

export interface SessionStreams {
  /** For what belongs to no request. */
  readonly own: EventStream
  /** @param requestId left out for a batch. */
  openCall(requestId?: RpcId): EventStream
  /** The call was answered: its stream can be come back to for a while. */
  keep(stream: EventStream): void
  /** Nothing of it was shown. */
  discard(stream: EventStream): void
  resume(eventId: string): Resumed
  /** Some connection carries a stream now. */
  isListening(): boolean
  /** Ends every stream that was shown and drops what is kept. */
  forget(): void
}

/** Longest request id that is told in event ids, in bytes of its JSON text. */
const MAX_NAMED_ID = 128
/** Of an event id's run, so many characters are random and so many tell the session. */
const MARK_CHARACTERS = 8
const EVENT_ID = /^(s|c\d{1,15})-([\w-]{16})\.(\d{1,15})(?:\.([\w-]{1,200}))?$/

/** @param sessionId whose they are: an event id of another session is none here, also after a restart. */
export function createSessionStreams(budget: ReplayBudget, sessionId: string): SessionStreams {
  const mark = createHash('sha256').update(sessionId).digest('base64url').slice(0, MARK_CHARACTERS)
  // Made anew in each process: an id of before a restart must not name a stream of after it.
  const run = randomBytes(6).toString('base64url') + mark
  let count = 0
  const calls = new Map<string, EventStream>()
  const ends = new Map<EventStream, () => void>()
  const own = new EventStream({
    id: `s-${run}`,
    suffix: '',
    budget,
    lostResult: () => new Uint8Array(0),
  })
  const discard = (stream: EventStream): void => {
    calls.delete(stream.id)
    ends.delete(stream)
    stream.forget()
  }
  return {
    own,
    openCall: (requestId) => {
      count += 1
      const stream = new EventStream({
        id: `c${count}-${run}`,
        suffix: suffixOf(requestId),
        budget,
        lostResult: () => encodeLostResult(requestId),
      })
      calls.set(stream.id, stream)
      return stream
    },
    keep: (stream) => {
      if (calls.has(stream.id))
        ends.set(
          stream,
          budget.keepEnded(() => discard(stream)),
        )
    },
    discard,
    resume: (eventId) => {
      const [, name, itsRun, after, named] = EVENT_ID.exec(eventId) ?? []
      if (name === undefined || itsRun?.endsWith(mark) !== true) return { kind: 'unknown' }
      const id = `${name}-${itsRun}`
      if (name === 's' && id !== own.id) return { kind: 'own_lost' }
      const stream = name === 's' ? own : calls.get(id)
      if (stream !== undefined) return { kind: 'stream', stream, after: Number(after) }
      const requestId = named === undefined ? undefined : readNamed(named)
      return requestId === undefined ? { kind: 'unknown' } : { kind: 'call_lost', id: requestId }
    },
    isListening: () =>
      own.isAttached() || [...calls.values()].some((stream) => stream.isAttached()),
    forget: () => {
      for (const end of ends.values()) end()
      for (const stream of [own, ...calls.values()]) {
        // Where nothing of a call was shown yet, a plain answer can still be given.
        if (stream.isKnown()) stream.release()
        discard(stream)
      }
    },
  }
}

/** What stands for an answer that is not there any more: it is not known here how the call went. */
export function encodeLostResult(id: RpcId | undefined): Uint8Array {
  const message =
    'the answer to this request is not kept any more; the request may have run: look at what it would have changed before repeating it'
  return encodeError(id, { code: RPC_ERRORS.internal, message })
}

function suffixOf(id: RpcId | undefined): string {
  if (id === undefined || Buffer.byteLength(id.json) > MAX_NAMED_ID) return ''
  return `.${Buffer.from(id.json).toString('base64url')}`
}

function readNamed(text: string): RpcId | undefined {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64url'))
  const type = bytes[0] === 0x22 ? 'string' : 'number'
  const span = { start: 0, end: bytes.length }
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return parseId(bytes, { key: 'id', keySpan: span, value: span, type })
  } catch {
    return undefined
  }
}

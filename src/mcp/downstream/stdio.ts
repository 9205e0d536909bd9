/**
 * The stdio door: newline-delimited messages, both eras on one pipe, requests answered as they finish.
 *
 * Only protocol goes to the output. The end of input lets running requests answer for a bounded while, then it is over.
 *
 * @source MCP 2026-07-28, transports, stdio; cancellation by `notifications/cancelled` in every revision
 */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { Principal } from '../../core/words/principal.ts'
import {
  encodeError,
  encodeResult,
  idKey,
  parseMessage,
  type RpcMessage,
  type RpcRequest,
} from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import { wholeBody, type Reply } from './answer.ts'
import { answerBatch, BATCH_REVISION, encodeBatch, looksLikeBatch, parseBatch } from './batch.ts'
import { claimsModern } from './era.ts'
import { oneLine } from './http-answer.ts'
import { LEGACY_NOTIFICATIONS } from '../wire/rev-2025-11-25.ts'
import { answerInitialize, answerLegacy, readInitialize, takeNotification } from './legacy.ts'
import { createLineReader } from './lines.ts'
import { answerModern, type Arrival } from './modern.ts'
import { drain } from './drain.ts'
import { createDoor, type Door, type DoorOptions, type DoorPorts } from './options.ts'
import { openSessionNews, type SessionNews } from './session-news.ts'
import { createSession, endSession, type Session } from './sessions.ts'

export interface StdioDoorOptions extends DoorOptions {
  /** On whose behalf everything on this pipe is done. */
  readonly principal: Principal
  readonly input: Readable
  /** Nothing else may write to it. */
  readonly output: Writable
}

export interface StdioDoor {
  /** Resolves when the input ended and everything was answered or given up; the output is left open. */
  readonly done: Promise<void>
  /** Stops reading; `done` resolves once running requests have answered or the drain time passed. */
  close(): void
}

/** One pipe. */
interface Pipe {
  readonly door: Door
  readonly principal: Principal
  readonly write: (message: Uint8Array) => Promise<void>
  /** Requests that still run have to stop. */
  readonly closing: AbortSignal
  /** Nobody reads the output any more. */
  readonly broken: AbortSignal
  /** Running modern requests by id key; legacy ones are the session's. */
  readonly running: Map<string, AbortController>
  session: Session | undefined
  inFlight: number
}

export function serveStdio(ports: DoorPorts, options: StdioDoorOptions): StdioDoor {
  const door = createDoor(ports, options)
  const closing = new AbortController()
  closing.signal.addEventListener('abort', door.parked.shutDown)
  const broken = new AbortController()
  const { input, output } = options
  const pipe: Pipe = {
    door,
    principal: options.principal,
    write: createWriter(output, broken.signal),
    closing: closing.signal,
    broken: broken.signal,
    running: new Map(),
    session: undefined,
    inFlight: 0,
  }
  const pending = new Set<Promise<void>>()
  const take = (work: Promise<void>): void => {
    const guarded = work.catch(door.report).finally(() => pending.delete(guarded))
    pending.add(guarded)
  }
  const tooLong = `a message of more than ${door.limits.maxMessageBytes} bytes is not taken`
  const lines = createLineReader(
    door.limits.maxMessageBytes,
    (line) => take(answerLine(pipe, line)),
    () =>
      take(
        pipe.write(encodeError(undefined, { code: RPC_ERRORS.invalidRequest, message: tooLong })),
      ),
  )
  const ended = new Promise<void>((resolve) => {
    input.on('data', lines.push)
    input.once('end', resolve)
    input.once('close', resolve)
    input.on('error', () => resolve())
    // A reader that is gone: nobody is left to answer.
    output.on('error', () => {
      broken.abort()
      closing.abort('caller_canceled')
      resolve()
    })
  })
  let stopReading: () => void = () => undefined
  const stopped = new Promise<void>((resolve) => {
    stopReading = resolve
  })
  return {
    close: () => stopReading(),
    done: Promise.race([ended, stopped]).then(async () => {
      input.off('data', lines.push)
      lines.end()
      door.leave()
      // Nobody is left to answer questions; calls that wait for one end by that.
      pipe.session?.questions.end()
      const all = (): Promise<unknown> => Promise.all([settled(pending), door.parked.settled()])
      await drain(all, door.limits.drainMs, closing)
      if (pipe.session !== undefined) endSession(pipe.session)
    }),
  }
}

async function answerLine(pipe: Pipe, line: Uint8Array): Promise<void> {
  const batched = pipe.session?.terms.revision === BATCH_REVISION && looksLikeBatch(line)
  if (batched) return answerLines(pipe, line)
  const message = parseMessage(line)
  switch (message.kind) {
    case 'fault':
      return pipe.write(encodeError(message.id, message))
    case 'request':
      return answerRequest(pipe, message, pipe.write)
    case 'notification':
    case 'result':
    case 'error':
      takeMessage(pipe, message)
  }
}

/** Several messages in one line, as 2025-03-26 has them. */
async function answerLines(pipe: Pipe, line: Uint8Array): Promise<void> {
  const batch = parseBatch(line, pipe.door.limits.maxBatch)
  if (!batch.ok) return pipe.write(batch.body)
  const answers = await answerBatch(batch.messages, {
    answer: async (request) => {
      let answer: Uint8Array | undefined
      await answerRequest(pipe, request, async (body) => {
        answer = body
      })
      return answer
    },
    take: (message) => takeMessage(pipe, message),
  })
  if (answers.length > 0) await pipe.write(encodeBatch(answers))
}

/** What has no answer: a notification, or an answer to a question of ours. */
function takeMessage(
  pipe: Pipe,
  message: Exclude<RpcMessage, { kind: 'request' | 'fault' }>,
): void {
  const { session } = pipe
  if (message.kind !== 'notification') {
    session?.questions.take(message)
    return
  }
  takeNotification(pipe.running, message)
  if (session === undefined) return
  takeNotification(session.running, message)
  if (message.method === LEGACY_NOTIFICATIONS.initialized) beginNews(pipe, session)
}

function beginNews(pipe: Pipe, session: Session): SessionNews {
  session.news ??= openSessionNews(pipe.door, session, pipe.principal, pipe.write)
  return session.news
}

/** @param deliver takes the answer, if one is due. */
async function answerRequest(
  pipe: Pipe,
  request: RpcRequest,
  deliver: (body: Uint8Array) => Promise<void>,
): Promise<void> {
  if (pipe.inFlight >= pipe.door.limits.maxInFlight) {
    const message = `more than ${pipe.door.limits.maxInFlight} requests are running: wait for some to end`
    return deliver(encodeError(request.id, { code: RPC_ERRORS.internal, message }))
  }
  pipe.inFlight += 1
  try {
    const reply = claimsModern(request)
      ? await answerModernOnPipe(pipe, request)
      : await answerLegacyOnPipe(pipe, request)
    // A withdrawn request is not answered any more. @source cancellation, behaviour requirements
    const body = reply.withdrawn === true ? undefined : wholeBody(reply)
    if (body !== undefined) await deliver(body)
  } finally {
    pipe.inFlight -= 1
  }
}

async function answerModernOnPipe(pipe: Pipe, request: RpcRequest): Promise<Reply> {
  const key = idKey(request.id)
  const withdrawn = new AbortController()
  if (pipe.running.has(key)) {
    return refusal(request, RPC_ERRORS.invalidRequest, 'a request with this id is still running')
  }
  pipe.running.set(key, withdrawn)
  try {
    const signal = AbortSignal.any([withdrawn.signal, pipe.closing])
    const reply = await answerModern(pipe.door, request, arrivalOf(pipe, signal))
    return { ...reply, withdrawn: withdrawn.signal.aborted }
  } finally {
    pipe.running.delete(key)
  }
}

async function answerLegacyOnPipe(pipe: Pipe, request: RpcRequest): Promise<Reply> {
  const { session } = pipe
  if (session !== undefined) {
    return answerLegacy(pipe.door, session, request, {
      ...arrivalOf(pipe, pipe.closing),
      sendQuestion: pipe.write,
      tell: pipe.write,
      news: () => beginNews(pipe, session),
    })
  }
  if (request.method === 'ping') {
    return { status: 200, body: encodeResult(request.id, encodeJson({})) }
  }
  if (request.method !== 'initialize') {
    const text = 'expected initialize first, or 2026-07-28 metadata in params._meta'
    return refusal(request, RPC_ERRORS.invalidParams, text)
  }
  const terms = readInitialize(request)
  if ('status' in terms) return terms
  const { door, principal } = pipe
  pipe.session = createSession(principal.id, terms, door.limits, door.clock.now())
  return answerInitialize(door, request, terms, principal)
}

function arrivalOf(pipe: Pipe, signal: AbortSignal): Arrival {
  const caller = { notify: pipe.write, signal, gone: pipe.broken }
  return { principal: pipe.principal, transport: 'stdio', caller }
}

function createWriter(
  output: Writable,
  broken: AbortSignal,
): (message: Uint8Array) => Promise<void> {
  let full: Promise<unknown> | undefined
  return async (message) => {
    if (broken.aborted || output.destroyed) return
    const flows = output.write(Buffer.concat([oneLine(message), Buffer.from('\n')]))
    if (flows) return
    // One wait is shared by all writers of the pipe; it ends with the pipe too.
    full ??= once(output, 'drain', { signal: broken })
      .catch(() => undefined)
      .finally(() => {
        full = undefined
      })
    await full
  }
}

async function settled(pending: ReadonlySet<Promise<void>>): Promise<void> {
  while (pending.size > 0) await Promise.allSettled(pending)
}

function refusal(request: RpcRequest, code: number, message: string): Reply {
  return { status: 400, body: encodeError(request.id, { code, message }) }
}

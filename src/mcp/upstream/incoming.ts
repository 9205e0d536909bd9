/**
 * Requests of one server to us, as session revisions have them: each is answered exactly once, unless
 * the server takes it back. What it asks is for others to answer; here it is bounded and kept track of.
 *
 * @source MCP 2025-11-25, basic, requests; utilities, ping and cancellation.
 */
import {
  encodeError,
  encodeResult,
  idKey,
  parseId,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
} from '../wire/json-rpc.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, scanObject } from '../wire/spans.ts'
import type { AnswerRequest, ReplyToServer } from './link.ts'

/** Open at once on one link. What asks beyond that is refused, so that it cannot fill our memory. */
const MOST_OPEN = 64
/** Pings and refusals on their way at once. A server that takes none of them gets no more. */
const MOST_ON_THE_WAY = 64
/** Largest request, bytes. */
const MOST_BYTES = 4 * 1024 * 1024

export interface Incoming {
  /** Takes a request. @param answer left out: only a ping is answered. @param reply sends the complete message. */
  take(request: RpcRequest, answer: AnswerRequest | undefined, reply: Reply): void
  /** Tells what is wrong with a request that cannot be read. */
  refuse(id: RpcId, what: string, reply: Reply): void
  /** `notifications/cancelled`: the server takes one of its own requests back. It is not answered then. */
  withdraw(notification: RpcNotification): void
  /** The link ended: all are withdrawn. */
  end(): void
}

/** Sends one message to the server. What it throws is dropped: a server that cannot be told will notice. */
export type Reply = (message: Uint8Array) => void | Promise<void>

/** Makes the keeper of one link's incoming requests. */
export function createIncoming(): Incoming {
  const open = new Map<string, AbortController>()
  let onTheWay = 0

  const sendBounded = (reply: Reply, message: Uint8Array): void => {
    if (onTheWay >= MOST_ON_THE_WAY) return
    const sent = send(reply, message)
    if (sent === undefined) return
    onTheWay += 1
    void sent.finally(() => (onTheWay -= 1))
  }

  const run = async (request: RpcRequest, answer: AnswerRequest, reply: Reply): Promise<void> => {
    const key = idKey(request.id)
    const withdrawn = new AbortController()
    open.set(key, withdrawn)
    let message: Uint8Array
    try {
      message = encodeReply(request.id, await answer(request, withdrawn.signal))
    } catch {
      message = refusal(request.id, RPC_ERRORS.internal, `${request.method} could not be answered`)
    } finally {
      if (open.get(key) === withdrawn) open.delete(key)
    }
    if (!withdrawn.signal.aborted) await send(reply, message)
  }

  return {
    take(request, answer, reply) {
      const { id, method, bytes } = request
      if (method === 'ping') return sendBounded(reply, encodeResult(id, encodeJson({})))
      if (answer === undefined) return sendBounded(reply, notDeclared(id, method))
      const problem = problemOf(open, id, bytes.length)
      if (problem !== undefined) {
        return sendBounded(reply, refusal(id, RPC_ERRORS.invalidRequest, problem))
      }
      void run(request, answer, reply)
    },
    refuse: (id, what, reply) => sendBounded(reply, refusal(id, RPC_ERRORS.invalidRequest, what)),
    withdraw(notification) {
      const id = requestIdOf(notification)
      if (id !== undefined) open.get(id)?.abort()
    },
    end() {
      for (const withdrawn of open.values()) withdrawn.abort()
    },
  }
}

function problemOf(
  open: ReadonlyMap<string, unknown>,
  id: RpcId,
  size: number,
): string | undefined {
  if (open.has(idKey(id))) return 'a request with this id is open already'
  if (open.size >= MOST_OPEN) return `more than ${MOST_OPEN} requests of this server are open`
  if (size > MOST_BYTES) return `the request is larger than ${MOST_BYTES} bytes`
  return undefined
}

function encodeReply(id: RpcId, reply: ReplyToServer): Uint8Array {
  return 'result' in reply ? encodeResult(id, reply.result) : encodeError(id, reply.error)
}

function notDeclared(id: RpcId, method: string): Uint8Array {
  const message = `${method.slice(0, 100)} is not supported: this client declared no such capability`
  return refusal(id, RPC_ERRORS.methodNotFound, message)
}

function refusal(id: RpcId, code: number, message: string): Uint8Array {
  return encodeError(id, { code, message })
}

/** @returns undefined when it has left already. A link that broke says so by its end. */
function send(reply: Reply, message: Uint8Array): Promise<void> | undefined {
  try {
    const sent = reply(message)
    return sent instanceof Promise ? sent.catch(() => undefined) : undefined
  } catch {
    return undefined
  }
}

function requestIdOf({ bytes, params }: RpcNotification): string | undefined {
  if (params === undefined) return undefined
  try {
    const id = findMember(scanObject(bytes, params, { validated: true }), 'requestId')
    const parsed = id === undefined ? undefined : parseId(bytes, id)
    return parsed === undefined ? undefined : idKey(parsed)
  } catch (error) {
    if (error instanceof JsonFault) return undefined
    throw error
  }
}

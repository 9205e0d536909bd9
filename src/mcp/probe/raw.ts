/**
 * What the probe sends and what comes back, whatever the transport: also requests that no client would send.
 *
 * Nothing here is thrown for what a server does; silence and nonsense are replies like any other.
 */
import { isObject } from '../../core/words/is-object.ts'
import { objectOf } from '../upstream/facts.ts'
import type { RpcError, RpcMessage, RpcResult } from '../wire/json-rpc.ts'
import { MODERN_META, MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { readValue } from '../wire/spans.ts'

/** A request to be sent, sound or odd. */
export interface RawRequest {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
  /** HTTP only: over what the transport would send; undefined leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Resolves with this notification too, instead of with an answer alone. */
  readonly until?: string
  /** How long to wait, milliseconds; bounded by what is left of the whole. */
  readonly ms?: number
}

/** What came with it, whatever it was. */
interface Came {
  /** HTTP only. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Notifications that came before, bounded. */
  readonly told: readonly Told[]
}

export interface Told {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

export type Reply =
  | (Came & { readonly kind: 'result'; readonly result: Readonly<Record<string, unknown>> })
  | (Came & {
      readonly kind: 'error'
      readonly code: number
      readonly message: string
      readonly data: unknown
      /** It repeats the id of the request. */
      readonly hasId: boolean
    })
  /** The notification of `until`. */
  | (Came & { readonly kind: 'told' })
  /** @property silent nothing came in time. @property unreachable nothing could be sent. @property broken what came is no message. */
  | (Came & {
      readonly kind: 'nothing'
      readonly why: string
      readonly silent?: boolean
      readonly unreachable?: boolean
      readonly broken?: boolean
    })

/** One way to one server on which raw requests are sent. */
export interface RawWire {
  readonly transport: 'stdio' | 'http'
  /** Never rejects. */
  ask(request: RawRequest): Promise<Reply>
  /** Told once, when a request finds that nobody is there any more. */
  whenGone(listener: (method: string, why: string) => void): void
  /** A notification. @returns the status; undefined on stdio, and where none came. */
  tell(
    method: string,
    params?: Readonly<Record<string, unknown>>,
    headers?: RawRequest['headers'],
  ): Promise<number | undefined>
}

/** Asks within one revision: what has to be around a request is added. */
export interface Asking {
  readonly revision: string
  readonly era: 'modern' | 'legacy'
  readonly transport: 'stdio' | 'http' | 'http+sse'
  ask(
    method: string,
    params?: Readonly<Record<string, unknown>>,
    more?: Omit<RawRequest, 'method' | 'params'>,
  ): Promise<Reply>
}

export type ClientInfo = Readonly<{ name: string; version: string }>

/** `_meta` of a request of 2026-07-28, changed as it is to be odd. */
export function modernMeta(
  clientInfo: ClientInfo | undefined,
  protocolVersion: string = MODERN_REVISION,
): Readonly<Record<string, unknown>> {
  return {
    [MODERN_META.protocolVersion]: protocolVersion,
    [MODERN_META.clientCapabilities]: {},
    ...(clientInfo === undefined ? {} : { [MODERN_META.clientInfo]: clientInfo }),
  }
}

/** Asks as a client of 2026-07-28 does. */
export function askModern(wire: RawWire, clientInfo: ClientInfo): Asking {
  return {
    revision: MODERN_REVISION,
    era: 'modern',
    transport: wire.transport,
    ask: (method, params = {}, more = {}) =>
      wire.ask({ ...more, method, params: { ...params, _meta: modernMeta(clientInfo) } }),
  }
}

/** An answer as a reply. @param id of the request. */
export function replyOf(message: RpcResult | RpcError, id: number, came: Came): Reply {
  if (message.kind === 'error') {
    return {
      ...came,
      kind: 'error',
      code: message.code,
      message: message.message.slice(0, 300),
      data: message.data === undefined ? undefined : readValue(message.bytes, message.data),
      hasId: message.id?.json === String(id),
    }
  }
  if (message.id.json !== String(id)) {
    const why = `an answer with the id ${message.id.json.slice(0, 40)} to the request ${id}`
    return { ...came, kind: 'nothing', why, broken: true }
  }
  const result = readValue(message.bytes, message.result.value)
  if (isObject(result)) return { ...came, kind: 'result', result }
  return { ...came, kind: 'nothing', why: 'a result that is no object', broken: true }
}

/** A notification, read. */
export function toldOf(message: Extract<RpcMessage, { kind: 'notification' }>): Told {
  const params = message.params === undefined ? {} : readValue(message.bytes, message.params)
  return { method: message.method.slice(0, 200), params: objectOf(params) }
}

/** A reply in a few words. */
export function sayReply(reply: Reply): string {
  const status = reply.status === undefined ? '' : `HTTP ${reply.status}, `
  switch (reply.kind) {
    case 'result':
      return `${status}a result`
    case 'error':
      return `${status}error ${reply.code}: ${reply.message}`
    case 'told':
      return `${status}a notification`
    case 'nothing':
      return reply.why
  }
}

/**
 * A link: one way to one MCP server on which requests are answered. Stdio and HTTP implement it.
 *
 * A link knows JSON-RPC and its transport. What a method means, and which outcome a broken link is,
 * its users decide; a link only says whether bytes may have left.
 */
import type { BeginLogin } from './credentials.ts'
import type { DeprecatedFeature } from './deprecated.ts'
import {
  createId,
  encodeRequest,
  type RpcError,
  type RpcNotification,
  type RpcRequest,
  type RpcResult,
} from '../wire/json-rpc.ts'
import type { CancelSignal } from './cancel.ts'

/** What the two sides agreed on; set once the era is known. */
export interface Agreement {
  readonly era: 'modern' | 'legacy'
  readonly revision: string
}

export interface LinkRequest {
  /** From `nextId`. */
  readonly id: number
  readonly method: string
  /** The complete params object. */
  readonly params?: Uint8Array
  /** The whole message, where it was made at once; `params` are left out then. */
  readonly message?: Uint8Array
  /** Value of `Mcp-Name`, where the method has one. HTTP only. */
  readonly name?: string
  /** `Mcp-Param-*` headers. HTTP only. */
  readonly paramHeaders?: Readonly<Record<string, string>> | undefined
  /** Revision to speak before there is an agreement: the probe's. */
  readonly revision?: string
  /** Housekeeping may be sent again to where 307 or 308 points within the origin, once; a call never is. HTTP only. */
  readonly followRedirect: boolean
  /** Aborting cancels the request in the link's own form and rejects it. */
  readonly signal: CancelSignal
  /** Called once, just before bytes may leave. */
  readonly onSend?: () => void
  /**
   * Progress and log notifications of this request, in order. A returned promise asks to read no
   * further until it settles; it is heeded where that holds back this request alone.
   */
  readonly onNotification?: (notification: RpcNotification) => void | Promise<void>
  /** Whose it is: of several of one principal the most recent gets the logs that name none. Left out: nobody's. */
  readonly caller?: { readonly principal: string; readonly wantsLogs: boolean }
  /** Answers requests of the server that came within this one: on its event stream. On stdio nothing tells whose they are. */
  readonly onRequest?: AnswerRequest | undefined
  /** Told of the answer that came after this request was aborted. Links that close what they abort never hear one. */
  readonly onLate?: ((answer: RpcResult | RpcError) => void) | undefined
}

/** The bytes of its message. */
export function messageOf({ message, id, method, params }: LinkRequest): Uint8Array {
  return message ?? encodeRequest(createId(id), method, params)
}

/**
 * Answers a request of the server (session revisions: elicitation, sampling, roots). Never rejects.
 *
 * @param withdrawn aborted when the server takes its request back, and when the link ends.
 */
export type AnswerRequest = (request: RpcRequest, withdrawn: AbortSignal) => Promise<ReplyToServer>

/** The complete result, or the error to answer with. */
export type ReplyToServer =
  | { readonly result: Uint8Array }
  | { readonly error: { readonly code: number; readonly message: string } }

export interface Link {
  readonly transport: 'stdio' | 'http'
  /** Ids are the link's own; also used as progress token. */
  nextId(): number
  /** @throws LinkFailure when there is no answer. */
  request(request: LinkRequest): Promise<RpcResult | RpcError>
  /** @throws LinkFailure */
  notify(method: string, params?: Uint8Array): Promise<void>
  agree(agreement: Agreement): void
  /**
   * Opens what the transport needs for messages that belong to no request: called once, after the
   * agreement. Left out where they come of themselves.
   *
   * @param onGap told when such messages may have been missed.
   * @param expected the server declares something that would come so. Where nothing is, only a
   *   session is a reason to ask. Default false.
   */
  hear?(onGap: () => void, expected?: boolean): void
  /** Whether messages that belong to no request would arrive now. Left out: always. */
  hears?(): boolean
  /** What of the transport is deprecated or gone, as far as it is in use here. Left out: nothing. */
  uses?(): readonly DeprecatedFeature[]
  /** Resolves when this link can serve no more (process ended, session lost), with the reason. */
  readonly ended: Promise<LinkFailure>
  /** What people should see when something is wrong: masked, bounded. */
  complaints(): string
  counts(): LinkCounts
  close(): Promise<void>
}

/** What a server did that the protocol does not know; shown, never fatal. */
export interface LinkCounts {
  /** Lines on stdout that are no JSON-RPC. */
  readonly noise: number
  /** Answers to nothing we asked, and second answers. */
  readonly stray: number
  /** Answers that gave our number back as a string. */
  readonly nonConforming: number
  /** First pieces of noise, at most ten of 200 characters. */
  readonly noiseSample: readonly string[]
}

export type LinkFailureReason =
  /** No connection, no such command: nothing was sent. */
  | 'unreachable'
  /** 401 or 403. */
  | 'unauthorized'
  /** Refused by the transport before the message was looked at (405, 413, 415, 429, 307, 308). */
  | 'refused'
  /** The server reads too slowly for what waits already: nothing was sent. */
  | 'congested'
  /** The connection or the process ended. */
  | 'broken'
  /** The answer is no answer: too large, not JSON-RPC, wrong id. */
  | 'unreadable'
  /** An HTTP status without a message that could have come before or after the work. */
  | 'unclear'
  /** The request's signal. */
  | 'aborted'

/** A request without an answer. The message is for people and holds no secret. */
export class LinkFailure extends Error {
  override readonly name = 'LinkFailure'
  readonly reason: LinkFailureReason
  /** Whether bytes of the request may have left. */
  readonly sent: boolean
  /** HTTP status, when there was one. */
  readonly status: number | undefined
  /** The server said that it does not know the session: a new one may be served. It may have run all the same. */
  readonly sessionLost: boolean
  /** Begins the login that is missing, for callers that can open an address. */
  readonly login: BeginLogin | undefined

  constructor(
    reason: LinkFailureReason,
    sent: boolean,
    message: string,
    options: {
      readonly status?: number
      readonly sessionLost?: boolean
      readonly login?: BeginLogin | undefined
      readonly cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.reason = reason
    this.sent = sent
    this.status = options.status
    this.sessionLost = options.sessionLost === true
    this.login = options.login
  }
}

/** Largest message that is read, bytes. */
export const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/** What a link tells its owner outside of requests: `list_changed` and the like. */
export type LinkListener = (notification: RpcNotification) => void

/** What every link takes. */
export interface LinkOptions {
  /** Largest message that is read, bytes. Default 64 MiB. */
  readonly maxBytes?: number
  /** Answers requests of the server that name no request of ours: all on stdio, those of the GET stream over HTTP. */
  readonly onStray?: AnswerRequest
}

/**
 * An HTTP link to a server of which is not known how it is reached: a server that refuses the POST of
 * `initialize` as HTTP does is tried as one of 2024-11-05.
 *
 * @source MCP 2025-11-25, transports, backwards compatibility.
 */
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import type { DeprecatedFeature } from './deprecated.ts'
import type { HttpEndpoint } from './http-headers.ts'
import { createHttpLink, type HttpOptions } from './http.ts'
import { LinkFailure, type Agreement, type Link } from './link.ts'
import type { LinkListener, LinkRequest } from './link.ts'
import { createSseLink } from './sse-2024.ts'

/** Statuses by which a server that only has an event stream there refuses a POST. */
const NO_POST = new Set([400, 404, 405, 406, 415, 501])

/** Makes the link; nothing is sent yet. @throws TypeError for a url that is none. */
export function createAnyHttpLink(
  endpoint: HttpEndpoint,
  listener: LinkListener,
  options: HttpOptions = {},
): Link {
  const first = createHttpLink(endpoint, listener, options)
  const older = (): ReturnType<typeof createSseLink> => createSseLink(endpoint, listener, options)
  return new EitherLink(first, older)
}

class EitherLink implements Link {
  readonly transport = 'http'
  readonly ended: Promise<LinkFailure>
  readonly #older: () => ReturnType<typeof createSseLink>
  #link: Link
  #end: (failure: LinkFailure) => void = () => {}

  constructor(first: Link, older: () => ReturnType<typeof createSseLink>) {
    this.#link = first
    this.#older = older
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#followEnd(first)
  }

  nextId = (): number => this.#link.nextId()
  agree = (agreement: Agreement): void => this.#link.agree(agreement)
  hear = (onGap: () => void, expected?: boolean): void => this.#link.hear?.(onGap, expected)
  uses = (): readonly DeprecatedFeature[] => this.#link.uses?.() ?? []
  hears = (): boolean => this.#link.hears?.() ?? true
  notify = (method: string, params?: Uint8Array): Promise<void> => this.#link.notify(method, params)
  complaints = (): string => this.#link.complaints()
  counts = (): ReturnType<Link['counts']> => this.#link.counts()
  close = (): Promise<void> => this.#link.close()

  request(request: LinkRequest): Promise<RpcResult | RpcError> {
    if (request.method !== 'initialize') return this.#link.request(request)
    return this.#initialize(request)
  }

  async #initialize(request: LinkRequest): Promise<RpcResult | RpcError> {
    try {
      return await this.#link.request(request)
    } catch (error) {
      if (!(error instanceof LinkFailure) || !NO_POST.has(error.status ?? 0)) throw error
      return await this.#retry(request, error)
    }
  }

  async #retry(request: LinkRequest, refusal: LinkFailure): Promise<RpcResult | RpcError> {
    const older = this.#older()
    try {
      await older.open(request.signal)
    } catch {
      await older.close()
      // It is no such server either: what the first one said is of more use.
      throw refusal
    }
    const before = this.#link
    this.#link = older
    this.#followEnd(older)
    await before.close()
    return older.request({ ...request, id: older.nextId() })
  }

  #followEnd(link: Link): void {
    void link.ended.then((failure) => {
      if (this.#link === link) this.#end(failure)
    })
  }
}

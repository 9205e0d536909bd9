/**
 * An MCP server as core's Peer: one send per call, its answer as an outcome, and what it offers.
 *
 * Knows no eras beyond `PeerFacts`; how bytes travel is the link's, how a server is reached and
 * reached again is the connection's, what an answer means is outcome.ts's.
 */
import type { Peer, PeerListing, PeerReport } from '../../core/ports/peer.ts'
import type { Exchange, StopReason, Upstream, WireFacts } from '../../core/ports/upstream.ts'
import type { Clock, Digest } from '../../core/ports/world.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { refused, type Outcome } from '../../core/words/outcome.ts'
import { paramHeaderValues } from '../wire/headers.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { encodeJson } from '../wire/spans.ts'
import { abortable } from './abortable.ts'
import { connect, type Connected } from './connect.ts'
import { createConnection, type Connection } from './connection.ts'
import { createEventQueue, type EventQueue } from './events.ts'
import { createHttpLink, type HttpEndpoint } from './http.ts'
import { LinkFailure, type Agreement, type Link, type LinkCounts } from './link.ts'
import { listServer, type ServerListing } from './list.ts'
import { createOffer, type Offer, type OfferOptions } from './offer.ts'
import { judgeAnswer, judgeFailure } from './outcome.ts'
import { buildRequest, methodOf, type CallMethod } from './request.ts'
import { createStdioLink } from './stdio.ts'
import { startServer, type ServerCommand } from './supervise.ts'

/** One server, by the operator's name. */
export interface McpPeerConfig {
  readonly name: string
  /** The operator believes its hints. */
  readonly trusted: boolean
  /** Locks the protocol revision; probed when left out. */
  readonly revision?: string
  readonly server:
    | ({ readonly transport: 'stdio' } & ServerCommand)
    | ({ readonly transport: 'http' } & HttpEndpoint)
}

export interface McpPeerDeps {
  readonly clock: Clock
  readonly digest: Digest
  /** What stdio servers' minimal environment is chosen from. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Who we say we are. */
  readonly clientInfo: { readonly name: string; readonly version: string }
}

export interface McpPeerOptions extends OfferOptions {
  /** Largest line, answer or event, bytes. Default 64 MiB. */
  readonly maxBytes?: number
  /** Silence to the probe before an older server is assumed, milliseconds. Default 5000. */
  readonly probeMs?: number
  /** Start and agreement together, milliseconds. Default 60000. */
  readonly startMs?: number
  /** All lists together, milliseconds. Default 60000. */
  readonly listMs?: number
}

/** A Peer that also tells what its server did against the protocol. */
export interface McpPeer extends Peer {
  /** Undefined while not connected. */
  counts(): PeerCounts | undefined
}

export interface PeerCounts extends LinkCounts {
  /** Progress and logs that their callers were too slow to take, since this process began. */
  readonly droppedEvents: number
}

const DEFAULT_LIST_MS = 60_000
/** Several `list_changed` in a burst are one change, milliseconds. */
const CHANGE_QUIET_MS = 100
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Makes the peer; starts and sends nothing until it is first used. @throws TypeError for a bad url. */
export function createMcpPeer(
  config: McpPeerConfig,
  deps: McpPeerDeps,
  options: McpPeerOptions = {},
): McpPeer {
  if (config.server.transport === 'http') new URL(config.server.url)
  return new ServerPeer(config, deps, options)
}

class ServerPeer implements McpPeer {
  readonly name: string
  readonly protocol = 'mcp'
  readonly endpoint: string
  readonly trusted: boolean
  readonly upstream: Upstream = {
    call: (call, exchange, dispatched) => this.#call(call, exchange, dispatched),
  }
  readonly #config: McpPeerConfig
  readonly #deps: McpPeerDeps
  readonly #options: McpPeerOptions
  readonly #clientInfo: Uint8Array
  readonly #connection: Connection
  readonly #offer: Offer
  readonly #listeners = new Set<() => void>()
  #lastFacts: Connected['facts'] | undefined
  #quiet: NodeJS.Timeout | undefined
  #droppedEvents = 0

  constructor(config: McpPeerConfig, deps: McpPeerDeps, options: McpPeerOptions) {
    this.name = config.name
    this.trusted = config.trusted
    this.endpoint = deps.digest.text(endpointText(config))
    this.#config = config
    this.#deps = deps
    this.#options = options
    this.#clientInfo = encodeJson(deps.clientInfo)
    this.#connection = createConnection({
      connect: (signal, remembered) => this.#connect(signal, remembered),
      monotonic: () => performance.now(),
      onReconnected: () => this.#changed(),
    })
    this.#offer = createOffer(
      {
        peer: this.name,
        list: (connected) => this.#list(connected),
        monotonic: () => performance.now(),
        onDifferent: () => this.#tellChanged(),
      },
      options,
    )
  }

  async listing(): Promise<PeerListing> {
    const connected = await this.#connection.get()
    const { listing, freshForMs } = await this.#offer.listing(connected)
    const { instructions } = connected.facts
    return {
      capabilities: listing.capabilities,
      leftOut: listing.leftOut,
      ...(instructions === undefined ? {} : { instructions }),
      ...(freshForMs === undefined ? {} : { freshForMs }),
    }
  }

  report(): PeerReport {
    const { transport } = this.#config.server
    const problem = this.#connection.problem()
    const facts = this.#connection.current()?.facts ?? this.#lastFacts
    const said = {
      transport,
      ...(facts === undefined ? {} : { revision: facts.revision }),
      ...(facts?.callsItself === undefined ? {} : { callsItself: facts.callsItself }),
    }
    if (this.#connection.current() !== undefined) return { state: 'ready', ...said }
    if (problem === undefined) return { state: 'starting', ...said }
    return { state: 'failed', ...said, detail: problem }
  }

  counts(): PeerCounts | undefined {
    const counts = this.#connection.current()?.link.counts()
    return counts === undefined ? undefined : { ...counts, droppedEvents: this.#droppedEvents }
  }

  printed(): string {
    return this.#connection.current()?.link.complaints() ?? ''
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    clearTimeout(this.#quiet)
    this.#listeners.clear()
    await this.#connection.close()
  }

  async #connect(signal: AbortSignal, remembered: Agreement | undefined): Promise<Connected> {
    const { revision } = this.#config
    const { probeMs, startMs } = this.#options
    const connected = await connect(
      () => this.#openLink(),
      {
        clientInfo: this.#clientInfo,
        ...(revision === undefined ? {} : { revision }),
        ...(remembered === undefined ? {} : { remembered }),
        ...(probeMs === undefined ? {} : { probeMs }),
        ...(startMs === undefined ? {} : { startMs }),
      },
      signal,
    )
    this.#lastFacts = connected.facts
    return connected
  }

  async #openLink(): Promise<Link> {
    const { server } = this.#config
    const { maxBytes } = this.#options
    const options = maxBytes === undefined ? {} : { maxBytes }
    const listener = ({ method }: { readonly method: string }): void => {
      if (!/^notifications\/(?:tools|prompts|resources)\/list_changed$/.test(method)) return
      this.#offer.outdate()
      this.#changed()
    }
    if (server.transport === 'http') return createHttpLink(server, listener, options)
    return createStdioLink(await startServer(server, this.#deps.environment), listener, options)
  }

  #list(connected: Connected): Promise<ServerListing> {
    const signal = AbortSignal.timeout(this.#options.listMs ?? DEFAULT_LIST_MS)
    const { digest } = this.#deps
    return listServer(connected, { peer: this.name, digest, clientInfo: this.#clientInfo }, signal)
  }

  #changed(): void {
    if (this.#quiet !== undefined) return
    this.#quiet = setTimeout(() => this.#tellChanged(), CHANGE_QUIET_MS)
    this.#quiet.unref()
  }

  #tellChanged(): void {
    clearTimeout(this.#quiet)
    this.#quiet = undefined
    for (const listener of this.#listeners) listener()
  }

  async #call(
    call: OutboundCall,
    exchange: Exchange,
    dispatched: (facts: WireFacts) => void,
  ): Promise<Outcome> {
    const method = methodOf(call.operation)
    if (method === undefined) {
      const what = `${this.name} is an MCP server, which has no way to ${call.operation}`
      return refused('validation', 'unsupported', what)
    }
    const stop = watchStop(exchange, call.deadlineAt - this.#deps.clock.now())
    const events = createEventQueue(exchange, () => (this.#droppedEvents += 1))
    try {
      return await this.#send(call, method, exchange, events, stop.signal, dispatched)
    } catch (error) {
      if (error instanceof LinkFailure) {
        return judgeFailure(error, { peer: this.name, act: isAct(call) }, stop.reason())
      }
      if (error instanceof JsonFault) {
        return refused('validation', 'bad_arguments', `not sent to ${this.name}: ${error.message}`)
      }
      throw error
    } finally {
      await events.close(stop.signal)
      stop.release()
    }
  }

  async #send(
    call: OutboundCall,
    method: CallMethod,
    exchange: Exchange,
    events: EventQueue,
    signal: AbortSignal,
    dispatched: (facts: WireFacts) => void,
  ): Promise<Outcome> {
    for (let attempt = 1; ; attempt += 1) {
      const connected = await abortable(this.#connection.get(), signal)
      try {
        const refusal = await this.#offer.refusal(connected, call, signal)
        if (refusal !== undefined) return refusal
        return await this.#sendOn(connected, call, method, exchange, events, signal, dispatched)
      } catch (error) {
        // The link ended between its choice and the send: nothing left, so a fresh one may be tried.
        const unsent = error instanceof LinkFailure && error.reason === 'broken' && !error.sent
        if (!unsent || attempt > 1) throw error
      }
    }
  }

  async #sendOn(
    { link, facts }: Connected,
    call: OutboundCall,
    method: CallMethod,
    exchange: Exchange,
    events: EventQueue,
    signal: AbortSignal,
    dispatched: (facts: WireFacts) => void,
  ): Promise<Outcome> {
    const id = link.nextId()
    const { can } = exchange
    const { params, ours } = buildRequest(call, method, facts, can, this.#clientInfo, id)
    const annotated = this.#offer.paramHeaders(call.route.capability)
    const answer = await link.request({
      id,
      method: method.method,
      params,
      name: call.route.capability,
      followRedirect: false,
      ...(annotated === undefined || method.method !== 'tools/call'
        ? {}
        : { paramHeaders: paramHeaderValues(annotated, call.arguments.value()) }),
      signal,
      onSend: () =>
        dispatched({
          wireId: String(id),
          revision: facts.revision,
          ours,
          theirs: facts.capabilities,
        }),
      onNotification: (notification) => events.push(notification, facts.revision),
    })
    return judgeAnswer(answer, { peer: this.name, facts, can, act: isAct(call) })
  }
}

/** Whether it may have effects, as far as the peer's own word is believed. */
function isAct({ operation, route }: OutboundCall): boolean {
  if (operation === 'read' || operation === 'prompt') return false
  return !(route.trusted && route.hints.readOnly === true)
}

/** Bound to what would be run or reached, not to secrets: pins survive a new token. */
function endpointText({ server }: McpPeerConfig): string {
  if (server.transport === 'http') return `http ${server.url}`
  const { command, args, cwd } = server
  return `stdio ${JSON.stringify([command, ...args])}${cwd === undefined ? '' : ` in ${cwd}`}`
}

interface Stop {
  readonly signal: AbortSignal
  reason(): StopReason | undefined
  release(): void
}

/** The caller's signal and this attempt's deadline as one. */
function watchStop(exchange: Exchange, leftMs: number): Stop {
  const controller = new AbortController()
  let late = false
  const abort = (): void => controller.abort()
  const timer = setTimeout(
    () => {
      late = true
      abort()
    },
    Math.max(0, Math.min(leftMs, LONGEST_TIMER_MS)),
  )
  if (exchange.signal.aborted) abort()
  exchange.signal.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    reason: () => exchange.stopReason() ?? (late ? 'deadline' : undefined),
    release: () => {
      clearTimeout(timer)
      exchange.signal.removeEventListener('abort', abort)
    },
  }
}

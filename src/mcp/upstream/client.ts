/**
 * An MCP server as core's Peer: one send per call, its answer as an outcome, and what it offers.
 *
 * Knows no eras beyond `PeerFacts`; how bytes travel is the link's, how a server is reached and
 * reached again is the connection's, what an answer means is outcome.ts's.
 */
import type {
  Peer,
  PeerCounts,
  PeerListing,
  PeerQuery,
  PeerReport,
  QueryAnswer,
} from '../../core/ports/peer.ts'
import type { DeprecatedUse } from '../../core/ports/migration.ts'
import type { EraVerdicts } from '../../core/ports/era-verdicts.ts'
import type { Exchange, Upstream, WireFacts, Work } from '../../core/ports/upstream.ts'
import type { Clock, Digest } from '../../core/ports/world.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { refused, type Outcome } from '../../core/words/outcome.ts'
import { LOCAL } from '../../core/words/principal.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { encodeJson } from '../wire/spans.ts'
import { abortable } from './abortable.ts'
import type { CancelSignal } from './cancel.ts'
import { createChangePace } from './change-pace.ts'
import type { Connected } from './connect.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { beginLogin } from './begin-login.ts'
import type { Credentials, LoginAddress } from './credentials.ts'
import { DeprecatedUses } from './deprecated.ts'
import { endpointText } from './endpoint-text.ts'
import { createEra, type Era } from './era.ts'
import { featuresOf } from './features.ts'
import { onSession } from './heal.ts'
import type { HttpEndpoint } from './http-headers.ts'
import { createInstance, type Instance, type InstanceDeps } from './instance.ts'
import { createLazyWork } from './lazy-work.ts'
import { createInstances, type Instances } from './instances.ts'
import { LinkFailure, type Link, type LinkListener, type LinkOptions } from './link.ts'
import type { AnswerRequest } from './link.ts'
import type { MayAsk } from './asks.ts'
import { listServer, type ServerListing } from './list.ts'
import { type CapabilityLock, mayAsk } from './lock.ts'
import type { OfferOptions } from './offer.ts'
import { judgeFailure, unclear } from './outcome.ts'
import { askQuery } from './query.ts'
import { methodOf } from './request.ts'
import { PeerCall, sendCall, type SendWorld } from './send-call.ts'
import type { Session } from './session.ts'
import { createStdioLink } from './stdio.ts'
import { type CallLimits, CallStop } from './stop.ts'
import type { Starts } from './starts.ts'
import { startServer, type ServerCommand, type ServerProcess } from './supervise.ts'

/** One server, by the operator's name. */
export interface McpPeerConfig {
  readonly name: string
  /** The operator believes its hints. */
  readonly trusted: boolean
  /** Locks the protocol revision; probed when left out. */
  readonly revision?: string
  /** Locks what it offers and what it may ask. */
  readonly capabilities?: CapabilityLock
  /** It keeps no state of its callers: one process or session serves all. Default: one for each principal. */
  readonly stateless?: boolean
  readonly server:
    | ({ readonly transport: 'stdio' } & ServerCommand)
    /** Of any revision: a server of 2024-11-05, which has a transport of its own, is found out about. */
    | ({
        readonly transport: 'http'
        /** What its messages bear, beside the configured headers. */
        readonly credentials?: Credentials
      } & HttpEndpoint)
}

export interface McpPeerDeps {
  readonly clock: Clock
  readonly digest: Digest
  /** What stdio servers' minimal environment is chosen from. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Who we say we are. */
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** Where it is kept which era an endpoint speaks. Left out: for this process alone. */
  readonly verdicts?: EraVerdicts
  /** How many servers start at once, shared with the other peers. Left out: as they come. */
  readonly starts?: Starts
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
  /** Processes or sessions of single principals, beside the shared one. Default 16. */
  readonly mostOwn?: number
  /** How long one of those is kept without calls, milliseconds. Default 600000. */
  readonly idleMs?: number
  /** How long a call may take, beside its own deadline. Default: as long as that. */
  readonly limits?: CallLimits
}

/** A Peer that also tells what its server did against the protocol. */
export type McpPeer = Peer &
  Required<Pick<Peer, 'counts' | 'deprecated' | 'printed' | 'query' | 'restart' | 'watch'>> & {
    /** What it declared of itself; undefined while it is not connected. */
    declared(): Readonly<Record<string, unknown>> | undefined
    /** Somebody logged in or out: what it offers is looked at again where that was refused before. */
    readonly loginChanged: () => void
  }

const DEFAULT_LIST_MS = 60_000
const DEFAULT_MOST_OWN = 16
const DEFAULT_IDLE_MS = 600_000
const NO_LIMITS: CallLimits = {}

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
    call: (call, exchange, dispatched, late) => this.#call(call, exchange, dispatched, late),
    work: createLazyWork(() => this.#makeWork()),
  }
  readonly #config: McpPeerConfig
  readonly #deps: McpPeerDeps
  readonly #options: McpPeerOptions
  readonly #world: SendWorld
  readonly #clientInfo: Uint8Array
  readonly #may: MayAsk
  readonly #deadlines = new Deadlines()
  readonly #uses: DeprecatedUses
  readonly #era: Era
  readonly #instances: Instances
  readonly #listeners = new Set<() => void>()
  readonly #pace = createChangePace(() => performance.now())
  #lastFacts: Connected['facts'] | undefined
  #quiet: NodeJS.Timeout | undefined
  #droppedEvents = 0
  /** The last list could be read. */
  #listed = false
  #closed = false

  constructor(config: McpPeerConfig, deps: McpPeerDeps, options: McpPeerOptions) {
    this.name = config.name
    this.trusted = config.trusted
    this.endpoint = deps.digest.text(endpointText(config.server))
    this.#config = config
    this.#deps = deps
    this.#options = options
    this.#era = createEra(this.endpoint, deps.clock, deps.verdicts)
    this.#uses = new DeprecatedUses(() => deps.clock.now())
    this.#world = {
      peer: this.name,
      deprecated: this.#uses,
      onOtherRevision: (session, sure) => this.#renew(session, sure),
      onOtherOffer: () => this.#changed(),
      onDropped: () => void (this.#droppedEvents += 1),
    }
    this.#clientInfo = encodeJson(deps.clientInfo)
    this.#may = mayAsk(config.capabilities ?? {})
    const { mostOwn: most = DEFAULT_MOST_OWN, idleMs = DEFAULT_IDLE_MS } = options
    const make = (principal?: string): Instance => createInstance(this.#instanceDeps(principal))
    this.#instances = createInstances(this.name, make, { most, idleMs })
  }

  async listing(): Promise<PeerListing> {
    const { connection, offer } = this.#instances.shared
    this.#listed = false
    const { listing, freshForMs, facts } = await onSession(connection, async (session) => {
      const offered = await offer.listing(session)
      return { ...offered, facts: session.facts }
    })
    this.#lastFacts = facts
    this.#listed = true
    const { instructions } = facts
    return {
      features: featuresOf(facts.capabilities),
      capabilities: listing.capabilities,
      leftOut: listing.leftOut,
      ...(instructions === undefined ? {} : { instructions }),
      ...(freshForMs === undefined ? {} : { freshForMs }),
    }
  }

  report(): PeerReport {
    const { transport } = this.#config.server
    const { connection } = this.#instances.shared
    const problem = connection.problem()
    const facts = connection.current()?.facts ?? this.#lastFacts
    const said = {
      transport,
      ...(facts === undefined ? {} : { revision: facts.revision }),
      ...(facts?.callsItself === undefined ? {} : { callsItself: facts.callsItself }),
    }
    if (connection.current() !== undefined) return { state: 'ready', ...said }
    if (problem === undefined) return { state: 'starting', ...said }
    return { state: 'failed', ...said, detail: problem }
  }

  counts(): PeerCounts | undefined {
    const all = this.#sessions().map(({ link }) => link.counts())
    if (all.length === 0) return undefined
    const sum = (of: (counts: (typeof all)[number]) => number): number =>
      all.reduce((total, counts) => total + of(counts), 0)
    return {
      noise: sum(({ noise }) => noise),
      stray: sum(({ stray }) => stray),
      nonConforming: sum(({ nonConforming }) => nonConforming),
      noiseSample: all.flatMap(({ noiseSample }) => noiseSample).slice(0, 10),
      droppedEvents: this.#droppedEvents,
    }
  }

  printed(): string {
    const all = this.#sessions().map(({ link }) => link.complaints())
    return all.filter((text) => text !== '').join('\n')
  }

  deprecated(): readonly DeprecatedUse[] {
    return this.#uses.list()
  }

  declared(): Readonly<Record<string, unknown>> | undefined {
    return this.#instances.shared.connection.current()?.facts.capabilities
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async query(query: PeerQuery, signal: AbortSignal): Promise<QueryAnswer> {
    const world = { peer: this.name, clientInfo: this.#clientInfo }
    const asked = onSession(this.#instances.shared.connection, (session) =>
      askQuery(session, query, world, signal),
    )
    return abortable(asked, signal)
  }

  watch(uri: string, listener: (uri: string) => void): () => void {
    return this.#instances.shared.notices.watch(uri, listener)
  }

  readonly loginChanged = (): void => {
    // What is served is not disturbed by another's login.
    if (!this.#listed || this.#instances.shared.connection.current() === undefined) this.#changed()
  }

  async restart(): Promise<void> {
    await this.#instances.drop()
    await this.#instances.shared.connection.restart()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#quiet)
    this.#listeners.clear()
    await this.#instances.close()
  }

  #sessions(): readonly Session[] {
    return this.#instances.all().flatMap(({ connection }) => connection.current() ?? [])
  }

  /** @param principal whose it is; left out: the shared one, whose lists are those that the peer shows. */
  #instanceDeps(principal: string | undefined): InstanceDeps {
    const { revision, capabilities = {} } = this.#config
    const { probeMs, startMs } = this.#options
    return {
      peer: this.name,
      openLink: (listener, onStray) => this.#openLink(listener, onStray, principal),
      connect: {
        clientInfo: this.#clientInfo,
        era: this.#era,
        ...(revision === undefined ? {} : { revision }),
        ...(probeMs === undefined ? {} : { probeMs }),
        ...(startMs === undefined ? {} : { startMs }),
      },
      may: this.#may,
      lock: capabilities,
      offer: this.#options,
      list: (connected) => this.#list(connected),
      onChanged: () => principal === undefined && this.#changed(),
      onDifferent: () => this.#tellChanged(),
      deprecated: this.#uses,
      // Nothing else is of use to anybody here: what is not relayed is counted.
      onMessage: ({ method }) => {
        this.#droppedEvents += 1
        if (method === 'notifications/message') this.#uses.note('logging', 'outside of calls')
      },
    }
  }

  async #openLink(
    listener: LinkListener,
    onStray: AnswerRequest,
    principal: string | undefined,
  ): Promise<Link> {
    const { server } = this.#config
    const { maxBytes } = this.#options
    const options: LinkOptions = { onStray, ...(maxBytes === undefined ? {} : { maxBytes }) }
    if (server.transport === 'http') {
      // Whoever has only servers of their own loads nothing of HTTP.
      const { createAnyHttpLink } = await import('./any-http.ts')
      const whose = principal === undefined ? {} : { principal }
      const { credentials } = server
      const bears = credentials === undefined ? {} : { credentials, ...whose }
      return createAnyHttpLink(server, listener, { ...options, ...bears })
    }
    const start = (): Promise<ServerProcess> => {
      if (this.#closed) throw new LinkFailure('unreachable', false, 'it was closed')
      return startServer(server, this.#deps.environment)
    }
    const attach = (process: ServerProcess): Link => createStdioLink(process, listener, options)
    const { starts } = this.#deps
    return starts === undefined ? attach(await start()) : starts.begin(start, attach)
  }

  #list(connected: Connected): Promise<ServerListing> {
    const signal = AbortSignal.timeout(this.#options.listMs ?? DEFAULT_LIST_MS)
    const { digest } = this.#deps
    const world = { peer: this.name, digest, clientInfo: this.#clientInfo }
    return listServer(connected, world, signal)
  }

  #changed(): void {
    if (this.#quiet !== undefined) return
    this.#quiet = setTimeout(() => this.#tellChanged(), this.#pace())
    this.#quiet.unref()
  }

  #tellChanged(): void {
    clearTimeout(this.#quiet)
    this.#quiet = undefined
    for (const listener of this.#listeners) listener()
  }

  /** What the server agreed on is not so any more: it is probed again before the next call. */
  #renew(session: Session, sure: boolean): void {
    if (sure) this.#era.broke()
    for (const instance of this.#instances.all()) {
      if (instance.connection.current() === session) instance.renew(session)
    }
  }

  async #call(
    call: OutboundCall,
    exchange: Exchange,
    dispatched: (facts: WireFacts) => void,
    late: ((outcome: Outcome) => void) | undefined,
  ): Promise<Outcome> {
    const method = methodOf(call.operation)
    if (method === undefined) {
      const what = `${this.name} is an MCP server, which has no way to ${call.operation}`
      return refused('validation', 'unsupported', what)
    }
    const left = call.deadlineAt - this.#deps.clock.now()
    const stop = new CallStop(exchange, left, this.#options.limits ?? NO_LIMITS, this.#deadlines)
    const deps = { call, method, exchange, stop, dispatched, late }
    const sending = new PeerCall(this.#world, deps)
    try {
      return await this.#place(sending)
    } catch (error) {
      return this.#judge(error, sending, await beginLogin(error, exchange, stop))
    } finally {
      const told = sending.end()
      if (told !== undefined) await told
      stop.release()
    }
  }

  #judge(error: unknown, { act, stop, wasSent }: PeerCall, address?: LoginAddress): Outcome {
    if (error instanceof LinkFailure) {
      const asked = { peer: this.name, act }
      return judgeFailure(error, asked, stop.reason(), stop.limit(), address)
    }
    if (!(error instanceof JsonFault)) throw error
    // The one that wrote what cannot be read is the caller until bytes left, and the server from then on.
    if (wasSent) return unclear(this.name, error.message, act)
    return refused('validation', 'bad_arguments', `not sent to ${this.name}: ${error.message}`)
  }

  /** On the process or session that serves this principal. */
  #place(call: PeerCall): Promise<Outcome> {
    const shared = this.#isShared(call)
    if (shared === true) return this.#send(this.#instances.shared, call)
    return this.#placeOwn(call, shared)
  }

  async #placeOwn(call: PeerCall, shared: boolean | Promise<boolean>): Promise<Outcome> {
    if (await shared) return this.#send(this.#instances.shared, call)
    const { instance, release } = this.#instances.take(call.principal)
    try {
      return await this.#send(instance, call)
    } finally {
      release()
    }
  }

  #isShared({ principal, stop }: Placing): boolean | Promise<boolean> {
    if (this.#config.stateless === true || principal === LOCAL.id) return true
    if (this.#config.server.transport === 'stdio') return false
    // Over HTTP the modern era keeps no state between requests; a session is somebody's.
    const { connection } = this.#instances.shared
    const current = connection.current()
    if (current !== undefined) return current.facts.era === 'modern'
    return abortable(connection.get(), stop).then(
      ({ facts }) => facts.era === 'modern',
      (error: unknown) => {
        // Whoever is logged in needs nobody else to be.
        if (error instanceof LinkFailure && error.reason === 'unauthorized') return false
        throw error
      },
    )
  }

  /** Loaded for the first task: most servers have none. */
  async #makeWork(): Promise<Work> {
    const { createAnyTaskWork } = await import('./any-task-work.ts')
    return createAnyTaskWork({
      peer: this.name,
      clientInfo: this.#clientInfo,
      on: (principal, signal, run) => this.#onOf(principal, signal, run),
      hold: (principal, signal) => this.#hold(principal, signal),
    })
  }

  async #hold(principal: string, stop: AbortSignal): Promise<() => void> {
    if (await this.#isShared({ principal, stop })) return () => {}
    return this.#instances.take(principal).release
  }

  /** On the connection that serves this principal. */
  async #onOf<T>(
    principal: string,
    signal: AbortSignal,
    run: (session: Session) => Promise<T>,
  ): Promise<T> {
    if (await this.#isShared({ principal, stop: signal }))
      return onSession(this.#instances.shared.connection, run, { signal })
    const { instance, release } = this.#instances.take(principal)
    try {
      return await onSession(instance.connection, run, { signal })
    } finally {
      release()
    }
  }

  #send({ connection, offer }: Instance, call: PeerCall): Promise<Outcome> {
    const { act, stop } = call
    const send = (session: Session): Promise<Outcome> => sendCall(this.#world, session, offer, call)
    return onSession(connection, send, { signal: stop, act })
  }
}

/** Whose work is to be placed, and what ends the waiting for a place. */
interface Placing {
  readonly principal: string
  readonly stop: CancelSignal
}

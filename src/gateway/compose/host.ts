/**
 * The host: every part made once and tied together. The only file that knows them all.
 *
 * It is given the store (one owner; what an earlier one left open is recovered), starts the peers in the background and
 * the workers that follow tasks. What serves callers is built on top: http, stdio, the control socket.
 */
import { createDispatch, type DispatchPorts } from '../../core/dispatch.ts'
import { createBegin } from '../../core/long-call.ts'
import type { Dispatch } from '../../core/ports/doors.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { Upstream } from '../../core/ports/upstream.ts'
import { type Resume, createResume } from '../../core/resume.ts'
import type { Capability } from '../../core/words/capability.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { translator } from '../../bridge/translator.ts'
import type { A2aDoorPorts } from '../../a2a/downstream/server.ts'
import type { DoorLimits, DoorOptions, DoorPorts } from '../../mcp/downstream/options.ts'
import type { Store } from '../../store/store.ts'
import { type ControlSocket, serveSocket } from '../admin/serve-socket.ts'
import { createAskingCalls } from '../admin/asking.ts'
import { createCallVerbs } from '../admin/calls.ts'
import { createTaskVerbs } from '../admin/long-work.ts'
import type { Operator } from '../admin/operator.ts'
import type { Owner, OwnerOptions } from '../admin/owner.ts'
import { createProcessVerbs } from '../admin/process.ts'
import { createRecordVerbs } from '../admin/record.ts'
import type { HostParts } from '../admin/parts.ts'
import { createArgumentCheck } from '../checks/argument-check.ts'
import { checkResults, createResultCheck } from '../checks/result-check.ts'
import type { Config } from '../config/config.ts'
import { createMigrationVerbs } from '../migration/verbs.ts'
import { createPolicy } from '../policy/policy.ts'
import { serveHostOverStdio } from '../serve-stdio.ts'
import type { IdleParts } from '../shared/end-when-idle.ts'
import { countActs, createOwnProcess, type OwnProcess } from '../shared/own-process.ts'
import type { Arrival, PipeDesk } from '../shared/pipe-desk.ts'
import { type Workers, startWorkers } from '../workers.ts'
import { type OpenCatalogue, createCatalogue } from './catalogue.ts'
import { endRunning } from './end-running.ts'
import { type HostJudge, createJudge } from './judge.ts'
import { type CanonicalCard, createListingKeeper } from './kept-listing.ts'
import { DEFAULT_CALL_MS, openPeers } from './peers.ts'
import { createPinStates } from './pin-states.ts'
import { publishedPorts } from './published.ts'
import { loadSealingKey } from './sealing-key.ts'
import { packageVersion } from './version.ts'
import { createIds, digest, onAbort, systemClock } from './world.ts'

export interface HostOptions {
  readonly config: Config
  /** Where the control socket lies; undefined serves none. */
  readonly socket?: string
  /** What this process is; a `command` waits, when it closes, for what others do through it. Default: a library's. */
  readonly owner?: OwnerOptions
  /** Asked of each stdio host that would be served through this process. Default: serve it. */
  readonly arrive?: (owner: Owner) => Arrival
  /** Which peers are started: all, none, or these. */
  readonly peers: 'all' | 'none' | readonly string[]
  /** What stdio servers' minimal environment is chosen from. */
  readonly parentEnvironment: Readonly<Record<string, string | undefined>>
  /** Judges of the embedding program, by agent. */
  readonly judges?: Readonly<Record<string, HostJudge>>
  /** Bounds of the MCP door that differ from its defaults. */
  readonly doorLimits?: Partial<DoorLimits>
  /** Told of faults that no caller waits for. Default: nobody. */
  readonly onFault?: (what: string, error: unknown) => void
}

export interface Host {
  readonly config: Config
  readonly operator: Operator
  readonly doorPorts: DoorPorts
  readonly doorOptions: DoorOptions
  readonly publishedPorts: A2aDoorPorts
  /** How many calls an earlier run left without an answer on record. */
  readonly recovered: number
  /** Stdio hosts that are served through this process. */
  readonly pipes: PipeDesk
  /** What this process may be needed for. */
  readonly busy: IdleParts
  /** Every peer is ready or has failed once. */
  isReady(): Promise<boolean>
  /** Says where callers reach this host. */
  announce(url: string): void
  /** Ends followers (nothing remote is canceled), peers and the store, in that order. */
  close(): Promise<void>
}

/** A list waits this long for slow peers once one is ready, and so long for the first. */
const PATIENCE = { patienceMs: 1_000, firstMs: 15_000 }
const WORKERS_EVERY_MS = 2_000
const LIBRARY = { kind: 'library' } as const

/**
 * A host on a store that was opened for it, and that it closes: also when it cannot be assembled.
 *
 * @throws ComityError `config_invalid`.
 */
export async function assembleHost(
  options: HostOptions,
  store: Store,
  onFault: (what: string, error: unknown) => void,
): Promise<Host> {
  const closers: (() => Promise<void>)[] = [() => store.close()]
  try {
    return await assemble(options, store, closers, onFault)
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

async function assemble(
  options: HostOptions,
  store: Store,
  closers: (() => Promise<void>)[],
  onFault: (what: string, error: unknown) => void,
): Promise<Host> {
  const { config } = options
  const version = packageVersion()
  const opened = await openPeers(config, options.peers, {
    clock: systemClock,
    digest,
    environment: options.parentEnvironment,
    version,
    verdicts: store.verdicts,
    revisions: store.revisions,
    onNote: (what) => onFault('note', what),
  })
  closers.push(() => opened.close())
  const policy = createPolicy(config.policy)
  const catalogue = await openCatalogue(config, store, opened.peers, policy)
  closers.push(() => Promise.resolve(catalogue.close()))
  const core = createCore(options, store, catalogue, opened.peers, policy)
  const acts = countActs(core)
  const own = ownProcess(options, store, acts.running)
  const workers =
    options.peers === 'none' ? undefined : watchTasks(core.resume, store, opened.peers, onFault)
  closers.push(() => endRunning(core.running).then(() => workers?.close()))

  const asking = createAskingCalls(onFault)
  let servedAt: string | undefined
  const parts: HostParts = {
    config,
    version,
    clock: systemClock,
    store,
    catalogue,
    policy,
    peers: opened.peers,
    lockedAt: (name, revision) => opened.at(name, revision),
    ...core,
    ...acts,
    asking,
    owner: own.owner,
    agentRoute: (peer) => agentRoute(catalogue, peer),
    onFault,
    url: () => servedAt,
  }
  const operator = createOperator(parts)
  const socket = await openSocket(options, operator, own.pipes, onFault)
  if (socket !== undefined)
    closers.push(() => (own.owner.kind === 'command' ? socket.drain() : socket.close()))
  closers.push(() => asking.leave())
  closers.push(() => Promise.resolve(own.pipes.close()))
  const announce = (url?: string): void => {
    servedAt = url
    store.announce({
      ...(options.socket === undefined ? {} : { socket: options.socket }),
      ...(url === undefined ? {} : { url }),
    })
  }
  announce()
  const host: Host = {
    config,
    operator,
    doorPorts: doorPorts(parts),
    doorOptions: doorOptions(options, store, version, onFault),
    publishedPorts: publishedPorts(parts),
    recovered: store.recovered,
    pipes: own.pipes,
    busy: busyParts(own, acts.running, () => socket?.serving() ?? 0, store),
    isReady: async () => (await catalogue.view(0)).every((view) => view.error !== 'still starting'),
    announce,
    close: () => closeAll(closers),
  }
  own.pipes.begin((pipe) => serveHostOverStdio(host, pipe, pipe))
  return host
}

function createOperator(parts: HostParts): Operator {
  return {
    ...createCallVerbs(parts),
    ...createTaskVerbs(parts),
    ...createRecordVerbs(parts),
    ...createProcessVerbs(parts),
    ...createMigrationVerbs(parts),
  }
}

/** Whoever has no agents loads nothing of theirs. */
async function cardForm({ agents }: Config): Promise<CanonicalCard | undefined> {
  return agents.length === 0 ? undefined : (await import('../../a2a/wire/card.ts')).canonicalCard
}

async function openCatalogue(
  config: Config,
  store: Store,
  peers: readonly Peer[],
  policy: HostParts['policy'],
): Promise<OpenCatalogue> {
  const canonicalCard = await cardForm(config)
  return createCatalogue(
    {
      peers: peers,
      naming: { peers: config.peers, names: config.names, digest: (text) => digest.text(text) },
      policy,
      sight: (peer, capability) => sightPin(store, peer, capability),
      pinState: createPinStates(store.pins),
      keeper: createListingKeeper(store.listings, digest, canonicalCard),
      strict: config.lists === 'strict',
    },
    PATIENCE,
  )
}

function ownProcess(
  { config, socket, owner = LIBRARY, arrive }: HostOptions,
  store: Store,
  acts: () => number,
): OwnProcess {
  return createOwnProcess(owner, {
    configFile: config.file,
    ...(socket === undefined ? {} : { socket }),
    since: systemClock.now(),
    recovered: store.recovered,
    acts,
    ...(arrive === undefined ? {} : { arrive }),
  })
}

function doorOptions(
  { config, doorLimits }: HostOptions,
  store: Store,
  version: string,
  onFault: (what: string, error: unknown) => void,
): DoorOptions {
  return {
    serverInfo: { name: 'comity', version, title: 'comity' },
    sealingKey: loadSealingKey(config.store),
    clock: systemClock,
    sessions: store.sessions,
    report: (fault) => onFault('door', fault),
    limits: { callMs: longestCall(config), ...taskLimits(config), ...doorLimits },
  }
}

function taskLimits({ tasks }: Config): Partial<DoorLimits> {
  const { afterMs, ttlMs, pollMs, limitMs } = tasks
  return {
    ...(afterMs === undefined ? {} : { taskAfterMs: afterMs }),
    ...(ttlMs === undefined ? {} : { taskTtlMs: ttlMs }),
    ...(pollMs === undefined ? {} : { taskPollMs: pollMs }),
    ...(limitMs === undefined ? {} : { taskMs: limitMs }),
  }
}

/** The door's limit is for all: it lets the most patient peer have its time, and each peer ends its own calls earlier. */
function longestCall({ mcpServers }: Config): number {
  return Math.max(...mcpServers.map(({ timeouts }) => timeouts.callMs ?? 0), DEFAULT_CALL_MS)
}

function busyParts(
  { pipes }: OwnProcess,
  acts: () => number,
  serving: () => number,
  { approvals, tasks }: Store,
): IdleParts {
  const monotonic = (): number => performance.now()
  return { pipes: pipes.count, acts, serving, approvals, tasks, monotonic }
}

type Core = Pick<HostParts, 'dispatchThrough' | 'begin' | 'dispatch' | 'delegate' | 'resume'> &
  Pick<DispatchPorts, 'running'>

function createCore(
  { config, judges, onFault }: HostOptions,
  store: Store,
  catalogue: OpenCatalogue,
  peers: readonly Peer[],
  policy: HostParts['policy'],
): Core {
  const checkResult = createResultCheck((route) => catalogue.definitionOf(route)?.definition)
  const upstreams = new Map(
    peers.map(({ name, protocol, upstream }) => [
      name,
      protocol === 'mcp' ? checkResults(upstream, checkResult) : upstream,
    ]),
  )
  const hostJudge = (peer: string): HostJudge | undefined => judges?.[peer]
  const ports: DispatchPorts = {
    policy,
    pins: { state: createPinStates(store.pins) },
    argumentCheck: createArgumentCheck((route) => catalogue.definitionOf(route)?.definition),
    approvals: {
      find: (asked) => store.approvals.find(asked),
      request: (asked, ttlMs) => store.approvals.request(asked, ttlMs),
      describe: (route) => describe(catalogue.definitionOf(route)),
      // Whoever decides may stand in any folder.
      commandFor: (id) => `comity approve ${id} -c ${shellWord(config.file)}`,
    },
    digest,
    upstreamOf: (peer) => upstreams.get(peer),
    ledger: store.ledger,
    tasks: store.tasks,
    translator,
    clock: systemClock,
    ids: createIds(systemClock),
    onAbort,
    acceptanceOf: (peer) => config.acceptance.get(peer),
    onFault: onFault ?? (() => undefined),
    running: new Map(),
    isJudged: (task) => task.acceptance !== undefined || hostJudge(task.peer) !== undefined,
  }
  const { dispatch, delegate } = createDispatch(ports)
  const routeTo = async (capability: string): Promise<Route | undefined> => {
    const slash = capability.indexOf('/')
    return (await catalogue.find(capability.slice(0, slash), capability.slice(slash + 1), ['tool']))
      ?.route
  }
  const judge = createJudge({ dispatch, routeTo, hostJudge, now: () => systemClock.now() })
  const resume = createResume({
    ...ports,
    judge,
    routeOf: (task) => routeOfTask(catalogue, task),
    deadline: (afterMs) => AbortSignal.timeout(afterMs),
    jsonText: jsonTextOf,
  })
  const dispatchThrough = (upstream: Upstream): Dispatch =>
    createDispatch({ ...ports, upstreamOf: () => checkResults(upstream, checkResult) }).dispatch
  const { running } = ports
  return { dispatch, delegate, dispatchThrough, begin: createBegin(ports), resume, running }
}

function watchTasks(
  resume: Resume,
  store: Store,
  peers: readonly Peer[],
  onFault: (what: string, error: unknown) => void,
): Workers {
  const byName = new Map(peers.map((peer) => [peer.name, peer]))
  const workers = startWorkers(
    { tasks: store.tasks, resume, upstreamOf: (peer) => byName.get(peer)?.upstream, onFault },
    { owner: `worker ${process.pid}`, everyMs: WORKERS_EVERY_MS },
  )
  const stop = store.onTasksChanged(() => workers.poke())
  return {
    poke: workers.poke,
    close: async () => {
      stop()
      await workers.close()
    },
  }
}

function doorPorts(parts: HostParts): DoorPorts {
  const { catalogue, dispatch, delegate, begin, resume, store, config } = parts
  const artifact = async (taskId: string, artifactId: string, principal: Principal) => {
    const task = await store.tasks.load(taskId, principal)
    return task === undefined
      ? undefined
      : (await store.tasks.artifacts(taskId)).find((one) => one.artifactId === artifactId)
  }
  return {
    catalogue,
    dispatch,
    delegation: {
      delegate,
      begin,
      desk: resume,
      artifact,
      isListed: () => config.agents.length > 0,
    },
  }
}

async function agentRoute(catalogue: OpenCatalogue, peer: string): Promise<Route | undefined> {
  return (await catalogue.find(peer, peer, ['agent']))?.route
}

/** By what was called there: the agent, or a tool of an MCP server. */
async function routeOfTask(
  catalogue: OpenCatalogue,
  { peer, capability }: TaskRecord,
): Promise<Route | undefined> {
  const agent = await agentRoute(catalogue, peer)
  if (agent !== undefined || capability === undefined) return agent
  return (await catalogue.find(peer, capability, ['tool']))?.route
}

function sightPin(store: Store, peer: Peer, capability: Capability): Promise<unknown> {
  return store.pins.sight({
    peer: peer.name,
    endpoint: peer.endpoint,
    kind: capability.kind,
    name: capability.name,
    fingerprint: capability.fingerprint,
    definition: Buffer.from(capability.definition.bytes).toString('utf8'),
  })
}

function shellWord(text: string): string {
  return /^[\w./+@%:=-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The peer's own description, for the person who approves. */
function describe(capability: Capability | undefined): string {
  const value = capability?.definition.value()
  const said =
    typeof value === 'object' && value !== null && 'description' in value
      ? value.description
      : undefined
  return typeof said === 'string' ? said : 'none given'
}

async function openSocket(
  options: HostOptions,
  operator: Operator,
  pipes: PipeDesk,
  onFault: (what: string, error: unknown) => void,
): Promise<ControlSocket | undefined> {
  if (options.socket === undefined) return undefined
  const at = { path: options.socket, userId: process.getuid?.() ?? 0 }
  const { kind } = options.owner ?? LIBRARY
  const owner = { peers: options.peers, passing: kind === 'command', kind, pid: process.pid }
  const report = (error: unknown): void => onFault('control socket', error)
  return serveSocket(at, { owner, operator, pipes, onFault: report })
}

/** Last made, first closed; one that fails does not keep the others open. */
async function closeAll(closers: (() => Promise<void>)[]): Promise<void> {
  const failed: unknown[] = []
  for (const close of closers.splice(0).reverse())
    await close().catch((error: unknown) => failed.push(error))
  if (failed.length > 0) throw new ComityError('internal', 'closing failed', { cause: failed[0] })
}

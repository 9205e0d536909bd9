/** The configured peers as core's Peer port: MCP servers and A2A agents side by side, neither a layer of the other. */
import type { EraVerdicts } from '../../core/ports/era-verdicts.ts'
import type { RevisionDecisions } from '../../core/ports/migration.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { Clock, Digest } from '../../core/ports/world.ts'
import type { createA2aPeer } from '../../a2a/upstream/peer.ts'
import { createMcpPeer, type McpPeer } from '../../mcp/upstream/client.ts'
import type { Credentials } from '../../mcp/upstream/credentials.ts'
import { createStarts, type Starts } from '../../mcp/upstream/starts.ts'
import type { AgentConfig, Config, McpServerConfig } from '../config/config.ts'
import { maskFor, maskPeer } from './mask-peer.ts'
import { openPeerLogins, type PeerLogin, type PeerLogins } from './peer-logins.ts'

/** How long a call may take at a server that has no `timeouts: { call }` of its own, milliseconds. */
export const DEFAULT_CALL_MS = 600_000

/** A server at one revision, for looking at it. */
export interface LockedPeer extends Pick<McpPeer, 'declared'> {
  readonly peer: Peer
}

export interface PeerWorld {
  readonly clock: Clock
  readonly digest: Digest
  /** What stdio servers' minimal environment is chosen from. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  /** Where it is kept which era a server speaks. Left out: for this process alone. */
  readonly verdicts?: EraVerdicts
  /** What was decided about revisions. Left out: nothing. */
  readonly revisions?: Pick<RevisionDecisions, 'find'>
  onNote(what: string): void
}

export interface OpenPeers {
  /** In the order of the configuration; disabled ones are not among them. */
  readonly peers: readonly Peer[]
  /**
   * A configured MCP server once more, locked to a revision, with connections of its own; nothing is started before it is used. Its
   * user closes it. Undefined for names that are no server's.
   */
  at(name: string, revision: string): LockedPeer | undefined
  close(): Promise<void>
}

/**
 * Makes the peers; nothing is started before it is used.
 *
 * @param wanted which of them: all, none, or by name.
 */
export async function openPeers(
  config: Config,
  wanted: 'all' | 'none' | readonly string[],
  world: PeerWorld,
): Promise<OpenPeers> {
  const takes = (name: string): boolean =>
    wanted === 'all' || (wanted !== 'none' && wanted.includes(name))
  const starts = createStarts()
  const made = new Map<string, Peer>()
  const servers = config.mcpServers.filter(({ name, disabled }) => !disabled && takes(name))
  const logins = await openLogins(config, servers, world)
  const stop: (() => void)[] = []
  for (const server of servers) {
    const login = loginOf(server, logins)
    const make = (revision?: string): McpPeer =>
      mcpPeer(server, revision, world, starts, login?.credentials)
    const peer =
      server.canary === undefined ? make(server.revision) : await between(server, make, world)
    made.set(server.name, maskPeer(peer, server, login?.mask))
    if (login !== undefined && logins !== undefined) stop.push(logins.watch(peer.loginChanged))
  }
  const agents = config.agents.filter(({ name, disabled }) => !disabled && takes(name))
  // Whoever has no agents loads nothing of theirs.
  const opened = agents.length === 0 ? undefined : await openAgents(agents, world)
  for (const [name, peer] of opened?.made ?? []) made.set(name, peer)
  const peers = config.peers.flatMap((name) => made.get(name) ?? [])
  return {
    peers,
    at(name, revision) {
      const server = config.mcpServers.find((one) => one.name === name)
      if (server === undefined) return undefined
      const login = loginOf(server, logins)
      const peer = mcpPeer(server, revision, world, starts, login?.credentials)
      return { peer: maskPeer(peer, server, login?.mask), declared: () => peer.declared() }
    },
    async close() {
      for (const one of stop) one()
      await Promise.all(peers.map((peer) => peer.close()))
      await opened?.close()
      logins?.close()
    },
  }
}

/** A server of which some callers see another revision. Whoever has none loads nothing of it. */
async function between(
  { name, revision, canary }: McpServerConfig,
  make: (revision: string) => McpPeer,
  { digest, revisions }: PeerWorld,
): Promise<McpPeer> {
  if (revision === undefined || canary === undefined)
    throw new TypeError(`${name} has no two revisions`)
  const { createCanaryPeer } = await import('../migration/canary-peer.ts')
  return createCanaryPeer(
    { from: revision, to: canary.revision, share: canary.share },
    {
      make,
      digest: (text) => digest.text(text),
      monotonic: () => performance.now(),
      decided: (move) => revisions?.find(move),
    },
  )
}

async function openAgents(
  agents: readonly AgentConfig[],
  { clock, onNote }: PeerWorld,
): Promise<{ readonly made: ReadonlyMap<string, Peer>; close(): Promise<void> }> {
  const [{ openConnections }, { createA2aPeer }] = await Promise.all([
    import('../../a2a/bindings/http.ts'),
    import('../../a2a/upstream/peer.ts'),
  ])
  const connections = openConnections()
  const made = new Map<string, Peer>()
  for (const agent of agents) {
    const given = { headers: agent.headers, url: agent.card, brought: agent.brought }
    const mask = maskFor(given)
    const note = (name: string, taskId: string, what: string): void =>
      onNote(`${name} ${taskId}: ${mask(what)}`)
    const peer = createA2aPeer({ connections, clock, note }, agentOptions(agent))
    made.set(agent.name, maskPeer(peer, given))
  }
  return { made, close: () => connections.close() }
}

/** Where any server may want a login. */
async function openLogins(
  { store, tokenKey }: Config,
  servers: readonly McpServerConfig[],
  { clock, onNote }: PeerWorld,
): Promise<PeerLogins | undefined> {
  if (!servers.some((server) => server.transport === 'http' && server.auth !== undefined))
    return undefined
  const key = tokenKey === undefined ? {} : { tokenKey }
  return openPeerLogins({ store, ...key, now: () => clock.now(), note: onNote })
}

function loginOf(server: McpServerConfig, logins: PeerLogins | undefined): PeerLogin | undefined {
  if (server.transport !== 'http' || server.auth === undefined) return undefined
  const { name, url, auth } = server
  return logins?.of({ name, url, auth })
}

function mcpPeer(
  server: McpServerConfig,
  revision: string | undefined,
  { clock, digest, environment, version, verdicts }: PeerWorld,
  starts: Starts,
  credentials: Credentials | undefined,
): McpPeer {
  const way =
    server.transport === 'stdio'
      ? {
          transport: 'stdio' as const,
          command: server.command,
          args: server.args,
          env: server.env,
          ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
        }
      : {
          transport: 'http' as const,
          url: server.url,
          headers: server.headers,
          ...(credentials === undefined ? {} : { credentials }),
        }
  const { startMs, ...limits } = server.timeouts
  return createMcpPeer(
    {
      name: server.name,
      trusted: server.trust === 'all',
      capabilities: server.capabilities,
      stateless: server.stateless,
      ...(revision === undefined ? {} : { revision }),
      server: way,
    },
    {
      clock,
      digest,
      environment,
      clientInfo: { name: 'comity', version },
      starts,
      ...(verdicts === undefined ? {} : { verdicts }),
    },
    {
      limits: { callMs: DEFAULT_CALL_MS, ...limits },
      ...(startMs === undefined ? {} : { startMs }),
    },
  )
}

function agentOptions(agent: AgentConfig): Parameters<typeof createA2aPeer>[1] {
  return {
    name: agent.name,
    trusted: true,
    card: {
      url: agent.card,
      headers: agent.headers,
      allowedOrigins: agent.allowHosts.flatMap((host) => [`https://${host}`, `http://${host}`]),
    },
  }
}

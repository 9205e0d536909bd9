/**
 * The configuration as the rest of the gateway reads it: checked, expanded, every default applied.
 *
 * Holds secrets (headers, env, tokens): never log it whole.
 */
import type { AcceptanceRule } from '../../core/words/acceptance.ts'
import type { CapabilityLock } from '../../mcp/upstream/lock.ts'
import type { AuthConfig } from '../auth/words.ts'
import type { PolicySection } from '../policy/section.ts'

/** Revisions of MCP that `revision:` can lock a server to. */
export const MCP_REVISIONS = [
  '2026-07-28',
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
] as const
export type McpRevision = (typeof MCP_REVISIONS)[number]

/** Milliseconds. */
export interface ServerTimeouts {
  /** Until it is reached and has agreed on a revision. */
  readonly startMs?: number
  /** Of one call without a sign of life. */
  readonly idleMs?: number
  /** Of one call as a whole. */
  readonly callMs?: number
}

/** Another revision for a part of the callers. */
export interface CanaryConfig {
  readonly revision: McpRevision
  /** Ten-thousandths. */
  readonly share: number
}

interface McpServerCommon {
  readonly name: string
  /** Undefined: probed. */
  readonly revision?: McpRevision
  /** A part of its callers is served by another revision; `revision` is set then. */
  readonly canary?: CanaryConfig
  /** What it must offer or must not, and what it may not ask; empty: as it likes. */
  readonly capabilities: CapabilityLock
  /** It keeps no state of its callers: one process or session serves every principal. */
  readonly stateless: boolean
  readonly timeouts: ServerTimeouts
  /** `none`: the server's hints may only tighten. */
  readonly trust: 'all' | 'none'
  /** Turned off in the file: not started, but its name is still taken. */
  readonly disabled: boolean
  /** Values that `${env:...}` and `${file:...}` brought into its entry, and secrets of `auth:`: never to be shown. */
  readonly brought: readonly string[]
}

export interface StdioServerConfig extends McpServerCommon {
  readonly transport: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Absolute, relative paths taken from the config file's folder. Undefined: our own. */
  readonly cwd?: string
}

export interface HttpServerConfig extends McpServerCommon {
  readonly transport: 'http'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** How it is logged in to when it wants that; undefined where it never is: its headers say who we are, or it is reached over open http. */
  readonly auth?: AuthConfig
}

export type McpServerConfig = StdioServerConfig | HttpServerConfig

export interface AgentConfig {
  readonly name: string
  /** URL of the agent card, or of the agent's origin. */
  readonly card: string
  readonly headers: Readonly<Record<string, string>>
  /** Hosts besides the card's own that the card may send us to. */
  readonly allowHosts: readonly string[]
  readonly disabled: boolean
  /** As of a server. */
  readonly brought: readonly string[]
}

export interface PublishedSkill {
  readonly id: string
  readonly route: { readonly peer: string; readonly capability: string }
  readonly description?: string
  /** The argument that a message of text alone fills. */
  readonly text?: string
}

export interface PublishedAgent {
  readonly name: string
  readonly description: string
  readonly skills: readonly PublishedSkill[]
}

export interface TokenConfig {
  readonly principal: string
  readonly token: string
  readonly groups: readonly string[]
}

export interface ListenConfig {
  readonly host: string
  readonly port: number
  /** Where callers reach it, when that is not the bound address; without a slash at the end. */
  readonly url?: string
  /** Names and addresses under which it is served besides those of the bound address and of `url`. */
  readonly hosts: readonly string[]
}

/** Milliseconds; left out as the door has it. */
export interface TaskTimes {
  /** Before a call of a caller that takes tasks becomes one. */
  readonly afterMs?: number
  /** How long a task may be read from its beginning. */
  readonly ttlMs?: number
  /** How often callers are told to look. */
  readonly pollMs?: number
  /** The longest a plain call goes on as a task. */
  readonly limitMs?: number
}

/** Something in the file that has no effect here, and why. Shown by `up` and `ls`, never an error. */
export interface Ignored {
  readonly path: string
  readonly line?: number
  readonly reason: string
}

export interface Config {
  /** Absolute, symbolic links resolved. */
  readonly file: string
  /** In the order of the file: the first peer keeps a URI that two offer. */
  readonly mcpServers: readonly McpServerConfig[]
  readonly agents: readonly AgentConfig[]
  /** Names of all peers, disabled ones too, in the order of the file. */
  readonly peers: readonly string[]
  readonly policy: PolicySection
  /** By agent. */
  readonly acceptance: ReadonlyMap<string, AcceptanceRule>
  readonly publish: readonly PublishedAgent[]
  readonly names: 'prefixed' | 'as-is'
  /** `strict`: a list in which a peer is missing is an error. */
  readonly lists: 'partial' | 'strict'
  readonly tasks: TaskTimes
  /** Undefined: no `tokens:` section, loopback serves the principal `local`. */
  readonly tokens?: readonly TokenConfig[]
  readonly listen: ListenConfig
  /** The SQLite file, absolute. */
  readonly store: string
  /** What tokens are sealed with, from the environment. Undefined: a key file beside the store. */
  readonly tokenKey?: string
  readonly ignored: readonly Ignored[]
}

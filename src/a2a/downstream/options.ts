/**
 * What the A2A door is made from: the core ports behind it and the options of whoever opens it. The one place of defaults.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Begin, TaskDesk } from '../../core/ports/doors.ts'
import type { Clock } from '../../core/ports/world.ts'
import type { Artifact } from '../../core/words/artifact.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { Route } from '../../core/words/route.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import type { HttpRefusal } from './http-guard.ts'
import { createMemories, type Memories } from './memory.ts'

/** One skill as the operator named it; what stands behind it is not the caller's to see. */
export interface PublishedSkill {
  readonly id: string
  readonly description?: string
  /** The argument that a message of text alone fills. */
  readonly text?: string
}

/** One agent that the operator publishes. */
export interface PublishedAgent {
  readonly name: string
  readonly description: string
  /** The agent's own version, for its card. */
  readonly version: string
  readonly skills: readonly PublishedSkill[]
}

/** What a skill stands for now, for one principal. */
export interface SkillRoute {
  readonly route: Route
  /** JSON Schema of its arguments, as the peer gave it. */
  readonly inputSchema?: unknown
}

/** What stands behind the door. */
export interface A2aDoorPorts {
  readonly agents: readonly PublishedAgent[]
  /** By the names of agent and skill. Undefined for hidden, withdrawn and unreachable alike. */
  route(agent: string, skillId: string, principal: Principal): Promise<SkillRoute | undefined>
  readonly begin: Begin
  readonly tasks: {
    load(id: string, principal: Principal): Promise<TaskRecord | undefined>
    artifacts(id: string): Promise<readonly Artifact[]>
  }
  readonly desk: TaskDesk
}

/** Who a request is from, or why it is not served. */
export type Authenticate = (
  headers: IncomingHttpHeaders,
) => Promise<{ readonly principal: Principal } | { readonly refused: HttpRefusal }>

/** Bounds, each with its default. */
export interface A2aLimits {
  /** One message, bytes. Default 16 MiB: text and data are taken, files are not. */
  readonly maxMessageBytes: number
  /** Silence while a request body arrives, milliseconds. Default 30 s. */
  readonly bodyIdleMs: number
  /** Requests being answered at once, for the whole door; an answer counts until its caller has taken it. Default 1024. */
  readonly maxInFlight: number
  /** Answers waiting to be read, bytes for the whole door; beyond it no request is taken. Default 256 MiB. */
  readonly maxUnreadBytes: number
  /** How long a caller may take nothing of what is ready for it, milliseconds; then its connection is ended. Default 60 s. */
  readonly writeIdleMs: number
  /** The longest a blocking SendMessage is waited for, milliseconds. Default 10 min; then the task is returned as it stands. */
  readonly callMs: number
  /** The longest a task's work may take, milliseconds. Default 1 h. */
  readonly taskMs: number
  /** How long a canceled call may take to say how it ended, milliseconds. Default 10 s. */
  readonly cancelMs: number
  /** Tasks and messages kept in memory a principal. Default 1000. */
  readonly maxHeld: number
  /** Principals with something kept in memory. Default 1000. */
  readonly maxPrincipals: number
  /** After `close`, how long running work may still end, milliseconds. Default 10 s. */
  readonly drainMs: number
}

export interface A2aDoorOptions {
  readonly clock: Clock
  /** Called for every request but those for cards, which are public; Host and Origin were found good before. */
  readonly authenticate: Authenticate
  /** Host names served, without ports. Default: those of loopback. */
  readonly allowedHosts?: readonly string[]
  /** Bearer tokens are in force: the cards say so. Default false. */
  readonly secured?: boolean
  readonly limits?: Partial<A2aLimits>
  /** Told of our own faults; the caller gets a plain -32603. Default: nobody. */
  readonly report?: (fault: unknown) => void
}

/** Ports and options with every default applied: what all files of this folder work with. */
export interface A2aDesk {
  readonly ports: A2aDoorPorts
  readonly clock: Clock
  readonly limits: A2aLimits
  readonly memories: Memories
  readonly report: (fault: unknown) => void
  /** Fires when running work must stop. */
  readonly closing: AbortSignal
  /** Work that goes on after its request was answered; the door's end waits for it. */
  readonly working: Set<Promise<void>>
}

const DEFAULT_LIMITS: A2aLimits = {
  maxMessageBytes: 16 * 1024 * 1024,
  bodyIdleMs: 30_000,
  maxInFlight: 1024,
  maxUnreadBytes: 256 * 1024 * 1024,
  writeIdleMs: 60_000,
  callMs: 600_000,
  taskMs: 3_600_000,
  cancelMs: 10_000,
  maxHeld: 1000,
  maxPrincipals: 1000,
  drainMs: 10_000,
}

/** Applies the defaults. */
export function createDesk(
  ports: A2aDoorPorts,
  options: A2aDoorOptions,
  closing: AbortSignal,
): A2aDesk {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  return {
    ports,
    clock: options.clock,
    limits,
    memories: createMemories(limits.maxHeld, limits.maxPrincipals),
    report: options.report ?? (() => undefined),
    closing,
    working: new Set(),
  }
}

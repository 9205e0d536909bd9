/**
 * What a door is made from: the core ports behind it and the options of whoever opens it. The one place of defaults.
 *
 * The gateway and the documents server open the same doors with their own catalogue and dispatch.
 */
import type { Catalogue } from '../../core/ports/catalogue.ts'
import type { Begin, Delegate, Dispatch, TaskDesk } from '../../core/ports/doors.ts'
import type { SessionStore } from '../../core/ports/sessions.ts'
import type { Clock } from '../../core/ports/world.ts'
import type { Artifact } from '../../core/words/artifact.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Principal } from '../../core/words/principal.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { Annotations } from './annotations.ts'
import { MAX_BATCH } from './batch.ts'
import { createParkedCalls, type ParkedCalls } from './parked.ts'
import { createPlaces, type Places } from './places.ts'
import { bearsQuestion } from './question-form.ts'
import { createSeal, type Seal } from './seal.ts'
import type { Visit } from './visit.ts'

/** What stands behind the doors. */
export interface DoorPorts {
  readonly catalogue: Catalogue
  readonly dispatch: Dispatch
  /** Present where work can outlive its call: brings tasks, the `task_*` tools and artifacts as resources. */
  readonly delegation?: Delegation
}

/** Long work: how it is begun, followed and read. */
export interface Delegation {
  readonly delegate: Delegate
  /** A call that may become a task. */
  readonly begin: Begin
  readonly desk: TaskDesk
  /** One artifact with its content; undefined for what this principal may not know. */
  readonly artifact: (
    taskId: string,
    artifactId: string,
    principal: Principal,
  ) => Promise<Artifact | undefined>
  /** Whether the `task_*` tools are listed: somebody may be given a task who has no other way to it. */
  readonly isListed: () => boolean
}

/** A feature that is advertised and served; the methods of all others are unknown. */
export type Offer = 'tools' | 'resources' | 'prompts' | 'logging' | 'completions'

/** How this server names itself. */
export interface Implementation {
  readonly name: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  readonly websiteUrl?: string
}

/** Bounds, each with its default. */
export interface DoorLimits {
  /** One message, bytes. Default 64 MiB. */
  readonly maxMessageBytes: number
  /** Silence while a request body arrives, milliseconds. Default 30 s. */
  readonly bodyIdleMs: number
  /** Requests being answered at once, for the whole door; an answer counts until its caller has taken it. Default 1024. */
  readonly maxInFlight: number
  /** Answers over HTTP waiting to be read, bytes for the whole door; beyond it no request is taken. Default 256 MiB. */
  readonly maxUnreadBytes: number
  /** How long a caller over HTTP may take nothing of what is ready for it, milliseconds; then its connection is ended. Default 60 s. */
  readonly writeIdleMs: number
  /** Items a page. Default 1000. */
  readonly pageSize: number
  /** The longest a call is waited for, milliseconds. Default 10 min. */
  readonly callMs: number
  /** How long a delegation is waited for before its handle is returned, milliseconds. Default 45 s. */
  readonly delegationWaitMs: number
  /** Before a call of a caller that takes tasks becomes one, milliseconds. Default 5 s. */
  readonly taskAfterMs: number
  /** The longest a task of a plain call goes on, milliseconds. Default 24 h. */
  readonly taskMs: number
  /** How long a task may be read from its beginning, milliseconds. Default 7 days. */
  readonly taskTtlMs: number
  /** How often callers are told to look at a task, milliseconds. Default 1 s. */
  readonly taskPollMs: number
  /** Between signs of life of a delegation to a caller with a progress token, milliseconds. Default 10 s. */
  readonly heartbeatMs: number
  /** Before an answer over HTTP becomes an event stream, milliseconds. Default 10 s. */
  readonly streamAfterMs: number
  /** Between keep-alive comments of an event stream, milliseconds. Default 15 s. */
  readonly keepAliveMs: number
  /** How long a question may wait for its answer, milliseconds. Default 10 min. */
  readonly questionMs: number
  /** Rounds of questions in one call. Default 16. */
  readonly maxRounds: number
  /** Calls that wait here for answers of modern callers, or for someone to fetch their end. Default 1000. */
  readonly maxParked: number
  /** Of these, for one principal. Default 100. */
  readonly maxParkedEach: number
  /** What such calls hold of requests and results, bytes for the whole door. Default 128 MiB. */
  readonly maxParkedBytes: number
  /** Streams of news that modern callers hold open. Default 512. */
  readonly maxListeners: number
  /** Of these, for one principal. Default 64. */
  readonly maxListenersEach: number
  /** Sessions of legacy callers. Default 1000. */
  readonly maxSessions: number
  /** Questions that one session may have to answer at once. Default 64. */
  readonly maxOpenQuestions: number
  /** One answer to a question, bytes. Default 16 MiB. */
  readonly maxAnswerBytes: number
  /** Resources that one session may be subscribed to. Default 1000. */
  readonly maxSubscriptions: number
  /** Between a change of the lists and its notification, milliseconds: changes in between are told once. Default 100 ms. */
  readonly coalesceMs: number
  /** Messages in one batch, which 2025-03-26 alone has. Default 50. */
  readonly maxBatch: number
  /** Before an answer to a 2025-11-25 session becomes an event stream that can be come back to, milliseconds. Default 50 ms. */
  readonly resumableAfterMs: number
  /** How long a 2025-11-25 call's stream is held before its caller has to poll, milliseconds. 0: until the answer. Default 0. */
  readonly pollAfterMs: number
  /** What callers are told to wait before they come back, milliseconds. Default 2 s. */
  readonly retryMs: number
  /** Events kept for callers that come back, bytes for the whole door. Default 16 MiB. */
  readonly maxReplayBytes: number
  /** How long the events of an answered call are kept, milliseconds. Default 2 min. */
  readonly replayMs: number
  /** A session unused for longer is gone, milliseconds. Default 30 min. */
  readonly sessionIdleMs: number
  /** After the end of input or `close`, how long running requests may still answer, milliseconds. Default 10 s. */
  readonly drainMs: number
}

export interface DoorOptions {
  readonly serverInfo: Implementation
  /** 32 secret bytes that cursors and question states are sealed with. Another key makes older ones invalid. */
  readonly sealingKey: Uint8Array
  readonly clock: Clock
  /** Where sessions of legacy callers over HTTP are kept. Default: in memory, until this process ends. */
  readonly sessions?: SessionStore
  /** Default: all. A feature that peers bring is offered only while one that the caller may know of has it. */
  readonly offers?: readonly Offer[]
  readonly limits?: Partial<DoorLimits>
  /** Told of our own faults; the caller gets a plain -32603. Default: nobody. */
  readonly report?: (fault: unknown) => void
}

/** Ports and options with every default applied: what all files of this folder work with. */
export interface Door {
  readonly ports: DoorPorts
  readonly serverInfo: Implementation
  readonly seal: Seal
  readonly clock: Clock
  readonly offers: ReadonlySet<Offer>
  readonly limits: DoorLimits
  readonly report: (fault: unknown) => void
  /** Header annotations of tools that were called; a cache, nothing else. */
  readonly annotations: Annotations
  /** The times of all that is under way. */
  readonly deadlines: Deadlines
  /** Calls that wait for answers of modern callers. */
  readonly parked: ParkedCalls<Visit>
  /** Places for streams of news. */
  readonly listeners: Places
  /** Aborted when the door begins to close: what only waits for news ends at once. */
  readonly leaving: AbortSignal
  leave(): void
}

const OFFERS: readonly Offer[] = ['tools', 'resources', 'prompts', 'logging', 'completions']

const DEFAULT_LIMITS: DoorLimits = {
  maxMessageBytes: 64 * 1024 * 1024,
  bodyIdleMs: 30_000,
  maxInFlight: 1024,
  maxUnreadBytes: 256 * 1024 * 1024,
  writeIdleMs: 60_000,
  pageSize: 1000,
  callMs: 600_000,
  delegationWaitMs: 45_000,
  taskAfterMs: 5_000,
  taskMs: 86_400_000,
  taskTtlMs: 604_800_000,
  taskPollMs: 1_000,
  heartbeatMs: 10_000,
  streamAfterMs: 10_000,
  keepAliveMs: 15_000,
  questionMs: 600_000,
  maxRounds: 16,
  maxParked: 1000,
  maxParkedEach: 100,
  maxParkedBytes: 128 * 1024 * 1024,
  maxListeners: 512,
  maxListenersEach: 64,
  maxSessions: 1000,
  maxOpenQuestions: 64,
  maxAnswerBytes: 16 * 1024 * 1024,
  maxSubscriptions: 1000,
  coalesceMs: 100,
  maxBatch: MAX_BATCH,
  resumableAfterMs: 50,
  pollAfterMs: 0,
  retryMs: 2000,
  maxReplayBytes: 16 * 1024 * 1024,
  replayMs: 120_000,
  sessionIdleMs: 1_800_000,
  drainMs: 10_000,
}

/** @throws ComityError `config_invalid` when the sealing key is not 32 bytes. */
export function createDoor(ports: DoorPorts, options: DoorOptions): Door {
  if (options.sealingKey.length !== 32) {
    throw new ComityError(
      'config_invalid',
      `the sealing key must be 32 bytes, got ${options.sealingKey.length}`,
    )
  }
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const report = options.report ?? (() => undefined)
  const leaving = new AbortController()
  return {
    ports,
    serverInfo: options.serverInfo,
    seal: createSeal(options.sealingKey),
    clock: options.clock,
    offers: new Set(options.offers ?? OFFERS),
    limits,
    report,
    annotations: new Annotations(),
    deadlines: new Deadlines('apart'),
    parked: createParkedCalls(limits, report, bearsQuestion, leaving.signal),
    listeners: createPlaces(limits.maxListeners, limits.maxListenersEach),
    leaving: leaving.signal,
    leave: () => leaving.abort('shutdown'),
  }
}

/** What the operator's verbs stand on: the parts of one open host. */
import type { Begin, Delegate, Dispatch } from '../../core/ports/doors.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { PolicyCheck } from '../../core/ports/checks.ts'
import type { Upstream } from '../../core/ports/upstream.ts'
import type { Clock } from '../../core/ports/world.ts'
import type { Resume } from '../../core/resume.ts'
import type { Route } from '../../core/words/route.ts'
import type { Store } from '../../store/store.ts'
import type { OpenCatalogue } from '../compose/catalogue.ts'
import type { LockedPeer } from '../compose/peers.ts'
import type { Config } from '../config/config.ts'
import type { AskingCalls } from './asking.ts'
import type { Owner } from './owner.ts'

export interface HostParts {
  readonly config: Config
  readonly version: string
  readonly clock: Clock
  readonly store: Store
  readonly catalogue: OpenCatalogue
  readonly policy: PolicyCheck
  readonly peers: readonly Peer[]
  readonly dispatch: Dispatch
  readonly delegate: Delegate
  readonly begin: Begin
  /** As `dispatch`, by another way to the peer: for looking at it. */
  dispatchThrough(upstream: Upstream): Dispatch
  /** A configured server once more, locked to a revision. */
  lockedAt(name: string, revision: string): LockedPeer | undefined
  /** The operator's calls that wait for a person. */
  readonly asking: AskingCalls
  readonly resume: Resume
  agentRoute(peer: string): Promise<Route | undefined>
  /** Told of faults that no caller waits for. */
  onFault(what: string, error: unknown): void
  /** This process. */
  readonly owner: Owner
  /** Where callers reach this host, once it serves. */
  url(): string | undefined
}

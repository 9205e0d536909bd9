/**
 * One process or one session of a server, and what is true of it alone: its connection, and what it
 * has shown. Several of them are several states; nothing of one is believed of another.
 */
import type { Asks, MayAsk } from './asks.ts'
import { createAsks } from './asks.ts'
import { connect, type Connected, type ConnectOptions } from './connect.ts'
import { createConnection, type Connection } from './connection.ts'
import { declareAtStart } from './declare.ts'
import { type AnswerRequest, type Link, LinkFailure, type LinkListener } from './link.ts'
import type { ServerListing } from './list.ts'
import { type CapabilityLock, driftFrom, locksOffers } from './lock.ts'
import { createNotices, type Notices } from './notices.ts'
import type { DeprecatedUses } from './deprecated.ts'
import { discover } from './probe.ts'
import { createOffer, type Offer, type OfferOptions } from './offer.ts'
import { createSession, type Session } from './session.ts'
import type { TermsOptions } from './terms.ts'

export interface InstanceDeps {
  readonly peer: string
  openLink(listener: LinkListener, onStray: AnswerRequest): Promise<Link>
  readonly connect: Omit<ConnectOptions, 'declare'>
  readonly may: MayAsk
  readonly lock: CapabilityLock
  readonly offer: OfferOptions
  /** Lists the server. @throws LinkFailure */
  list(connected: Connected): Promise<ServerListing>
  /** What this one offers may have changed: it said so, or it was reached anew. */
  onChanged(): void
  /** A listing made for a call is not what was offered before. */
  onDifferent(): void
  /** What it was seen to use. */
  readonly deprecated: DeprecatedUses
  /** Told of every other message that belongs to no request. */
  readonly onMessage: LinkListener
}

export interface Instance {
  readonly connection: Connection<Session>
  readonly offer: Offer
  readonly notices: Pick<Notices, 'watch'>
  /** What its server agreed on is not so any more: it is asked anew before the next call. */
  renew(session: Session): void
  close(): Promise<void>
}

/** How long a server is waited for that says again what it declares, milliseconds. */
const DISCOVER_MS = 10_000

/** Makes an instance; starts and sends nothing until its connection is asked for. */
export function createInstance(deps: InstanceDeps): Instance {
  const offer = createOffer(
    {
      peer: deps.peer,
      list: (connected) => listOn(connected),
      tells: (connected) => notices.tells(connected),
      monotonic: () => performance.now(),
      onDifferent: deps.onDifferent,
    },
    deps.offer,
  )
  const notices: Notices = createNotices({
    clientInfo: deps.connect.clientInfo,
    reach: () => connection.get(),
    onListChanged() {
      offer.outdate()
      deps.onChanged()
    },
  })
  const connection: Connection<Session> = createConnection<Session>({
    connect: (signal) => open(deps, notices, signal),
    monotonic: () => performance.now(),
    onReconnected: deps.onChanged,
  })
  const renew = (session: Session, problem?: string): void => {
    connection.retire(session, problem)
    session.retire()
  }
  const listed = new WeakSet<Link>()
  const listOn = async (connected: Connected): Promise<ServerListing> => {
    const { link, facts } = connected
    try {
      // What a new connection was told is not asked for again at once.
      if (listed.has(link)) await expectNoDrift(deps, connected)
      listed.add(link)
      return await deps.list(connected)
    } catch (error) {
      const current = connection.current()
      // Nothing tells that a server without sessions was replaced, but that it is of no use any more.
      if (facts.era === 'modern' && current?.link === link)
        renew(current, error instanceof LinkFailure ? error.message : undefined)
      throw error
    }
  }
  return {
    connection,
    offer,
    notices,
    renew,
    async close() {
      notices.close()
      await connection.close()
    },
  }
}

async function open(deps: InstanceDeps, notices: Notices, signal: AbortSignal): Promise<Session> {
  const asks: Asks = createAsks(deps.may, (question, where) =>
    deps.deprecated.question(question, where),
  )
  const listener: LinkListener = (notification) => {
    if (!notices.take(notification)) deps.onMessage(notification)
  }
  let declared: TermsOptions['declared'] = {}
  const connected = await connect(
    () => deps.openLink(listener, asks.onStray),
    {
      ...deps.connect,
      declare: (revision) => (declared = declareAtStart(deps.may, revision)),
    },
    signal,
  )
  const { link, facts } = connected
  asks.agreed(facts.revision)
  const drift = driftFrom(deps.lock, facts.capabilities)
  if (drift !== undefined) {
    await link.close()
    throw drifted(drift)
  }
  notices.attach(connected)
  const { clientInfo } = deps.connect
  return createSession(connected, asks, { may: deps.may, clientInfo, declared })
}

/** A modern server may declare something else from one request to the next; a session declares once. */
async function expectNoDrift(
  { lock, connect: { clientInfo } }: InstanceDeps,
  { link, facts }: Connected,
): Promise<void> {
  if (facts.era !== 'modern' || !locksOffers(lock)) return
  const found = await discover(link, clientInfo, AbortSignal.timeout(DISCOVER_MS))
  const drift = found.kind === 'modern' ? driftFrom(lock, found.facts.capabilities) : undefined
  if (drift !== undefined) throw drifted(drift)
}

function drifted(drift: string): LinkFailure {
  return new LinkFailure('unreachable', false, drift)
}

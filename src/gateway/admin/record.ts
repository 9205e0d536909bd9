/** The verbs about the record and what people decide: status, approvals, pins, ledger, explain, settle. */
import type { Capability } from '../../core/words/capability.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Entry } from '../../core/words/entry.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { classifyChange, diffDefinitions } from '../checks/definition-change.ts'
import { routeOf } from '../compose/route-table.ts'
import type { PeerView } from '../compose/catalogue.ts'
import { withReader } from './look-at-store.ts'
import type {
  CapabilityLine,
  ExplainReport,
  LedgerReport,
  Operator,
  PeerLine,
  StatusReport,
} from './operator.ts'
import { LOCAL, OPERATOR } from '../../core/words/principal.ts'
import type { Records, Verification } from '../../store/store.ts'
import type { HostParts } from './parts.ts'
import { reportProcess, reportRecord } from './process.ts'
import { reportTask } from './reports.ts'

const EXPLAIN_LIMIT = 1_000

export function createRecordVerbs(
  parts: HostParts,
): Pick<
  Operator,
  | 'status'
  | 'approvals'
  | 'decideApproval'
  | 'pins'
  | 'acceptPins'
  | 'ledger'
  | 'explain'
  | 'settle'
> {
  const openedAt = parts.clock.now()
  // Peers start with the process: one that has not settled since is waited for no longer than a moment.
  const patience = (waitMs: number): number =>
    Math.min(waitMs, Math.max(MOMENT_MS, openedAt + waitMs - parts.clock.now()))
  return {
    status: ({ waitMs }) => statusOf(parts, patience(waitMs ?? 0)),
    async approvals({ all }) {
      const found = parts.store.approvals.list()
      return all === true ? found : found.filter((approval) => approval.state === 'pending')
    },
    decideApproval: ({ id, decision }) => parts.store.approvals.answer(id, decision, OPERATOR.id),
    async pins() {
      await parts.catalogue.view(patience(PINS_MS))
      return parts.store.pins.changes().map((change) => ({
        ...change,
        class: classifyChange(change.before, change.after),
        lines: diffDefinitions(change.before, change.after),
      }))
    },
    async acceptPins({ peer, name }) {
      await parts.catalogue.view(patience(PINS_MS))
      const accepted = await parts.store.pins.accept(peer, name, OPERATOR.id)
      parts.catalogue.refresh()
      if (accepted.length === 0) {
        throw new ComityError(
          'not_found',
          `nothing of ${peer}${name === undefined ? '' : `/${name}`} waits to be accepted; comity pins lists what does`,
        )
      }
      return { accepted: accepted.length }
    },
    async ledger(input) {
      // What was noted a moment ago is part of the record that is shown.
      await parts.store.flush()
      return ledgerOf(parts.store, input)
    },
    explain: ({ id }) => explain(parts, id),
    async settle({ callId, as, note }) {
      await parts.store.settleByHand(callId, { as, by: OPERATOR.id, note: note ?? '' })
      return { callId, settled: as === 'ran' ? 'it ran' : 'it did not run' }
    },
  }
}

const PINS_MS = 20_000
const MOMENT_MS = 1_000

async function statusOf(parts: HostParts, waitMs: number): Promise<StatusReport> {
  const views = await parts.catalogue.view(waitMs)
  const url = parts.url()
  const { config } = parts
  const off = [...config.mcpServers, ...config.agents].filter((peer) => peer.disabled)
  return {
    version: parts.version,
    pid: process.pid,
    config: config.file,
    store: config.store,
    ...(url === undefined ? {} : { url }),
    process: reportProcess(parts),
    record: await reportRecord(parts),
    peers: [
      ...views.map((view) => peerLine(parts, view)),
      ...off.map((peer): PeerLine => ({
        peer: peer.name,
        protocol: 'card' in peer ? 'a2a' : 'mcp',
        state: 'disabled',
        transport: '',
        capabilities: [],
        leftOut: [],
      })),
    ],
    ignored: config.ignored.map(({ path, reason }) => ({ path, reason })),
  }
}

function peerLine(parts: HostParts, view: PeerView): PeerLine {
  const report = view.peer.report()
  const starts = view.starting || report.state === 'starting'
  const state = view.error === undefined ? 'ready' : starts ? 'starting' : 'failed'
  const detail = view.error ?? report.detail
  const counts = view.peer.counts?.()
  const { migration } = view.peer
  const deprecated = view.peer.deprecated?.() ?? []
  return {
    peer: view.peer.name,
    protocol: view.peer.protocol,
    state,
    transport: report.transport,
    ...(report.revision === undefined ? {} : { revision: report.revision }),
    ...(report.callsItself === undefined ? {} : { callsItself: report.callsItself }),
    ...(detail === undefined || state === 'ready' ? {} : { detail }),
    ...(counts === undefined ? {} : { counts }),
    ...(view.storedAt === undefined ? {} : { storedAt: view.storedAt }),
    ...(migration === undefined ? {} : { migration: migration.report() }),
    ...(deprecated.length === 0 ? {} : { deprecated }),
    capabilities: view.capabilities.map(({ capability, exposed, withdrawn }) =>
      capabilityLine(parts, view, capability, exposed, withdrawn),
    ),
    leftOut: view.leftOut.map(({ kind, name, reason }) => ({ kind, name, reason })),
  }
}

function capabilityLine(
  parts: HostParts,
  view: PeerView,
  capability: Capability,
  exposed: string,
  withdrawn: boolean,
): CapabilityLine {
  const route = routeOf(view.peer, capability, exposed)
  const decision = parts.policy.decide(LOCAL, route, jsonTextOf({}))
  const definition = capability.definition.value()
  const title =
    typeof definition === 'object' &&
    definition !== null &&
    'title' in definition &&
    typeof definition.title === 'string'
      ? definition.title
      : undefined
  return {
    kind: capability.kind,
    name: capability.name,
    exposed,
    ...(title === undefined ? {} : { title }),
    risk: decision.risk,
    effect: decision.effect,
    fingerprint: capability.fingerprint,
    endpoint: view.peer.endpoint,
    withdrawn,
  }
}

interface LedgerInput {
  readonly limit?: number
  readonly id?: string
  readonly verify?: boolean
}

/**
 * The ledger as it lies on disk, changed by nothing: to own a store makes anew what is missing, and that is what a check looks for.
 *
 * @throws ComityError `not_found` when there is no store, `store_corrupt`.
 */
export function readLedgerOf(file: string, input: LedgerInput): Promise<LedgerReport> {
  return withReader(file, (reader) => ledgerOf(reader, input))
}

async function ledgerOf(records: Records, input: LedgerInput): Promise<LedgerReport> {
  const limit = input.limit ?? 40
  const own =
    input.id === undefined
      ? records.entries({ limit })
      : [
          ...records.entries({ callId: input.id, limit }),
          ...records.entries({ taskId: input.id, limit }),
        ]
  const entries =
    input.id === undefined
      ? own
      : [...own, ...own.flatMap((entry) => entriesOfAnswer(records, entry))]
  const verification = input.verify === true ? await records.verify() : undefined
  return {
    entries: inOrder(entries),
    ...(verification === undefined ? {} : { verified: sayVerified(verification) }),
  }
}

/** A chain whose checkpoints cannot be proven any more is not shown to be whole. */
function sayVerified(verification: Verification): NonNullable<LedgerReport['verified']> {
  if (!verification.sound) {
    const { seq, reason } = verification
    return { ok: false, entries: 0, firstBad: seq, detail: reason }
  }
  const { entries, checkpoints } = verification
  return { ok: checkpoints.state !== 'unproven', entries, checkpoints }
}

async function explain(parts: HostParts, id: string): Promise<ExplainReport> {
  await parts.store.flush()
  const byTask = await parts.store.tasks.load(id, OPERATOR)
  const call = parts.store.call(byTask?.callId ?? id)
  if (call === undefined)
    throw new ComityError(
      'not_found',
      `nothing is on record under ${id}; comity ledger lists calls`,
    )
  const { arguments: args, result: _result, entries, ...facts } = call
  const task =
    byTask ??
    (call.taskId === undefined ? undefined : await parts.store.tasks.load(call.taskId, OPERATOR))
  const own =
    task === undefined ? [] : parts.store.entries({ taskId: task.id, limit: EXPLAIN_LIMIT })
  const ofTask = [...own, ...own.flatMap((entry) => entriesOfAnswer(parts.store, entry))]
  return {
    callId: call.callId,
    call: facts,
    ...(args?.bytes === undefined
      ? {}
      : { argumentsText: Buffer.from(args.bytes).toString('utf8') }),
    entries: inOrder([...entries, ...ofTask]),
    ...(task === undefined ? {} : { task: reportTask(task) }),
  }
}

/** An answer is a call of its own: what became of it belongs to its task's page. */
function entriesOfAnswer(records: Records, { kind, facts }: Entry): readonly Entry[] {
  const through = kind === 'answered' ? facts['through'] : undefined
  return typeof through === 'string'
    ? records.entries({ callId: through, limit: EXPLAIN_LIMIT })
    : []
}

function inOrder(entries: readonly Entry[]): readonly Entry[] {
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]))
  return [...bySeq.values()].sort((left, right) => left.seq - right.seq)
}

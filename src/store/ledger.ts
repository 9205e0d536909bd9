/**
 * The Ledger port on the committer: what must be durable waits for its commit, everything else joins the next one.
 *
 * An act that cannot be put on record is refused, because nothing may leave unrecorded; reads go on.
 */
import type { DatabaseSync } from 'node:sqlite'

import type { Ledger, LedgerEvent, Opened, Opening } from '../core/ports/ledger.ts'
import type { OutboundCall } from '../core/words/call.ts'
import { ComityError, type ComityErrorCode } from '../core/words/errors.ts'
import type { Outcome } from '../core/words/outcome.ts'
import { parseCallRow, readRecorded, SELECT_CALL_BY_KEY } from './apply/call-row.ts'
import {
  argumentsPayload,
  callFacts,
  openingFacts,
  outcomeFacts,
  resultPayload,
} from './call-facts.ts'
import { factsText } from './canonical-text.ts'
import type { Intent } from './commands.ts'
import type { Committer } from './commit.ts'
import { encodeCommit, encodeTask } from './encode-task.ts'

/** Codes that mean: not on record, so not sent. */
const UNWRITABLE: readonly ComityErrorCode[] = ['store_unwritable', 'store_corrupt', 'store_locked']

/** The ledger. `settle` with a task rejects with `conflict` when the task has moved since it was loaded. */
export function createLedger(committer: Committer, reader: DatabaseSync): Ledger {
  return {
    recorded: async ({ key, digest }) => {
      const find = reader.prepare(SELECT_CALL_BY_KEY)
      const row = find.get({ key })
      if (row === undefined) return undefined
      const call = parseCallRow(row)
      if (call.state !== 'open') return readRecorded(call, digest)
      // That it ended, and never ran, may be on its way to the disk.
      await committer.flush()
      const now = find.get({ key })
      return now === undefined ? undefined : readRecorded(parseCallRow(now), digest)
    },
    open: (opening) => open(committer, opening),
    refuse: (call, outcome, decision) =>
      committer.enqueue({
        do: 'refuse',
        callId: call.callId,
        openedAt: call.openedAt,
        principal: call.principal.id,
        facts: callFacts(call, decision),
        outcome: outcomeFacts(outcome),
        payload: argumentsPayload(call),
      }),
    note: (callId, event) => committer.enqueue(noteOf(callId, event)),
    // Not kept when it cannot be written: what it announces will then not be done.
    record: async (callId, event) => {
      await committer.submit(noteOf(callId, event))
    },
    callerGone: (callId) => committer.enqueue({ do: 'caller_gone', callId }),
    settle: async (callId, outcome, options) => {
      const intent = settleOf(callId, outcome, options.task)
      if (options.barrier || options.task !== undefined) {
        return (await committer.submit(intent, { keep: true })) as 'settled' | 'late'
      }
      committer.enqueue(intent)
      return 'settled'
    },
  }
}

async function open(committer: Committer, opening: Opening): Promise<Opened> {
  const intent = openOf(opening)
  const mayFollow =
    !opening.sideEffect &&
    opening.approvalId === undefined &&
    opening.task === undefined &&
    opening.idempotency === undefined
  if (mayFollow) {
    committer.enqueue(intent)
    return { kind: 'opened' }
  }
  try {
    return (await committer.submit(intent)) as Opened
  } catch (error) {
    if (!(error instanceof ComityError) || !UNWRITABLE.includes(error.code)) throw error
    return { kind: 'unwritable', detail: error.message }
  }
}

function openOf(opening: Opening): Intent {
  const call: OutboundCall = opening.call
  return {
    do: 'open',
    callId: call.callId,
    openedAt: call.openedAt,
    actKey: opening.actKey,
    sideEffect: opening.sideEffect,
    principal: call.principal.id,
    endpoint: call.route.endpoint,
    insist: call.insist ?? null,
    approvalId: opening.approvalId ?? null,
    continues: call.continuation?.callId ?? null,
    idempotency: opening.idempotency ?? null,
    facts: openingFacts(opening),
    payload: argumentsPayload(call),
    task: opening.task === undefined ? null : encodeTask(opening.task),
  }
}

function noteOf(callId: string, event: LedgerEvent): Intent {
  return { do: 'note', callId, kind: event.kind, facts: factsText({ ...event.facts }) }
}

function settleOf(
  callId: string,
  outcome: Outcome,
  task: Parameters<Ledger['settle']>[2]['task'],
): Intent {
  return {
    do: 'settle',
    callId,
    state: outcome.state === 'unknown' ? 'unknown' : 'settled',
    outcome: outcomeFacts(outcome),
    payload: resultPayload(outcome),
    task: task === undefined ? null : encodeCommit(task),
  }
}

/**
 * The Ledger port on the committer: what must be durable waits for its commit, everything else joins the next one.
 *
 * An act that cannot be put on record is refused, because nothing may leave unrecorded; reads go on.
 */
import type { DatabaseSync } from 'node:sqlite'

import type { Ledger, LedgerEvent, Opened, Opening } from '../core/ports/ledger.ts'
import type { WireFacts } from '../core/ports/upstream.ts'
import { ComityError, type ComityErrorCode } from '../core/words/errors.ts'
import { parseCallRow, readRecorded, SELECT_CALL_BY_KEY } from './apply/call-row.ts'
import { argumentsPayload, callText, outcomeText, type Share, wireText } from './call-facts.ts'
import { CallsUnsent, openedOf, settledOf } from './calls-unsent.ts'
import { boundedText, factsText } from './canonical-text.ts'
import { type Intent, OPENED, type OpenTerms } from './commands.ts'
import type { Committer } from './commit.ts'
import { encodeCommit, encodeTask } from './encode-task.ts'

/** Codes that mean: not on record, so not sent. */
const UNWRITABLE: readonly ComityErrorCode[] = ['store_unwritable', 'store_corrupt', 'store_locked']

/** The ledger. `settle` with a task rejects with `conflict` when the task has moved since it was loaded. */
export function createLedger(committer: Committer, reader: DatabaseSync): Ledger {
  const words = new CallsUnsent(committer)
  const { share } = committer.texts
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
    open: (opening) => open(committer, words, opening),
    keep: (callId, task, effects) => {
      words.end(callId)
      const kept = committer.submit({
        do: 'task_keep',
        callId,
        task: encodeTask(task),
        effects: effects.map((owed) => owed.do),
      })
      return kept as Promise<'kept' | 'ended'>
    },
    refuse: (call, outcome, decision) => {
      const { head, tail } = outcomeText(outcome)
      committer.enqueue({
        do: 'refuse',
        callId: call.callId,
        openedAt: call.openedAt,
        principal: call.principal.id,
        facts: callText(call, decision, share),
        outcome: boundedText(head + tail),
        payload: argumentsPayload(call),
      })
    },
    note: (callId, event) => words.note(callId, event.kind, noteText(event, share)),
    // Not kept when it cannot be written: what it announces will then not be done.
    record: async (callId, event) => {
      words.end(callId)
      await committer.submit({
        do: 'note',
        callId,
        kind: event.kind,
        facts: noteText(event, share),
      })
    },
    callerGone: (callId) => {
      words.end(callId)
      committer.enqueue({ do: 'caller_gone', callId })
    },
    settle: (callId, outcome, { barrier, task }) => {
      if (!barrier && task === undefined) {
        words.settle(callId, outcome)
        return 'settled'
      }
      words.end(callId)
      const done = committer.submit(
        {
          do: 'settle',
          callId,
          ...settledOf(outcome, committer.now()),
          task: task === undefined ? null : encodeCommit(task),
        },
        { keep: true },
      )
      return done as Promise<'settled' | 'late'>
    },
  }
}

function open(
  committer: Committer,
  words: CallsUnsent,
  opening: Opening,
): Opened | Promise<Opened> {
  const { call, sideEffect, approvalId, task, idempotency } = opening
  const isPlain = approvalId === undefined && task === undefined && idempotency === undefined
  if (isPlain && !sideEffect) {
    words.open(opening)
    return OPENED
  }
  const { callId } = call
  const opened = openedOf(opening, committer.now(), committer.texts)
  const command: Intent =
    isPlain && call.insist === undefined
      ? { do: 'call', callId, opened, notes: [], settled: null }
      : { do: 'open', callId, ...opened, ...termsOf(opening) }
  return (committer.submit(command) as Promise<Opened>).catch(sayUnwritable)
}

function termsOf({ call, approvalId, task, idempotency }: Opening): OpenTerms {
  return {
    endpoint: call.route.endpoint,
    insist: call.insist ?? null,
    approvalId: approvalId ?? null,
    continues: call.continuation?.callId ?? null,
    idempotency: idempotency ?? null,
    task: task === undefined ? null : encodeTask(task),
  }
}

function sayUnwritable(error: unknown): Opened {
  if (!(error instanceof ComityError) || !UNWRITABLE.includes(error.code)) throw error
  return { kind: 'unwritable', detail: error.message }
}

function noteText({ facts }: LedgerEvent, share: Share): string {
  return isOfWire(facts) ? wireText(facts, share) : factsText(facts)
}

function isOfWire(facts: LedgerEvent['facts']): facts is WireFacts {
  return 'wireId' in facts && 'revision' in facts && 'ours' in facts && 'theirs' in facts
}

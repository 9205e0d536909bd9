/** Calls on record that only read, to be made once more: the newest, equal ones once, where their arguments are kept. */
import { isObject } from '../../core/words/is-object.ts'
import type { CapabilityKind } from '../../core/words/capability.ts'
import type { Operation } from '../../core/words/call.ts'
import type { Records } from '../../store/store.ts'

/** How doors of replayed calls begin: they are not replayed again. */
export const COMPAT_DOOR = 'compat '

export interface RecordedRead {
  readonly callId: string
  readonly kind: CapabilityKind
  readonly operation: Operation
  readonly capability: string
  readonly exposed: string
  /** JSON text. */
  readonly arguments: Uint8Array
}

export interface RecordedReads {
  readonly reads: readonly RecordedRead[]
  /** Calls of which the arguments are not kept: above 4 KiB, or deleted. */
  readonly unkept: number
}

/** Openings that are looked through, the newest. */
const MOST_LOOKED = 10_000
/** Calls without arguments after which no more are looked for. */
const MOST_UNKEPT = 1_000

/** @param wanted how many at most. */
export function findRecordedReads(
  records: Pick<Records, 'call' | 'entries'>,
  peer: string,
  wanted: number,
): RecordedReads {
  const reads: RecordedRead[] = []
  const known = new Set<string>()
  let unkept = 0
  const opened = records.entries({ kind: 'opened', limit: MOST_LOOKED })
  for (const { callId, facts } of opened.toReversed()) {
    if (reads.length >= wanted || unkept >= MOST_UNKEPT) break
    const said = readFacts(facts, peer)
    if (said === undefined || callId === undefined) continue
    const bytes = records.call(callId)?.arguments?.bytes
    if (bytes === undefined) {
      unkept += 1
      continue
    }
    const key = JSON.stringify([said.kind, said.capability, Buffer.from(bytes).toString('latin1')])
    if (known.has(key)) continue
    known.add(key)
    reads.push({ ...said, callId, arguments: bytes })
  }
  return { reads, unkept }
}

/** @returns undefined for what is not to be replayed: other peers, acts, later rounds, replays. */
function readFacts(
  facts: Readonly<Record<string, unknown>>,
  peer: string,
): Omit<RecordedRead, 'callId' | 'arguments'> | undefined {
  const { route, sideEffect, operation, door, continues } = facts
  if (!isObject(route) || route.peer !== peer || sideEffect !== false) return undefined
  if (operation !== 'call' && operation !== 'read' && operation !== 'prompt') return undefined
  if (continues !== undefined || String(door).startsWith(COMPAT_DOOR)) return undefined
  return {
    kind: String(route.kind) as CapabilityKind,
    operation,
    capability: String(route.capability),
    exposed: String(route.exposed),
  }
}

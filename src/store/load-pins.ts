/**
 * Holds the table of pins against the entries that made it.
 *
 * The entries are the truth: `pin_accepted` adds a fingerprint, with `resets` it replaces those before. A row too few, too
 * many or damaged makes its capability mistrusted.
 */
import type { DatabaseSync } from 'node:sqlite'

import { pinKeyOf, type PinRow, pinSum, SELECT_PIN_CHANGES, SELECT_PINS } from './apply/pins.ts'
import type { PinKey } from './commands.ts'

export interface KnownPin {
  readonly key: PinKey
  /** Oldest first. */
  readonly accepted: readonly { readonly fingerprint: string; readonly definition: string }[]
  readonly change:
    | {
        readonly fingerprint: string
        readonly definition: string
        /** ISO string. */
        readonly seenAt: string
      }
    | undefined
  readonly mistrusted: boolean
}

interface Recorded {
  readonly key: PinKey
  readonly fingerprints: Set<string>
}

const ENTRIES_OF_PINS = `SELECT facts FROM entries WHERE kind = 'pin_accepted' ORDER BY seq`

/** Pins by their key. */
export function loadPins(db: DatabaseSync): Map<string, KnownPin> {
  const recorded = loadRecorded(db)
  const rows = loadRows(db)
  const changes = loadChanges(db)
  const known = new Map<string, KnownPin>()
  for (const id of new Set([...recorded.keys(), ...rows.keys()])) {
    const said = recorded.get(id)
    const held = rows.get(id) ?? []
    const key = held[0] ?? said?.key
    if (key === undefined) continue
    known.set(id, {
      key: { peer: key.peer, endpoint: key.endpoint, kind: key.kind, name: key.name },
      accepted: held.map(({ fingerprint, definition }) => ({ fingerprint, definition })),
      change: changes.get(id),
      mistrusted: !fits(said, held),
    })
  }
  return known
}

function fits(
  said: Recorded | undefined,
  held: readonly (PinRow & { readonly sum: string })[],
): boolean {
  return (
    said !== undefined &&
    said.fingerprints.size === held.length &&
    held.every((row) => said.fingerprints.has(row.fingerprint) && pinSum(row) === row.sum)
  )
}

function loadRecorded(db: DatabaseSync): Map<string, Recorded> {
  const recorded = new Map<string, Recorded>()
  for (const row of db.prepare(ENTRIES_OF_PINS).iterate()) {
    const facts = JSON.parse(String(row['facts'])) as Readonly<Record<string, unknown>>
    const id = String(facts['pin'])
    const fingerprint = String(facts['fingerprint'])
    const before = facts['resets'] === true ? undefined : recorded.get(id)
    if (before !== undefined) {
      before.fingerprints.add(fingerprint)
      continue
    }
    const key: PinKey = {
      peer: String(facts['peer']),
      endpoint: String(facts['endpoint']),
      kind: String(facts['kind']),
      name: String(facts['name']),
    }
    recorded.set(id, { key, fingerprints: new Set([fingerprint]) })
  }
  return recorded
}

function loadRows(db: DatabaseSync): Map<string, (PinRow & { readonly sum: string })[]> {
  const rows = new Map<string, (PinRow & { readonly sum: string })[]>()
  for (const row of db.prepare(SELECT_PINS).iterate()) {
    const pin = row as unknown as PinRow & { readonly sum: string }
    const id = pinKeyOf(pin)
    const held = rows.get(id)
    if (held === undefined) rows.set(id, [pin])
    else held.push(pin)
  }
  return rows
}

function loadChanges(db: DatabaseSync): Map<string, NonNullable<KnownPin['change']>> {
  const changes = new Map<string, NonNullable<KnownPin['change']>>()
  for (const row of db.prepare(SELECT_PIN_CHANGES).iterate()) {
    const change = row as unknown as PinKey & {
      readonly fingerprint: string
      readonly definition: string
      readonly seenAt: number
    }
    changes.set(pinKeyOf(change), {
      fingerprint: change.fingerprint,
      definition: change.definition,
      seenAt: new Date(change.seenAt).toISOString(),
    })
  }
  return changes
}

/** Pins on disk. An accepted fingerprint is a row and an entry in one unit, so that the table can be held against the chain. */
import { clip } from '../canonical-text.ts'
import { rowSum, sha256 } from '../chain.ts'
import type { PinKey } from '../commands.ts'
import type { Writer } from '../writer.ts'

export interface PinRow extends PinKey {
  readonly fingerprint: string
  readonly definition: string
  readonly seq: number
}

export const SELECT_PINS = `SELECT peer, endpoint, kind, name, fingerprint, definition, seq, sum
  FROM pins ORDER BY seq`

export const SELECT_PIN_CHANGES = `SELECT peer, endpoint, kind, name, fingerprint, definition,
  seen_at AS seenAt FROM pin_changes ORDER BY peer, kind, name`

/** One text for one capability at one endpoint, however long its name: what entries name it by. */
export function pinKeyOf(pin: PinKey): string {
  return sha256(JSON.stringify([pin.peer, pin.endpoint, pin.kind, pin.name]))
}

/** Records an accepted fingerprint. */
export function acceptPin(
  writer: Writer,
  accept: {
    readonly pin: PinKey
    readonly fingerprint: string
    readonly definition: string
    readonly first: boolean
    readonly resets: boolean
    readonly by: string
  },
): void {
  const { pin, fingerprint, definition } = accept
  const seq = writer.append({
    kind: 'pin_accepted',
    facts: {
      pin: pinKeyOf(pin),
      peer: clip(pin.peer, 200),
      endpoint: pin.endpoint,
      kind: pin.kind,
      name: clip(pin.name),
      fingerprint,
      first: accept.first,
      by: clip(accept.by, 200),
      ...(accept.resets ? { resets: true } : {}),
    },
  })
  if (accept.resets) {
    writer.run(
      'DELETE FROM pins WHERE peer = :peer AND endpoint = :endpoint AND kind = :kind AND name = :name',
      { ...pin },
    )
  }
  const row: PinRow = { ...pin, fingerprint, definition, seq }
  writer.run(
    `INSERT INTO pins (peer, endpoint, kind, name, fingerprint, definition, seq, sum)
     VALUES (:peer, :endpoint, :kind, :name, :fingerprint, :definition, :seq, :sum)
     ON CONFLICT DO UPDATE SET definition = excluded.definition, seq = excluded.seq, sum = excluded.sum`,
    { ...row, sum: pinSum(row) },
  )
  forgetChange(writer, pin)
}

/** Records what is seen instead of what was accepted; only the newest sight is kept. */
export function recordChange(
  writer: Writer,
  change: { readonly pin: PinKey; readonly fingerprint: string; readonly definition: string },
): void {
  writer.run(
    `INSERT INTO pin_changes (peer, endpoint, kind, name, fingerprint, definition, seen_at)
     VALUES (:peer, :endpoint, :kind, :name, :fingerprint, :definition, :now)
     ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint, definition = excluded.definition,
       seen_at = excluded.seen_at`,
    {
      ...change.pin,
      fingerprint: change.fingerprint,
      definition: change.definition,
      now: writer.now,
    },
  )
}

/** The accepted definition is back. */
export function forgetChange(writer: Writer, pin: PinKey): void {
  writer.run(
    'DELETE FROM pin_changes WHERE peer = :peer AND endpoint = :endpoint AND kind = :kind AND name = :name',
    { ...pin },
  )
}

/** Checksum of a pin's row. */
export function pinSum(row: PinRow): string {
  return rowSum(
    row.peer,
    row.endpoint,
    row.kind,
    row.name,
    row.fingerprint,
    row.definition,
    row.seq,
  )
}

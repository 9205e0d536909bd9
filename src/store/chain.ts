/**
 * The hash chain: each entry's hash covers the hash before it and everything the entry says, so an edit, a deletion,
 * an insertion or a new order breaks every hash from there on. A cut tail leaves a valid chain: that is head-file.ts's to see.
 */
import { createHash } from 'node:crypto'

export interface Link {
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly callId: string | null
  readonly taskId: string | null
  /** Canonical JSON text. */
  readonly facts: string
}

/** Where the chain of one store begins: bound to the store's id, so a chain cannot be moved into another store. */
export function chainStart(storeId: string): string {
  return sha256(`comity ledger ${storeId}`)
}

/** The hash of an entry after `previous`. */
export function linkHash(previous: string, link: Link): string {
  const ids = [
    `"at":${JSON.stringify(link.at)}`,
    ...(link.callId === null ? [] : [`"callId":${JSON.stringify(link.callId)}`]),
    `"facts":${link.facts}`,
    `"kind":${JSON.stringify(link.kind)}`,
    `"seq":${link.seq}`,
    ...(link.taskId === null ? [] : [`"taskId":${JSON.stringify(link.taskId)}`]),
  ]
  return sha256(`${previous}\n{${ids.join(',')}}`)
}

/** Hex SHA-256. */
export function sha256(...data: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const piece of data) hash.update(piece)
  return hash.digest('hex')
}

/** Checksum over a record's columns: finds flipped bytes, proves nothing against someone who can recompute it. */
export function rowSum(...columns: readonly (string | number | null)[]): string {
  return sha256(JSON.stringify(columns)).slice(0, 32)
}

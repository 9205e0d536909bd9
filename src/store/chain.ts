/**
 * The hash chain: each entry's hash covers the hash before it and everything the entry says, so an edit, a deletion,
 * an insertion or a new order breaks every hash from there on. A cut tail leaves a valid chain: that is head-file.ts's to see.
 */
import { createHash, hash } from 'node:crypto'

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
  const { seq, at, kind, callId, taskId, facts } = link
  const call = callId === null ? '' : `"callId":${quote(callId)},`
  const task = taskId === null ? '' : `,"taskId":${quote(taskId)}`
  return hash(
    'sha256',
    `${previous}\n{"at":${quote(at)},${call}"facts":${facts},"kind":${quote(kind)},"seq":${seq}${task}}`,
  )
}

const PLAIN = /^[\w.:-]*$/

/** As JSON. Ids, kinds and times have nothing to escape. */
function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Hex SHA-256. */
export function sha256(...data: readonly (string | Uint8Array)[]): string {
  const [only] = data
  if (data.length === 1 && only !== undefined) return hash('sha256', only)
  const digest = createHash('sha256')
  for (const piece of data) digest.update(piece)
  return digest.digest('hex')
}

/** Hex SHA-256 over a salt and what it hides. */
export function saltedSha256(salt: Uint8Array, bytes: Uint8Array): string {
  // One call for small ones, since making a hash object costs more than hashing them; large ones are not copied.
  if (bytes.byteLength <= 1024) return hash('sha256', Buffer.concat([salt, bytes]))
  return sha256(salt, bytes)
}

/** Checksum over a record's columns: finds flipped bytes, proves nothing against someone who can recompute it. */
export function rowSum(...columns: readonly (string | number | null)[]): string {
  return sha256(JSON.stringify(columns)).slice(0, 32)
}

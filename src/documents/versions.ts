/**
 * Versions and digests: how a document is named so that a quote can be checked later.
 *
 * The digest is always of the file's bytes. The version is what the document says of itself, and
 * only when it says nothing the beginning of that digest.
 */
import { createHash } from 'node:crypto'

const MAX_VERSION_LENGTH = 100

/** `sha256:` and 64 hex digits. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/**
 * Chooses a document's version.
 *
 * @param declared the text of the document's own `version`, a number as it was written.
 * @returns `declared` trimmed, if it can stand in a line of a message; else 12 hex digits of the digest.
 */
export function versionOf(declared: string | undefined, digest: string): string {
  const version = declared?.trim() ?? ''
  const usable = version !== '' && version.length <= MAX_VERSION_LENGTH && !/\p{C}/u.test(version)
  return usable ? version : digest.slice('sha256:'.length, 'sha256:'.length + 12)
}

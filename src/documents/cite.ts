/** How a document is named in an answer, so that what is quoted can be found again and checked. */
import type { Document } from './document.ts'

/** A document in an answer. */
export interface Citation {
  readonly document: string
  readonly version: string
  readonly digest: string
  readonly uri: string
  /** The lines are of the text read from it. */
  readonly readFrom?: 'text/html'
}

export function cite({ id, version, digest, uri, format }: Document): Citation {
  return {
    document: id,
    version,
    digest,
    uri,
    ...(format === 'html' ? { readFrom: 'text/html' } : {}),
  }
}

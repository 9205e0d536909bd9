/**
 * Artifacts of a task: what an agent hands back, possibly in chunks, early and several.
 *
 * Pure. One rule for live streams, snapshots and pushes: `append` to an id never seen creates the artifact marked
 * `headless`, so that nothing is lost in silence and nothing headless is accepted. Bytes are kept by the store.
 *
 * @source A2A 1.0, 4.2.2 TaskArtifactUpdateEvent (append to an unknown id is open in the text; this is our reading)
 */

export type ArtifactPart =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly mediaType?: string
      readonly filename?: string
    }
  | {
      readonly kind: 'raw'
      readonly bytes: Uint8Array
      readonly mediaType?: string
      readonly filename?: string
    }
  | {
      readonly kind: 'url'
      readonly url: string
      readonly mediaType?: string
      readonly filename?: string
    }
  | {
      readonly kind: 'data'
      readonly json: string
      readonly mediaType?: string
      readonly filename?: string
    }

export interface ArtifactChunk {
  readonly artifactId: string
  readonly name?: string
  readonly append: boolean
  /** `lastChunk`, or true for an artifact that came whole. */
  readonly last: boolean
  readonly parts: readonly ArtifactPart[]
}

/** What a task's row says of one artifact; the parts are in the store. */
export interface ArtifactRecord {
  readonly artifactId: string
  readonly name?: string
  readonly mediaType?: string
  readonly parts: number
  readonly bytes: number
  /** The last chunk has arrived, or the task ended. */
  readonly complete: boolean
  /** Its first chunk said `append`: the beginning may be missing. */
  readonly headless: boolean
}

/** An artifact with its content, as acceptance and callers see it. */
export interface Artifact extends ArtifactRecord {
  readonly content: readonly ArtifactPart[]
}

/** What the store must do for one chunk. */
export interface ArtifactWrite {
  readonly do: 'replace' | 'append'
  readonly artifactId: string
  readonly parts: readonly ArtifactPart[]
}

/** Size of one part in bytes as it counts against limits (text as UTF-16 units is close enough to refuse a flood). */
export function partBytes(part: ArtifactPart): number {
  switch (part.kind) {
    case 'text':
      return part.text.length
    case 'raw':
      return part.bytes.byteLength
    case 'url':
      return part.url.length
    case 'data':
      return part.json.length
  }
}

/** Applies one chunk to the records of a task. */
export function applyChunk(
  records: readonly ArtifactRecord[],
  chunk: ArtifactChunk,
): { readonly records: readonly ArtifactRecord[]; readonly write: ArtifactWrite } {
  const known = records.find((record) => record.artifactId === chunk.artifactId)
  const appends = chunk.append && known !== undefined
  const size = chunk.parts.reduce((sum, part) => sum + partBytes(part), 0)
  const name =
    chunk.name ?? known?.name ?? chunk.parts.find((part) => part.filename !== undefined)?.filename
  const mediaType = (appends ? known.mediaType : undefined) ?? mediaTypeOf(chunk.parts)
  const next: ArtifactRecord = {
    artifactId: chunk.artifactId,
    ...(name === undefined ? {} : { name }),
    ...(mediaType === undefined ? {} : { mediaType }),
    parts: (appends ? known.parts : 0) + chunk.parts.length,
    bytes: (appends ? known.bytes : 0) + size,
    complete: chunk.last,
    headless: appends ? known.headless : chunk.append,
  }
  return {
    records:
      known === undefined
        ? [...records, next]
        : records.map((record) => (record === known ? next : record)),
    write: { do: appends ? 'append' : 'replace', artifactId: chunk.artifactId, parts: chunk.parts },
  }
}

function mediaTypeOf(parts: readonly ArtifactPart[]): string | undefined {
  const stated = parts.find((part) => part.mediaType !== undefined)?.mediaType
  if (stated !== undefined) return stated
  const first = parts[0]
  if (first === undefined) return undefined
  if (first.kind === 'text') return 'text/plain'
  return first.kind === 'data' ? 'application/json' : undefined
}

/** The bytes of an artifact's content as one text: text and data parts joined, in order; undefined when a part is neither. */
export function textOf(
  content: readonly ArtifactPart[],
  decode: (bytes: Uint8Array) => string,
): string | undefined {
  const texts: string[] = []
  for (const part of content) {
    if (part.kind === 'url') return undefined
    texts.push(
      part.kind === 'text' ? part.text : part.kind === 'data' ? part.json : decode(part.bytes),
    )
  }
  return texts.join('')
}

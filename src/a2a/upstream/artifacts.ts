/**
 * Artifacts of a remote task in core's words: one rule for live chunks and for snapshots.
 *
 * Pure. `append` to an id never seen is passed on as it is, and core marks the artifact `headless`;
 * one that grows past the limit is emptied and stays so, so that it is visible and never accepted;
 * those beyond the count stand as one without content, for the same reason.
 * Data parts keep the text they were received as.
 *
 * @source A2A 1.0.1, 4.2.2 (append to an unknown id is open in the text)
 */
import { type ArtifactChunk, type ArtifactPart, partBytes } from '../../core/words/artifact.ts'
import type { Artifact, Part, TaskArtifactUpdateEvent } from '../wire/messages.ts'
import { elementsOf, membersOf, type Span } from '../wire/span.ts'

/** Bounds over all artifacts of one task. */
export interface ArtifactLimits {
  /** Default 1000. */
  readonly maxArtifacts: number
  /** Of all artifacts of the task together, as received. Default 256 MiB. */
  readonly maxBytes: number
}

/** The default bounds. */
const ARTIFACT_LIMITS: ArtifactLimits = { maxArtifacts: 1000, maxBytes: 256 * 1024 * 1024 }

/** What has been taken of each artifact so far; `refused` ones take nothing more. */
export type Taken = ReadonlyMap<string, { readonly bytes: number; readonly refused: boolean }>

/** Nothing taken yet. */
export const NOTHING_TAKEN: Taken = new Map()

/** Stands for all artifacts beyond the count. */
const NOT_KEPT = 'comity:not-kept'

/** Applies the bounds to one chunk. */
export function takeChunk(
  taken: Taken,
  chunk: ArtifactChunk,
  limits: ArtifactLimits = ARTIFACT_LIMITS,
): { readonly taken: Taken; readonly chunk: ArtifactChunk | undefined } {
  const known = taken.get(chunk.artifactId)
  if (known?.refused === true && chunk.append) return { taken, chunk: undefined }
  // The ones before it stay whole.
  const isBeyond = known === undefined && taken.size >= limits.maxArtifacts
  if (isBeyond || chunk.artifactId === NOT_KEPT) return tellNotKept(taken, limits)
  const size = chunk.parts.reduce((sum, part) => sum + partBytes(part), 0)
  const bytes = (chunk.append ? (known?.bytes ?? 0) : 0) + size
  let others = 0
  for (const [id, held] of taken) if (id !== chunk.artifactId) others += held.bytes
  const refused = others + bytes > limits.maxBytes
  const next = new Map(taken).set(chunk.artifactId, { bytes: refused ? 0 : bytes, refused })
  return { taken: next, chunk: refused ? { ...chunk, append: false, parts: [] } : chunk }
}

/** Once a task: it has no content, so that whoever judges what was handed over does not take it for whole. */
function tellNotKept(taken: Taken, limits: ArtifactLimits): ReturnType<typeof takeChunk> {
  if (taken.has(NOT_KEPT)) return { taken, chunk: undefined }
  return {
    taken: new Map(taken).set(NOT_KEPT, { bytes: 0, refused: true }),
    chunk: {
      artifactId: NOT_KEPT,
      name: `more than ${limits.maxArtifacts} artifacts came, the others are not kept`,
      append: false,
      last: true,
      parts: [],
    },
  }
}

/** Applies the bounds to a snapshot, which replaces everything taken before. */
export function takeSnapshot(
  chunks: readonly ArtifactChunk[],
  limits: ArtifactLimits = ARTIFACT_LIMITS,
): { readonly taken: Taken; readonly chunks: readonly ArtifactChunk[] } {
  let taken = NOTHING_TAKEN
  const kept: ArtifactChunk[] = []
  for (const chunk of chunks) {
    const step = takeChunk(taken, chunk, limits)
    taken = step.taken
    if (step.chunk !== undefined) kept.push(step.chunk)
  }
  return { taken, chunks: kept }
}

/** One live event as a chunk. @param text the event's artifact as received. */
export function chunkOfEvent(
  event: TaskArtifactUpdateEvent,
  text: string,
  span: Span,
): ArtifactChunk {
  return toChunk(event.artifact, text, span, {
    append: event.append ?? false,
    last: event.lastChunk ?? false,
  })
}

/**
 * The artifacts of a task as read whole, one entry an id: parts of a repeated id are joined, since
 * dropping one would lose a chunk in silence.
 *
 * @param text the task as received.
 * @param ended whether the task is terminal; until then an artifact may still grow.
 */
export function chunksOfTask(
  artifacts: readonly Artifact[],
  text: string,
  task: Span,
  ended: boolean,
): readonly ArtifactChunk[] {
  const list = membersOf(text, task).get('artifacts')
  const spans = list === undefined ? [] : elementsOf(text, list)
  const byId = new Map<string, ArtifactChunk>()
  for (const [index, artifact] of artifacts.entries()) {
    const span = spans[index] ?? { start: 0, end: 0 }
    const chunk = toChunk(artifact, text, span, { append: false, last: ended })
    const known = byId.get(chunk.artifactId)
    byId.set(
      chunk.artifactId,
      known === undefined ? chunk : { ...known, parts: [...known.parts, ...chunk.parts] },
    )
  }
  return [...byId.values()]
}

function toChunk(
  artifact: Artifact,
  text: string,
  span: Span,
  how: { readonly append: boolean; readonly last: boolean },
): ArtifactChunk {
  const list = membersOf(text, span).get('parts')
  const spans = list === undefined ? [] : elementsOf(text, list)
  return {
    artifactId: artifact.artifactId,
    ...(artifact.name === undefined || artifact.name === '' ? {} : { name: artifact.name }),
    ...how,
    parts: artifact.parts.map((part, index) => toPart(part, text, spans[index])),
  }
}

function toPart(part: Part, text: string, span: Span | undefined): ArtifactPart {
  const about = {
    ...(part.mediaType === undefined || part.mediaType === '' ? {} : { mediaType: part.mediaType }),
    ...(part.filename === undefined || part.filename === '' ? {} : { filename: part.filename }),
  }
  if ('text' in part) return { kind: 'text', text: part.text, ...about }
  // Buffer reads both alphabets, with padding or without.
  if ('raw' in part) return { kind: 'raw', bytes: Buffer.from(part.raw, 'base64'), ...about }
  if ('url' in part) return { kind: 'url', url: part.url, ...about }
  const data = span === undefined ? undefined : membersOf(text, span).get('data')
  const json = data === undefined ? JSON.stringify(part.data) : text.slice(data.start, data.end)
  return { kind: 'data', json, ...about }
}

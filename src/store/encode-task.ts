/** Tasks as they are stored and as core knows them. A peer's own bytes inside (questions) survive byte for byte. */
import type { Artifact, ArtifactPart, ArtifactRecord } from '../core/words/artifact.ts'
import { assertNever } from '../core/words/assert-never.ts'
import type { Native } from '../core/words/native.ts'
import type { TaskCommit } from '../core/ports/tasks.ts'
import type { TaskRecord } from '../core/words/task.ts'
import { ComityError } from '../core/words/errors.ts'
import { partSum } from './apply/parts.ts'
import type { TaskRow } from './apply/task-row.ts'
import { clip, factsText } from './canonical-text.ts'
import { sha256 } from './chain.ts'
import type { CommitTask, PartWrite, TaskWrite } from './commands.ts'

/** Characters of all questions' words together, and of the peer's last ones. */
const MAX_WORDS = 131_072
/** Bytes of all questions in their own form together. */
const MAX_NATIVES = 262_144

const encoder = new TextEncoder()
// A byte order mark is content here.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** A stored part with its place. */
export interface PartRow extends PartWrite {
  readonly artifactId: string
  readonly position: number
  readonly sum: string
}

/** A task's row as it is written. */
export function encodeTask(record: TaskRecord): TaskWrite {
  const { version, ...rest } = record
  // Together they stay well below the document's limit: a peer must not be able to block its task by what it asks.
  const share = record.questions.length + 1
  const questions = record.questions.map((question) => ({
    ...question,
    text: clipWords(question.text, Math.floor(MAX_WORDS / share)),
    native: encodeNative(clipNative(question.native, Math.floor(MAX_NATIVES / share))),
  }))
  const { theirWords } = record
  const words = theirWords === undefined ? {} : { theirWords: clipWords(theirWords, MAX_WORDS) }
  return {
    id: record.id,
    version,
    principal: record.owner.id,
    state: record.state,
    callId: record.callId,
    document: JSON.stringify({ ...rest, ...words, questions }),
  }
}

/** A task from its row, whose checksum has been checked. */
export function decodeTask(row: TaskRow): TaskRecord {
  const stored = JSON.parse(row.document) as Omit<TaskRecord, 'version' | 'questions'> & {
    readonly questions: readonly (Omit<TaskRecord['questions'][number], 'native'> & {
      readonly native: StoredNative
    })[]
  }
  return {
    ...stored,
    version: row.version,
    questions: stored.questions.map((question) => ({
      ...question,
      native: decodeNative(question.native),
    })),
  }
}

/** A task's commit as a command. */
export function encodeCommit(commit: TaskCommit): CommitTask {
  return {
    task: encodeTask(commit.next),
    artifactIds: commit.next.artifacts.map((artifact) => artifact.artifactId),
    writes: commit.writes.map((write) => ({
      do: write.do,
      artifactId: write.artifactId,
      parts: write.parts.map(encodePart),
    })),
    ...(commit.effects === undefined ? {} : { effects: commit.effects.map((owed) => owed.do) }),
    ...(commit.entry === undefined
      ? {}
      : { entry: { kind: commit.entry.kind, facts: factsText(commit.entry.facts) } }),
  }
}

/** A part as its row holds it. The bytes are copied: the caller's buffer may be reused before the worker has them. */
function encodePart(part: ArtifactPart): PartWrite {
  return {
    kind: part.kind,
    content: contentOf(part),
    mediaType: part.mediaType ?? null,
    filename: part.filename ?? null,
  }
}

/** An artifact from its record and its parts in order. @throws ComityError `store_corrupt` when a part does not fit its checksum. */
export function decodeArtifact(
  taskId: string,
  record: ArtifactRecord,
  parts: readonly PartRow[],
): Artifact {
  return {
    ...record,
    content: parts.map((part) => {
      if (partSum(taskId, record.artifactId, part.position, part) !== part.sum) {
        throw new ComityError(
          'store_corrupt',
          `part ${part.position} of artifact ${record.artifactId} of task ${taskId} does not fit its checksum`,
        )
      }
      return decodePart(part)
    }),
  }
}

function contentOf(part: ArtifactPart): Uint8Array {
  switch (part.kind) {
    case 'text':
      return encoder.encode(part.text)
    case 'raw':
      return part.bytes.slice()
    case 'url':
      return encoder.encode(part.url)
    case 'data':
      return encoder.encode(part.json)
    default:
      return assertNever(part)
  }
}

function decodePart(part: PartWrite): ArtifactPart {
  const told = {
    ...(part.mediaType === null ? {} : { mediaType: part.mediaType }),
    ...(part.filename === null ? {} : { filename: part.filename }),
  }
  switch (part.kind) {
    case 'text':
      return { kind: 'text', text: decoder.decode(part.content), ...told }
    case 'raw':
      return { kind: 'raw', bytes: part.content, ...told }
    case 'url':
      return { kind: 'url', url: decoder.decode(part.content), ...told }
    case 'data':
      return { kind: 'data', json: decoder.decode(part.content), ...told }
    default:
      return assertNever(part.kind)
  }
}

/** What `clip` leaves, with its remark, is not clipped again by the next commit. */
function clipWords(text: string, limit: number): string {
  return text.length <= limit + 32 ? text : clip(text, limit)
}

/** A peer's own form of a question, or how long it was: what it says is in `text`. */
function clipNative(native: Native, maxBytes: number): Native {
  const { bytes } = native
  // What is left of a clipped one is not clipped again.
  if (bytes.byteLength <= Math.max(maxBytes, 256)) return native
  const clipped = { bytes: bytes.byteLength, sha256: sha256('', bytes) }
  const value = { clipped }
  return { ...native, bytes: encoder.encode(JSON.stringify(value)), value: () => value }
}

interface StoredNative {
  readonly protocol: Native['protocol']
  readonly revision: string
  readonly base64: string
}

function encodeNative(native: Native): StoredNative {
  const { protocol, revision, bytes } = native
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { protocol, revision, base64 }
}

function decodeNative(stored: StoredNative): Native {
  const bytes = new Uint8Array(Buffer.from(stored.base64, 'base64'))
  let parsed: { readonly value: unknown } | undefined
  return {
    protocol: stored.protocol,
    revision: stored.revision,
    bytes,
    value: () => (parsed ??= { value: JSON.parse(decoder.decode(bytes)) }).value,
  }
}

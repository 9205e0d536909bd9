/**
 * A task as a tool result: whose move is next comes first, theirs is marked as theirs, and a refused delivery says so
 * before anything else. Small text comes along; everything else is a link that `resources/read` follows. What a server
 * handed back for a call of its tool is no artifact here: it is the call's result, behind our words as it came.
 */
import type { ArtifactRecord } from '../../core/words/artifact.ts'
import { textOf } from '../../core/words/artifact.ts'
import {
  ERROR_ARTIFACT,
  isOfAgent,
  nextMover,
  RESULT_ARTIFACT,
  type TaskRecord,
} from '../../core/words/task.ts'
import {
  changeMembers,
  concat,
  encodeJson,
  findMember,
  readValue,
  scanArray,
  scanObject,
  setMembers,
  sliceOf,
} from '../wire/spans.ts'
import type { Answer } from './answer.ts'
import { artifactUri } from './artifact-resource.ts'
import type { Delegation } from './options.ts'
import { OUTCOME_META } from './outcome.ts'
import { ownError, ownResult } from './task-artifact.ts'
import { sayTask } from './task-words.ts'
import type { Visit } from './visit.ts'

/** Text artifacts up to this size come inline, bytes. */
const INLINE_BYTES = 16 * 1024
/** Artifacts shown one by one; the rest is counted. */
const MAX_SHOWN = 50
const COMMA = new TextEncoder().encode(',')

/** What the caller is told beside the task itself. */
export interface TaskRemark {
  /** In our words, before the view. */
  readonly text?: string
  /** Something went wrong with the request about the task. */
  readonly isError?: boolean
  /** What this very request came to, where that is not how the task stands. */
  readonly outcome?: { readonly state: string; readonly callId: string; readonly ran: string }
  /** More members of structuredContent. */
  readonly facts?: Readonly<Record<string, unknown>>
}

export async function renderTask(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
  remark: TaskRemark = {},
): Promise<Answer> {
  const shown = shownOf(task)
  const own = await ownEnd(delegation, visit, task)
  const text = [remark.text, sayTask(task, shown)].filter((part) => part !== undefined).join('\n')
  const blocks: object[] = [{ type: 'text', text }]
  for (const record of shown) blocks.push(await artifactBlock(delegation, visit, task, record))
  const facts = encodeJson({ ...taskFacts(task), ...remark.facts })
  const meta = {
    state: task.state === 'submitted' ? 'working' : task.state,
    callId: task.callId,
    ran: ranOfTask(task),
    ...remark.outcome,
    taskId: task.id,
  }
  const bytes = setMembers(encodeJson({}), undefined, {
    content: joinArrays(encodeJson(blocks), own.content),
    structuredContent: setMembers(facts, undefined, own.facts),
    isError: encodeJson(remark.isError === true || own.isError || endedBadly(task)),
    _meta: encodeJson({ [OUTCOME_META]: meta }),
  })
  return { kind: 'result', bytes }
}

/** What a server handed back, as its task's view shows it. */
interface OwnEnd {
  /** The content of its result, a JSON array. */
  readonly content?: Uint8Array
  readonly isError: boolean
  /** Members of structuredContent. */
  readonly facts: Readonly<Record<string, Uint8Array>>
}

async function ownEnd(delegation: Delegation, visit: Visit, task: TaskRecord): Promise<OwnEnd> {
  if (isOfAgent(task)) return { isError: false, facts: {} }
  const error = await ownError(delegation, visit, task)
  if (error !== undefined) return { isError: true, facts: { error } }
  const result = await ownResult(delegation, visit, task)
  if (result === undefined) return { isError: false, facts: {} }
  const members = scanObject(result)
  const content = findMember(members, 'content')
  const isError = findMember(members, 'isError')
  return {
    ...(content?.type === 'array' ? { content: sliceOf(result, content.value) } : {}),
    isError: isError !== undefined && readValue(result, isError.value) === true,
    facts: { result: changeMembers(result, members, { resultType: undefined }) },
  }
}

/** Two JSON arrays as one. */
function joinArrays(one: Uint8Array, other: Uint8Array | undefined): Uint8Array {
  if (other === undefined || scanArray(other).length === 0) return one
  return concat([one.subarray(0, -1), COMMA, other.subarray(1)])
}

/** Artifacts shown one by one: of a server's call what it handed back is its result. */
function shownOf(task: TaskRecord): readonly ArtifactRecord[] {
  return artifactsOf(task).slice(0, MAX_SHOWN)
}

function artifactsOf(task: TaskRecord): readonly ArtifactRecord[] {
  if (isOfAgent(task)) return task.artifacts
  return task.artifacts.filter(
    ({ artifactId }) => artifactId !== RESULT_ARTIFACT && artifactId !== ERROR_ARTIFACT,
  )
}

function ranOfTask(task: TaskRecord): 'yes' | 'no' | 'unknown' {
  if (task.state === 'unknown' || task.state === 'canceled') return 'unknown'
  // Without a handle no remote task was ever seen: a failure then came before or instead of one.
  if (task.state === 'rejected') return 'no'
  if (task.state === 'failed' || task.state === 'submitted') {
    return task.handle === undefined ? 'unknown' : 'yes'
  }
  return 'yes'
}

/** Its result is an error: what came of it is not what was asked for. */
export function endedBadly(task: TaskRecord): boolean {
  return (
    task.state === 'failed' ||
    task.state === 'rejected' ||
    task.state === 'unknown' ||
    task.verdict.state === 'refused'
  )
}

function taskFacts(task: TaskRecord): Readonly<Record<string, unknown>> {
  const more = artifactsOf(task).length - MAX_SHOWN
  return {
    taskId: task.id,
    ...(task.contextId === undefined ? {} : { contextId: task.contextId }),
    ...placeFacts(task),
    state: task.state,
    next: nextMover(task.state),
    verdict: task.verdict,
    ...(task.questions.length === 0
      ? {}
      : { questions: task.questions.map(({ key, kind, text }) => ({ key, kind, text })) }),
    ...(task.theirWords === undefined ? {} : { theirWords: task.theirWords }),
    artifacts: shownOf(task).map((record) => ({
      artifactId: record.artifactId,
      ...(record.name === undefined ? {} : { name: record.name }),
      ...(record.mediaType === undefined ? {} : { mediaType: record.mediaType }),
      bytes: record.bytes,
      complete: record.complete,
      ...(record.headless ? { headless: true } : {}),
      uri: artifactUri(task.id, record.artifactId),
    })),
    ...(more > 0 ? { moreArtifacts: more } : {}),
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
  }
}

/** The agent, or the server and its tool. */
function placeFacts(task: TaskRecord): Readonly<Record<string, string>> {
  const { peer, capability } = task
  if (isOfAgent(task)) return { agent: peer }
  return { server: peer, ...(capability === undefined ? {} : { tool: capability }) }
}

/** Inline when it is small, complete text; else a link. */
async function artifactBlock(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
  record: ArtifactRecord,
): Promise<object> {
  const uri = artifactUri(task.id, record.artifactId)
  const mimeType = record.mediaType
  const inline = record.complete && record.bytes <= INLINE_BYTES && isText(mimeType)
  const artifact = inline
    ? await delegation.artifact(task.id, record.artifactId, visit.principal)
    : undefined
  const text =
    artifact === undefined
      ? undefined
      : textOf(artifact.content, (bytes) => new TextDecoder().decode(bytes))
  if (text !== undefined) {
    return {
      type: 'resource',
      resource: { uri, ...(mimeType === undefined ? {} : { mimeType }), text },
    }
  }
  // 2025-03-26 has no resource links.
  if (visit.revision === '2025-03-26') return { type: 'text', text: `Artifact: ${uri}` }
  return {
    type: 'resource_link',
    uri,
    name: record.name ?? record.artifactId,
    ...(mimeType === undefined ? {} : { mimeType }),
    size: record.bytes,
  }
}

function isText(mediaType: string | undefined): boolean {
  const type = (mediaType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  return (
    type.startsWith('text/') ||
    type === 'application/json' ||
    type.endsWith('+json') ||
    type === 'application/yaml' ||
    type === 'application/xml'
  )
}

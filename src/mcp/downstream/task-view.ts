/**
 * A task as a tool result: whose move is next comes first, theirs is marked as theirs, and a refused delivery says so
 * before anything else. Small text comes along; everything else is a link that `resources/read` follows.
 */
import type { ArtifactRecord } from '../../core/words/artifact.ts'
import { textOf } from '../../core/words/artifact.ts'
import { isTerminal, nextMover, type TaskRecord } from '../../core/words/task.ts'
import { ourResult, type Answer } from './answer.ts'
import { artifactUri } from './artifact-resource.ts'
import type { Delegation } from './options.ts'
import { OUTCOME_META, quote } from './outcome.ts'
import type { Visit } from './visit.ts'

/** Text artifacts up to this size come inline, bytes. */
const INLINE_BYTES = 16 * 1024
/** Artifacts shown one by one; the rest is counted. */
const MAX_SHOWN = 50

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
  const text = [remark.text, sayTask(task)].filter((part) => part !== undefined).join('\n')
  const shown = task.artifacts.slice(0, MAX_SHOWN)
  const blocks: object[] = []
  for (const record of shown) blocks.push(await artifactBlock(delegation, visit, task, record))
  return ourResult({
    content: [{ type: 'text', text }, ...blocks],
    structuredContent: { ...taskFacts(task), ...remark.facts },
    isError: remark.isError === true || endedBadly(task),
    _meta: {
      [OUTCOME_META]: {
        state: task.state === 'submitted' ? 'working' : task.state,
        callId: task.callId,
        ran: ranOfTask(task),
        ...remark.outcome,
        taskId: task.id,
      },
    },
  })
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
  return {
    taskId: task.id,
    ...(task.contextId === undefined ? {} : { contextId: task.contextId }),
    agent: task.peer,
    state: task.state,
    next: nextMover(task.state),
    verdict: task.verdict,
    ...(task.questions.length === 0
      ? {}
      : { questions: task.questions.map(({ key, kind, text }) => ({ key, kind, text })) }),
    ...(task.theirWords === undefined ? {} : { theirWords: task.theirWords }),
    artifacts: task.artifacts.slice(0, MAX_SHOWN).map((record) => ({
      artifactId: record.artifactId,
      ...(record.name === undefined ? {} : { name: record.name }),
      ...(record.mediaType === undefined ? {} : { mediaType: record.mediaType }),
      bytes: record.bytes,
      complete: record.complete,
      ...(record.headless ? { headless: true } : {}),
      uri: artifactUri(task.id, record.artifactId),
    })),
    ...(task.artifacts.length > MAX_SHOWN
      ? { moreArtifacts: task.artifacts.length - MAX_SHOWN }
      : {}),
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
  }
}

/** The view in sentences; verdict first when it stands against what the state says. */
function sayTask(task: TaskRecord): string {
  const context = task.contextId === undefined ? '' : `, context ${task.contextId}`
  return [
    ...(task.verdict.state === 'refused'
      ? [
          `REFUSED: the delivery does not meet its acceptance criteria: ${task.verdict.reasons.join('; ')}`,
        ]
      : []),
    `Task ${task.id} at agent ${task.peer}${context}: ${task.state}. ${sayNext(task)}`,
    ...(task.theirWords === undefined ? [] : [`The agent says: ${quote(task.theirWords)}`]),
    ...task.questions.map(
      ({ key, kind, text }) => `The agent asks (${kind}, key ${key}): ${quote(text)}`,
    ),
    ...(task.verdict.state === 'refused' ? [] : [sayVerdict(task)]),
    ...task.artifacts.slice(0, MAX_SHOWN).map(sayArtifact),
  ]
    .filter((line) => line !== '')
    .join('\n')
}

function sayNext(task: TaskRecord): string {
  switch (nextMover(task.state)) {
    case 'agent':
      return `The agent is at work and is followed on here; look again with task_status {"taskId":"${task.id}"}.`
    case 'you':
      return `It waits for an answer: task_answer {"taskId":"${task.id}","answer":"..."}.`
    case 'operator':
      return task.state === 'unknown'
        ? 'It is not known whether the agent received it; it is being looked for. Do not delegate it again.'
        : 'It waits for an authorisation that the one who runs this gateway has to give.'
    case 'nobody':
      return 'It has ended.'
  }
}

function sayVerdict(task: TaskRecord): string {
  switch (task.verdict.state) {
    case 'accepted':
      return 'Verdict: accepted.'
    case 'pending':
      return 'Verdict: pending, the delivery is being judged; look again with task_status.'
    case 'not_judged':
      return isTerminal(task.state) && task.artifacts.length > 0
        ? 'Verdict: not judged, no acceptance criteria were set.'
        : ''
    case 'refused':
      return ''
  }
}

function sayArtifact(record: ArtifactRecord): string {
  const state = record.complete ? 'complete' : 'not complete yet'
  return `Artifact ${record.name ?? record.artifactId}: ${record.mediaType ?? 'unknown type'}, ${record.bytes} bytes, ${state}`
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

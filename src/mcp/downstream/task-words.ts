/**
 * A task in sentences: what it is and where, whose move is next, what is said and asked there, and the verdict, first when it
 * stands against what the state says.
 */
import type { ArtifactRecord } from '../../core/words/artifact.ts'
import { isOfAgent, isTerminal, nextMover, type TaskRecord } from '../../core/words/task.ts'
import { quote } from './outcome.ts'

/** Who works on it. */
export function workerOf(task: TaskRecord): 'agent' | 'server' {
  return isOfAgent(task) ? 'agent' : 'server'
}

/** @param artifacts those that are shown one by one. */
export function sayTask(task: TaskRecord, artifacts: readonly ArtifactRecord[]): string {
  const context = task.contextId === undefined ? '' : `, context ${task.contextId}`
  const worker = workerOf(task)
  return [
    ...(task.verdict.state === 'refused'
      ? [
          `REFUSED: the delivery does not meet its acceptance criteria: ${task.verdict.reasons.join('; ')}`,
        ]
      : []),
    `Task ${task.id} at ${placeOf(task)}${context}: ${task.state}. ${sayNext(task, worker)}`,
    ...(task.theirWords === undefined ? [] : [`The ${worker} says: ${quote(task.theirWords)}`]),
    ...task.questions.map(
      ({ key, kind, text }) => `The ${worker} asks (${kind}, key ${key}): ${quote(text)}`,
    ),
    ...(task.verdict.state === 'refused' ? [] : [sayVerdict(task)]),
    ...artifacts.map(sayArtifact),
  ]
    .filter((line) => line !== '')
    .join('\n')
}

function placeOf(task: TaskRecord): string {
  const { peer, capability } = task
  if (isOfAgent(task)) return `agent ${peer}`
  return capability === undefined ? peer : `${peer}/${capability}`
}

function sayNext(task: TaskRecord, worker: 'agent' | 'server'): string {
  switch (nextMover(task.state)) {
    case 'agent':
      return `The ${worker} is at work and is followed on here; look again with task_status {"taskId":"${task.id}"}.`
    case 'you':
      return `It waits for an answer: task_answer {"taskId":"${task.id}","answer":"..."}.`
    case 'operator':
      return task.state === 'unknown'
        ? sayUnknown(task, worker)
        : 'It waits for an authorisation that the one who runs this gateway has to give.'
    case 'nobody':
      return 'It has ended.'
  }
}

function sayUnknown({ because }: TaskRecord, worker: 'agent' | 'server'): string {
  if (worker === 'agent')
    return 'It is not known whether the agent received it; it is being looked for. Do not delegate it again.'
  const why =
    because === 'process_died'
      ? 'the process in which it ran has ended'
      : because === 'cancel_unconfirmed'
        ? 'it was told to stop and does not confirm it'
        : 'its server does not tell'
  return `It is not known what became of it: ${why}. It may have run; do not simply call it again.`
}

function sayVerdict(task: TaskRecord): string {
  switch (task.verdict.state) {
    case 'accepted':
      return 'Verdict: accepted.'
    case 'pending':
      return 'Verdict: pending, the delivery is being judged; look again with task_status.'
    case 'not_judged':
      return isOfAgent(task) && isTerminal(task.state) && task.artifacts.length > 0
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

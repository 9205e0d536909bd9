/** The verbs about old work: tasks, one task, artifacts, answers, cancels. */
import type { Artifact, ArtifactPart } from '../../core/words/artifact.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Answer } from '../../core/words/question.ts'
import { isTerminal, type TaskRecord } from '../../core/words/task.ts'
import { answerTask as answerByForm, nativeTextOf } from './call-task.ts'
import type { Live, Operator, TaskReport } from './operator.ts'
import { OPERATOR } from '../../core/words/principal.ts'
import type { HostParts } from './parts.ts'
import { reportOutcome, reportTask } from './reports.ts'
import { waitForTask } from './waits.ts'

export function createTaskVerbs(
  parts: HostParts,
): Pick<Operator, 'tasks' | 'task' | 'artifact' | 'answer' | 'cancel'> {
  return {
    async tasks({ all }) {
      const found = await parts.store.tasks.list(OPERATOR)
      // A direct answer never was a task.
      return found
        .filter((task) => task.state !== 'answered' && (all === true || !isTerminal(task.state)))
        .map((task) => reportTask(task))
    },
    async task({ taskId, waitMs }, live) {
      await load(parts, taskId)
      const report =
        waitMs === undefined
          ? reportTask(await load(parts, taskId))
          : await waitForTask(parts, taskId, waitMs, live)
      return withResult(parts, report)
    },
    async artifact({ taskId, artifactId }) {
      await load(parts, taskId)
      const artifact = (await parts.store.tasks.artifacts(taskId)).find(
        (one) => one.artifactId === artifactId,
      )
      if (artifact === undefined)
        throw new ComityError('not_found', `task ${taskId} has no artifact ${artifactId}`)
      const { content, ...record } = artifact
      return { record, base64: bytesOf({ ...record, content }).toString('base64') }
    },
    answer: (input, live) => answerTask(parts, input, live),
    async cancel({ taskId }) {
      const task = await load(parts, taskId)
      const canceled = await parts.resume.cancel(taskId, task.owner)
      if (canceled === undefined) throw notFound(taskId)
      return { ...canceled.report, task: await withResult(parts, reportTask(canceled.task)) }
    },
  }
}

/** An artifact's content as bytes: its parts in order, a url part as its url. */
export function bytesOf(artifact: Artifact): Buffer {
  return Buffer.concat(artifact.content.map(partBytesOf))
}

async function answerTask(
  parts: HostParts,
  input: Parameters<Operator['answer']>[0],
  live: Live,
): ReturnType<Operator['answer']> {
  const task = await load(parts, input.taskId)
  const action = input.action ?? 'accept'
  const given = {
    action,
    ...(input.text === undefined ? {} : { text: input.text }),
    ...(input.data === undefined ? {} : { data: input.data }),
  }
  const keys =
    task.questions.length === 0 ? ['answer'] : task.questions.map((question) => question.key)
  const answers = keys.map((key): Answer => ({ key, ...given }))
  const done = await answerByForm(parts, task, answers)
  if (done === undefined) throw notFound(task.id)
  const settled = done.outcome.state !== 'failed' && input.waitMs !== undefined
  return {
    callId: done.callId,
    outcome: reportOutcome(done.outcome),
    task: await withResult(
      parts,
      settled ? await waitForTask(parts, task.id, input.waitMs ?? 0, live) : reportTask(done.task),
    ),
  }
}

/** With what an MCP server handed back, when it has. */
async function withResult(parts: HostParts, report: TaskReport): Promise<TaskReport> {
  const resultText = await nativeTextOf(parts, await load(parts, report.taskId))
  return resultText === undefined ? report : { ...report, resultText }
}

async function load(parts: HostParts, taskId: string): Promise<TaskRecord> {
  const task = await parts.store.tasks.load(taskId, OPERATOR)
  if (task === undefined) throw notFound(taskId)
  return task
}

function notFound(taskId: string): ComityError {
  return new ComityError('not_found', `no task ${taskId}; comity tasks --all lists them`)
}

function partBytesOf(part: ArtifactPart): Buffer {
  switch (part.kind) {
    case 'text':
      return Buffer.from(part.text, 'utf8')
    case 'raw':
      return Buffer.from(part.bytes)
    case 'url':
      return Buffer.from(part.url, 'utf8')
    case 'data':
      return Buffer.from(part.json, 'utf8')
  }
}

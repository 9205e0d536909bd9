/**
 * `task_status`, `task_answer`, `task_cancel`: old work, by the handle that a delegation or a call returned.
 *
 * Definitions and arguments are ours, so a bad argument is told in our words; whose task it is, the desk decides.
 */
import type { ListedItem } from '../../core/ports/catalogue.ts'
import type { CancelReport } from '../../core/ports/upstream.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { Answer as QuestionAnswer, Question } from '../../core/words/question.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { jsonText } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { ourResult, type Answer } from './answer.ts'
import { answerTask as answerByTask } from './answer-task.ts'
import { awaitTask } from './delegation.ts'
import type { Delegation, Door } from './options.ts'
import { OUTCOME_META } from './outcome.ts'
import { answerTo } from './task-question.ts'
import { renderTask } from './task-view.ts'
import { workerOf } from './task-words.ts'
import type { Visit } from './visit.ts'

const TASK_ID = {
  type: 'string',
  description: 'The taskId that the delegation or the call returned.',
}

const DEFINITIONS = [
  {
    name: 'task_status',
    title: 'Status of a task',
    description:
      'How a task stands, an agent’s or a tool’s that goes on: its state, whose move is next, questions, and what it came to.',
    inputSchema: {
      type: 'object',
      properties: { taskId: TASK_ID },
      required: ['taskId'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: 'task_answer',
    title: 'Answer a task',
    description:
      'Answers what a task asks, then waits a while for how it goes on. Give answer (text), data (an object), or both.',
    inputSchema: {
      type: 'object',
      properties: {
        taskId: TASK_ID,
        answer: { type: 'string', description: 'The answer in words.' },
        data: { type: 'object', description: 'The answer as the fields that were asked for.' },
      },
      required: ['taskId'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false },
  },
  {
    name: 'task_cancel',
    title: 'Stop a task',
    description:
      'Asks the one who works on it to stop, and says what is confirmed stopped and what is not. What was done before stays done.',
    inputSchema: {
      type: 'object',
      properties: { taskId: TASK_ID },
      required: ['taskId'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
] as const

/** Listed behind all others where work is told of by a handle. */
export const TASK_TOOLS: readonly ListedItem[] = DEFINITIONS.map((definition) => ({
  exposed: definition.name,
  definition: jsonText(encodeJson(definition)),
}))

type TaskTool = (typeof DEFINITIONS)[number]['name']

export function isTaskTool(name: string): name is TaskTool {
  return DEFINITIONS.some((definition) => definition.name === name)
}

interface TaskArguments {
  readonly taskId: string
  readonly answer?: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** @param args the parsed arguments, any JSON object. */
export async function callTaskTool(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  tool: TaskTool,
  args: unknown,
): Promise<Answer> {
  const read = readTaskArguments(tool, args)
  if (typeof read === 'string')
    return refusal('bad_arguments', `${tool}: ${read}; nothing was done`)
  switch (tool) {
    case 'task_status': {
      const task = await delegation.desk.load(read.taskId, visit.principal)
      return task === undefined ? noSuchTask(read.taskId) : renderTask(delegation, visit, task)
    }
    case 'task_answer':
      return answerTask(door, delegation, visit, read)
    case 'task_cancel': {
      const canceled = await delegation.desk.cancel(read.taskId, visit.principal)
      if (canceled === undefined) return noSuchTask(read.taskId)
      const { report, task } = canceled
      return renderTask(delegation, visit, task, {
        text: sayReport(report, workerOf(task)),
        facts: { cancel: { confirmed: report.confirmed, detail: report.detail } },
      })
    }
  }
}

async function answerTask(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  args: TaskArguments,
): Promise<Answer> {
  const asked = await delegation.desk.load(args.taskId, visit.principal)
  if (asked === undefined) return noSuchTask(args.taskId)
  const given = inForm(asked, answersFor(asked, args))
  const answered = await answerByTask(door, delegation, visit, args.taskId, given)
  if (answered === undefined) return noSuchTask(args.taskId)
  return 'kind' in answered ? answered : awaitTask(door, delegation, visit, answered)
}

/** Each as its question takes it. */
function inForm(task: TaskRecord, answers: readonly QuestionAnswer[]): readonly QuestionAnswer[] {
  return answers.map((answer) => {
    const question = task.questions.find(({ key }) => key === answer.key)
    return question === undefined ? answer : answerTo(question, answer)
  })
}

/** Text goes to the first question that takes text, data to the first that takes fields; one question gets both. */
function answersFor(task: TaskRecord, args: TaskArguments): readonly QuestionAnswer[] {
  const first = task.questions[0]
  const byKind = (kind: Question['kind']): string | undefined =>
    task.questions.find((question) => question.kind === kind)?.key
  const textKey = byKind('text') ?? first?.key ?? 'answer'
  const dataKey = byKind('form') ?? first?.key ?? 'answer'
  const text = args.answer === undefined ? {} : { text: args.answer }
  const data = args.data === undefined ? {} : { data: args.data }
  if (textKey === dataKey) return [{ key: textKey, action: 'accept', ...text, ...data }]
  return [
    ...(args.answer === undefined ? [] : [{ key: textKey, action: 'accept' as const, ...text }]),
    ...(args.data === undefined ? [] : [{ key: dataKey, action: 'accept' as const, ...data }]),
  ]
}

/** @returns what is wrong, in a phrase, or the arguments. */
function readTaskArguments(tool: TaskTool, args: unknown): TaskArguments | string {
  if (!isObject(args)) return 'expected an object'
  const { taskId, answer, data } = args
  const allowed = tool === 'task_answer' ? ['taskId', 'answer', 'data'] : ['taskId']
  const extra = Object.keys(args).find((key) => !allowed.includes(key))
  if (extra !== undefined)
    return `unknown argument ${extra.slice(0, 64)}; known: ${allowed.join(', ')}`
  if (typeof taskId !== 'string' || taskId === '')
    return 'taskId must be the id of a task, a string'
  if (tool !== 'task_answer') return { taskId }
  if (answer !== undefined && typeof answer !== 'string') return 'answer must be a string'
  if (data !== undefined && !isObject(data)) return 'data must be an object'
  if (answer === undefined && data === undefined) return 'give answer, data, or both'
  return {
    taskId,
    ...(answer === undefined ? {} : { answer }),
    ...(data === undefined ? {} : { data }),
  }
}

function sayReport(report: CancelReport, worker: string): string {
  switch (report.confirmed) {
    case 'stopped':
      return `The ${worker} confirms that it stopped: ${report.detail}`
    case 'already_ended':
      return `Nothing to stop: ${report.detail}`
    case 'unconfirmed':
      return `It is not confirmed that it stopped: ${report.detail}`
  }
}

function noSuchTask(taskId: string): Answer {
  return refusal('not_found', `there is no task ${taskId.slice(0, 100)} of yours here`)
}

function refusal(code: string, text: string): Answer {
  return ourResult({
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { [OUTCOME_META]: { state: 'failed', code, ran: 'no' } },
  })
}

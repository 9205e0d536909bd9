/**
 * The Tasks extension as a server: `tasks/get`, `tasks/update`, `tasks/cancel`, and the answer that hands out a task.
 *
 * Every kind of long work is served alike. Another principal's task, one whose time has passed and one that never was look the
 * same.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663)
 */
import type { Answer as QuestionAnswer } from '../../core/words/question.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { RPC_ERRORS, TASKS_EXTENSION } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import { badParams, ourError, type Answer, type ErrorAnswer } from './answer.ts'
import { openExchange } from './exchange.ts'
import type { Delegation, Door } from './options.ts'
import { answerOutcome } from './outcome.ts'
import { faultOfAnswer, readAnswers } from './question-form.ts'
import { encodeDetailedTask, taskMembers } from './task-form.ts'
import { answerTo, mcpQuestion } from './task-question.ts'
import { doorOf, stringParam, type Visit } from './visit.ts'

const ACKNOWLEDGED = encodeJson({})

/** The answer to a call that goes on as a task. Its row is on record. */
export function handOut(door: Door, task: TaskRecord): Answer {
  return { kind: 'result', bytes: encodeJson(taskMembers(door, task)), resultType: 'task' }
}

export async function getTask(door: Door, visit: Visit): Promise<Answer> {
  const named = await findTask(door, visit)
  if ('kind' in named) return named
  const { delegation, task } = named
  return { kind: 'result', bytes: await encodeDetailedTask(door, delegation, visit, task) }
}

/** Answers some or all of what a task asks; keys that it does not ask are passed over. @throws JsonFault for unsound answers. */
export async function updateTask(door: Door, visit: Visit): Promise<Answer> {
  const named = await findTask(door, visit)
  if ('kind' in named) return named
  const { delegation, task } = named
  const given = readAnswers(visit)
  if ('kind' in given) return given
  const answers: QuestionAnswer[] = []
  for (const answer of given.list) {
    const question = task.questions.find(({ key }) => key === answer.key)
    if (question === undefined) continue
    const fault = faultOfAnswer(mcpQuestion(question, task.peer).kind, answer)
    if (fault !== undefined)
      return badParams(`inputResponses[${JSON.stringify(answer.key)}] is no answer: ${fault}`)
    answers.push(answerTo(question, answer))
  }
  if (answers.length === 0) return acknowledge()
  const opened = openExchange(visit, door.limits.callMs, door.deadlines)
  try {
    const deadlineAt = door.clock.now() + door.limits.callMs
    const by = { principal: visit.principal, door: doorOf(visit), deadlineAt }
    const answered = await delegation.desk.answer(task.id, answers, by, opened.exchange)
    if (answered === undefined) return unknownTask(task.id)
    return wasTaken(answered.outcome) ? acknowledge() : answerOutcome(visit, answered)
  } finally {
    opened.close()
  }
}

/** Asks for it to stop. What comes of that is told by the task: it may end otherwise. */
export async function cancelTask(door: Door, visit: Visit): Promise<Answer> {
  const named = await findTask(door, visit)
  if ('kind' in named) return named
  const canceled = await named.delegation.desk.cancel(named.task.id, visit.principal)
  return canceled === undefined ? unknownTask(named.task.id) : acknowledge()
}

/** Why a caller may not use tasks; undefined when it may. */
export function lacksTasks({ can }: Visit): ErrorAnswer | undefined {
  if (can.tasks === 'own') return undefined
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } }
  const text = `this needs the extension ${TASKS_EXTENSION}, which this request did not declare`
  return ourError(RPC_ERRORS.missingClientCapability, text, { requiredCapabilities })
}

async function findTask(
  { ports }: Door,
  visit: Visit,
): Promise<{ readonly delegation: Delegation; readonly task: TaskRecord } | ErrorAnswer> {
  const lacking = lacksTasks(visit)
  if (lacking !== undefined) return lacking
  const taskId = stringParam(visit, 'taskId')
  if (taskId === undefined)
    return badParams(`${visit.request.method} needs params.taskId, a string`)
  const { delegation } = ports
  const task = await delegation?.desk.load(taskId, visit.principal)
  return delegation === undefined || task === undefined ? unknownTask(taskId) : { delegation, task }
}

/** The answer to a name that means no task to this principal. */
export function unknownTask(taskId: string): ErrorAnswer {
  return badParams(`there is no task ${taskId.slice(0, 100)} of yours here, or its time has passed`)
}

function acknowledge(): Answer {
  return { kind: 'result', bytes: ACKNOWLEDGED }
}

/** A task may move on while its answer is under way: that is no fault of whoever gave it. */
function wasTaken(outcome: Parameters<typeof answerOutcome>[1]['outcome']): boolean {
  if (outcome.state === 'failed')
    return outcome.code === 'task_terminal' || outcome.code === 'unsupported'
  return outcome.state !== 'unknown'
}

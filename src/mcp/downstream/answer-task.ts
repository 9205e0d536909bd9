/** Answers on their way to a task, and what is told of those that did not arrive. */
import { ranOf } from '../../core/words/outcome.ts'
import type { Answer as QuestionAnswer } from '../../core/words/question.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { jsonText } from '../wire/native.ts'
import type { Answer } from './answer.ts'
import { openExchange } from './exchange.ts'
import type { Delegation, Door } from './options.ts'
import { answerOutcome } from './outcome.ts'
import { renderTask } from './task-view.ts'
import { doorOf, type Visit } from './visit.ts'

/** @returns the task as it stands then, or what its caller is told; undefined when there is no such task for this principal. */
export async function answerTask(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  taskId: string,
  answers: readonly QuestionAnswer[],
): Promise<TaskRecord | Answer | undefined> {
  const deadlineAt = door.clock.now() + door.limits.callMs
  const opened = openExchange(visit, door.limits.callMs, door.deadlines)
  let answered: Awaited<ReturnType<Delegation['desk']['answer']>>
  try {
    const by = { principal: visit.principal, door: doorOf(visit), deadlineAt }
    answered = await delegation.desk.answer(taskId, answers, by, opened.exchange)
  } finally {
    opened.close()
  }
  if (answered === undefined) return undefined
  const { callId, outcome, task } = answered
  if (outcome.state !== 'failed' && outcome.state !== 'unknown') return task
  const said = answerOutcome(visit, { callId, outcome, task })
  const text = said.kind === 'error' ? said.message : textOfAnswer(said.bytes)
  return renderTask(delegation, visit, task, {
    text,
    isError: true,
    outcome: { state: outcome.state, callId, ran: ranOf(outcome) },
  })
}

function textOfAnswer(bytes: Uint8Array): string {
  const value = jsonText(bytes).value() as {
    readonly content?: readonly { readonly text?: string }[]
  }
  return value.content?.[0]?.text ?? ''
}

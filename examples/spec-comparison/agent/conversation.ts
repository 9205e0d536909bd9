/**
 * What the agent understands from a message, and what it asks when it does not.
 *
 * Each function is the inside of one commit: it changes the draft and says what listeners hear, so
 * of two answers that arrive together only one is ever taken.
 */
import { TaskState, type Message } from '@a2a-js/sdk'
import type { BriefReader } from './brief.ts'
import { dataPart, enterState, recordMessage, textPart } from './task-changes.ts'
import type { TaskRecord } from './task-record.ts'
import type { TaskEvent } from './task-room.ts'

const MAX_QUESTIONS = 3

/** Takes the brief out of a message: the work begins, or is rejected, or the brief is asked for. */
export function takeBrief(
  draft: TaskRecord,
  message: Message,
  reader: BriefReader,
): readonly TaskEvent[] {
  const parsed = reader.parseBrief(message.parts)
  switch (parsed.state) {
    case 'parsed': {
      draft.brief = parsed.value
      draft.asked = 0
      delete draft.question
      const { sdkRange, citation } = parsed.value.scope.target
      if (sdkRange !== undefined) {
        draft.answer = citation === undefined ? { sdkRange } : { sdkRange, citation }
      }
      const { from, to } = parsed.value.scope
      const text = `I compare ${from} with ${to} for ${parsed.value.scope.target.package}.`
      return enterState(draft, TaskState.TASK_STATE_WORKING, [textPart(text)])
    }
    case 'malformed': {
      const text = `I cannot work from this brief: ${parsed.problem}.`
      return enterState(draft, TaskState.TASK_STATE_REJECTED, [textPart(text)])
    }
    case 'absent': {
      if (draft.asked >= MAX_QUESTIONS) return giveUp(draft, 'the brief', 'no message held one')
      draft.asked += 1
      draft.question = 'brief'
      const text =
        'Please send the brief as a data part: the goal, the scope (from, to, target) and, if you judge the delivery, the acceptance criteria.'
      const schema = dataPart(reader.briefSchema, 'application/schema+json')
      return enterState(draft, TaskState.TASK_STATE_INPUT_REQUIRED, [textPart(text), schema])
    }
  }
}

/** Takes the reply to whatever was asked last. */
export function takeReply(
  draft: TaskRecord,
  message: Message,
  reader: BriefReader,
): readonly TaskEvent[] {
  recordMessage(draft, message)
  if (draft.question === 'brief') return takeBrief(draft, message, reader)
  const parsed = reader.parseAnswer(message.parts)
  if (parsed.state === 'parsed') {
    draft.answer = parsed.value
    delete draft.question
    const text = `Thank you; I check ${parsed.value.sdkRange} against the manifest.`
    return enterState(draft, TaskState.TASK_STATE_WORKING, [textPart(text)])
  }
  return askForTarget(
    draft,
    reader,
    parsed.state === 'malformed' ? parsed.problem : 'the message was empty',
  )
}

/** Asks for the target's range, with what was wrong about the last answer; gives up in the end. */
export function askForTarget(
  draft: TaskRecord,
  reader: BriefReader,
  problem?: string,
): readonly TaskEvent[] {
  const name = draft.brief?.scope.target.package ?? 'the target'
  if (draft.asked >= MAX_QUESTIONS) {
    return giveUp(draft, `the SDK range of ${name}`, problem ?? 'no usable answer came')
  }
  draft.question = 'target'
  draft.asked += 1
  delete draft.answer
  const text = [
    ...(problem === undefined ? [] : [`I could not use that answer: ${problem}.`]),
    `Which range of the MCP SDK does ${name} declare? Please give the range as its package.json`,
    'writes it, with a citation of that line: document, version, lines, quote and digest.',
  ].join(' ')
  const schema = dataPart(reader.answerSchema, 'application/schema+json')
  return enterState(draft, TaskState.TASK_STATE_INPUT_REQUIRED, [textPart(text), schema])
}

function giveUp(draft: TaskRecord, wanted: string, problem: string): readonly TaskEvent[] {
  const text = `I asked ${draft.asked} times for ${wanted}; the last time: ${problem}.`
  return enterState(draft, TaskState.TASK_STATE_FAILED, [textPart(text)])
}

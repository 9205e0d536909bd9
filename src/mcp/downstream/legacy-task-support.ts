/**
 * What a tool says of tasks of 2025-11-25, as it is shown: one that demands them is shown as one that may be called either way,
 * since whoever takes none is waited for here. To other revisions the word means nothing, and is left out.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks, tool-level negotiation
 */
import { isObject } from '../../core/words/is-object.ts'
import type { JsonText } from '../../core/words/native.ts'
import { encodeJson, type Changes } from '../wire/spans.ts'

/** What a definition that says anything of tasks holds. */
export const TASK_SUPPORT = Buffer.from('"taskSupport"')

/** Whether the tool may be called as a task. */
export function supportsTasks(definition: JsonText): boolean {
  const support = executionOf(definition)?.['taskSupport']
  return support === 'optional' || support === 'required'
}

/** How the definition changes. @param offered the caller's revision has these tasks, and they are served. */
export function shownSupport(definition: JsonText, offered: boolean): Changes {
  const execution = executionOf(definition)
  if (execution === undefined || !supportsTasks(definition)) return {}
  const { taskSupport: _taskSupport, ...rest } = execution
  if (offered) return { execution: encodeJson({ ...rest, taskSupport: 'optional' }) }
  return { execution: Object.keys(rest).length === 0 ? undefined : encodeJson(rest) }
}

function executionOf(definition: JsonText): Readonly<Record<string, unknown>> | undefined {
  const value = definition.value()
  const execution = isObject(value) ? value['execution'] : undefined
  return isObject(execution) ? execution : undefined
}

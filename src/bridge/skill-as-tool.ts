/**
 * An A2A agent seen as an MCP tool: one `delegate_<agent>` per agent.
 *
 * Pure. The tool's contract outside, the agent's Message inside; the task's view as a result is the door's.
 */
import type { NewCall } from '../core/words/call.ts'
import type { Native } from '../core/words/native.ts'
import { exactValue, nativeOf } from './native-text.ts'

/** What the caller may say to an agent. */
export interface DelegationArguments {
  readonly message: string
  readonly data?: unknown
  readonly contextId?: string
  readonly referenceTaskIds?: readonly string[]
}

/** The input schema of every delegation tool (JSON Schema 2020-12). */
const DELEGATION_SCHEMA = {
  type: 'object',
  properties: {
    message: { type: 'string', minLength: 1, description: 'What the agent is to do, in words.' },
    data: { type: 'object', description: 'Structured part of the brief, passed on as it is.' },
    contextId: { type: 'string', description: 'Joins an earlier conversation with this agent.' },
    referenceTaskIds: {
      type: 'array',
      items: { type: 'string' },
      description: 'Earlier tasks of the agent that this refines, by the ids the agent gave.',
    },
  },
  required: ['message'],
  additionalProperties: false,
} as const

/** The definition of an agent's delegation tool, before its exposed name is set. */
export function delegationTool(agent: {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly skills: readonly { readonly name: string; readonly description: string }[]
}): Record<string, unknown> {
  const skills = agent.skills.map((skill) => `- ${skill.name}: ${skill.description}`).join('\n')
  return {
    name: agent.name,
    title: `Delegate to ${agent.title}`,
    description:
      `Delegates a task to the remote agent "${agent.title}" and waits a while with progress; if it is not done by then, ` +
      `returns a task handle for task_status, task_answer and task_cancel. What the agent says of itself:\n${agent.description}` +
      (skills === '' ? '' : `\nSkills:\n${skills}`),
    inputSchema: DELEGATION_SCHEMA,
    annotations: { openWorldHint: true },
    // Shown by doors whose revision has such tasks.
    execution: { taskSupport: 'optional' },
  }
}

/**
 * The A2A Message of a delegation, without `messageId`, which the adapter derives from the call id.
 *
 * @source A2A 1.0, 4.1.4 Message
 */
export function messageOf(args: DelegationArguments): Native {
  return nativeOf('a2a', '1.0', {
    role: 'ROLE_USER',
    parts: [
      { text: args.message },
      ...(args.data === undefined ? [] : [{ data: args.data, mediaType: 'application/json' }]),
    ],
    ...(args.contextId === undefined ? {} : { contextId: args.contextId }),
    ...(args.referenceTaskIds === undefined ? {} : { referenceTaskIds: args.referenceTaskIds }),
  })
}

/** An MCP call of a delegation tool as the Message for the agent. @throws TypeError when the arguments are no delegation. */
export function delegationRequest(call: NewCall): Native {
  const args = exactValue(call.arguments)
  if (
    typeof args !== 'object' ||
    args === null ||
    !('message' in args) ||
    typeof args.message !== 'string'
  ) {
    throw new TypeError(
      'expected arguments { message: string, data?, contextId?, referenceTaskIds? }',
    )
  }
  return messageOf(args as DelegationArguments)
}

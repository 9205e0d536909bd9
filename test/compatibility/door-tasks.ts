/** What a door is measured against for long work: one call that lasts until the check ends it. */
import type { Exchange } from '../../src/core/ports/upstream.ts'
import type { NewCall } from '../../src/core/words/call.ts'
import type { Outcome } from '../../src/core/words/outcome.ts'
import type { TaskRecord } from '../../src/core/words/task.ts'
import type { Delegation } from '../../src/mcp/downstream/options.ts'
import { createScriptedAgent, HANDLE } from '../../src/mcp/downstream/testing/scripted-agent.ts'
import { CAN, type Caller } from './caller.ts'
import { expectText, expectThat, until, type Finding } from './cells.ts'
import type { Json } from './peer.ts'
import { isModern, type End } from './revisions.ts'

/** What a caller of 2026-07-28 says that takes tasks. */
export const CAN_TASKS: Json = { ...CAN, extensions: { 'io.modelcontextprotocol/tasks': {} } }

export interface LongWork {
  readonly delegation: Delegation
  /** As the peer's own task: the call's outcome is that it goes on. */
  dispatch(
    call: NewCall,
    exchange: Exchange,
  ): Promise<{ readonly outcome: Outcome; readonly task: TaskRecord }>
  /** Whether a task has begun. */
  hasBegun(): boolean
  /** Its server hands back a result. */
  finish(): void
}

const REMOTE = { ...HANDLE, kind: 'mcp_task' } as const
const RESULT = { content: [{ type: 'text', text: 'done at last' }] }

export function createLongWork(): LongWork {
  const agent = createScriptedAgent()
  let task: TaskRecord | undefined
  const open = async (call: NewCall, exchange: Exchange): Promise<TaskRecord> => {
    const made = await agent.delegation.delegate(call, exchange)
    made.reply.catch(() => undefined)
    if (made.task === undefined) throw new Error('no task was made')
    agent.move(made.task.id, { capability: 'long', handle: REMOTE, state: 'working' })
    task = { ...made.task, capability: 'long', handle: REMOTE, state: 'working' }
    return task
  }
  const delegation: Delegation = {
    ...agent.delegation,
    begin: async (call, exchange) => {
      const begun = await open(call, exchange)
      const never = new Promise<never>(() => undefined)
      return { callId: begun.callId, reply: never, keep: () => Promise.resolve(begun) }
    },
  }
  return {
    delegation,
    dispatch: async (call, exchange) => ({
      outcome: { state: 'working', handle: REMOTE },
      task: await open(call, exchange),
    }),
    hasBegun: () => task !== undefined,
    finish() {
      if (task === undefined) throw new Error('nothing has begun')
      const bytes = new TextEncoder().encode(JSON.stringify(RESULT))
      const part = { kind: 'raw', bytes, mediaType: 'application/json' } as const
      const record = {
        artifactId: 'result',
        name: 'result',
        mediaType: 'application/json',
        parts: 1,
        bytes: bytes.length,
        complete: true,
        headless: false,
      }
      agent.artifacts.set(`${task.id}/result`, { ...record, content: [part] })
      agent.move(task.id, { state: 'completed', artifacts: [record] })
    },
  }
}

/** In the form that the revision has: the extension, its own tasks, or a call that is waited for. */
export async function checkDoorTask(
  caller: Caller,
  work: LongWork,
  { revision }: End,
): Promise<Finding> {
  if (isModern(revision)) {
    const { result } = await caller.call('long')
    expectThat(result?.['resultType'] === 'task', `it came as ${JSON.stringify(result)}`)
    const taskId = result?.['taskId']
    const look = async () => (await caller.request('tasks/get', { taskId })).result
    expectThat((await look())?.['status'] === 'working', 'it is not at work')
    work.finish()
    await until(async () => (await look())?.['status'] === 'completed', 'it is completed')
    expectText({ result: (await look())?.['result'] as Json }, 'done at last')
    return 'works'
  }
  if (revision === '2025-11-25') {
    const params = { name: 'long', arguments: {}, task: { ttl: 60_000 } }
    const { result, error } = await caller.request('tools/call', params)
    const task = result?.['task'] as Json | undefined
    expectThat(task?.['status'] === 'working', JSON.stringify(result ?? error))
    const answer = caller.request('tasks/result', { taskId: task?.['taskId'] })
    work.finish()
    expectText(await answer, 'done at last')
    return 'works'
  }
  const answer = caller.call('held')
  await until(() => work.hasBegun(), 'the peer goes on with it')
  work.finish()
  expectText(await answer, 'done at last')
  return 'works'
}

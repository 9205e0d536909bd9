/** A task of a server's tool as `task_status` shows it: which tool it is, and what the server handed back as it came. */
import { expect, onTestFinished, test } from 'vitest'
import type { TaskRecord } from '../../core/words/task.ts'
import { createScriptedAgent, DELEGATE_TOOL } from './testing/scripted-agent.ts'
import { createScriptedHouse } from './testing/scripted-house.ts'
import { dig, openTestDoor, postModern } from './testing/test-door.ts'

const REMOTE = { peer: 'desk', kind: 'mcp_task', sealed: 'sealed' } as const

/** A task of the tool `sum` of the server `desk`. @param end what it left, and under which id. */
async function open(change: Partial<TaskRecord>, end?: readonly [string, string]) {
  const agent = createScriptedAgent()
  const server = await openTestDoor(createScriptedHouse([DELEGATE_TOOL]), {
    limits: { delegationWaitMs: 1 },
    delegation: agent.delegation,
  })
  onTestFinished(server.close)
  const call = async (name: string, args: object) =>
    postModern(server.url, 'tools/call', { name, arguments: args })
  const first = await call('delegate_desk', { message: 'sum' })
  const taskId = String(dig(first.body, 'result', 'structuredContent', 'taskId'))
  const bytes = new TextEncoder().encode(end?.[1] ?? '')
  const record = {
    artifactId: end?.[0] ?? '',
    mediaType: 'application/json',
    parts: 1,
    bytes: bytes.length,
    complete: true,
    headless: false,
  }
  const artifacts = end === undefined ? [] : [record]
  agent.artifacts.set(`${taskId}/${record.artifactId}`, {
    ...record,
    content: [{ kind: 'raw', bytes, mediaType: 'application/json' }],
  })
  agent.move(taskId, { capability: 'sum', handle: REMOTE, artifacts, ...change })
  const { body, text } = await call('task_status', { taskId })
  return { agent, call, result: dig(body, 'result'), said: text, taskId }
}

test('it names the server and its tool, and no agent; what the server says is the server’s', async () => {
  const { result, taskId, call } = await open({ state: 'working', theirWords: 'half way' })
  const text = String(dig(result, 'content', 0, 'text'))
  expect(text).toContain(`Task ${taskId} at desk/sum: working. The server is at work`)
  expect(text).toContain('The server says: “half way”')
  expect(text).not.toMatch(/agent/iu)
  const facts = dig(result, 'structuredContent')
  expect(facts).toMatchObject({ server: 'desk', tool: 'sum', state: 'working', artifacts: [] })
  expect(facts).not.toHaveProperty('agent')
  const { body } = await call('task_cancel', { taskId })
  expect(String(dig(body, 'result', 'content', 0, 'text'))).toContain('The server confirms')
})

test('its result is the tool’s own, to the digit, and no artifact', async () => {
  const own =
    '{"resultType":"complete","content":[{"type":"text","text":"three"}],"structuredContent":{"sum":3.10}}'
  const { result, said } = await open({ state: 'completed' }, ['result', own])
  expect(dig(result, 'content')).toMatchObject([{ type: 'text' }, { type: 'text', text: 'three' }])
  expect(dig(result, 'content')).toHaveLength(2)
  expect(String(dig(result, 'content', 0, 'text'))).not.toMatch(/artifact|verdict/iu)
  expect(dig(result, 'structuredContent')).toMatchObject({
    artifacts: [],
    result: { content: [{ text: 'three' }], structuredContent: { sum: 3.1 } },
  })
  expect(said).toContain('"sum":3.10')
  expect(dig(result, 'structuredContent', 'result')).not.toHaveProperty('resultType')
  expect(dig(result, 'isError')).toBe(false)
})

test('an error of the tool is one here, with the tool’s words', async () => {
  const own = '{"content":[{"type":"text","text":"no such row"}],"isError":true}'
  const { result } = await open({ state: 'completed' }, ['result', own])
  expect(dig(result, 'isError')).toBe(true)
  expect(dig(result, 'content', 1)).toEqual({ type: 'text', text: 'no such row' })
})

test('a fault of the protocol is told as the server’s error', async () => {
  const { result } = await open({ state: 'failed' }, ['error', '{"code":-32603,"message":"broke"}'])
  expect(dig(result, 'isError')).toBe(true)
  expect(dig(result, 'structuredContent', 'error')).toEqual({ code: -32603, message: 'broke' })
})

test('a plain call whose process died is unknown, not looked for, and nobody is told to delegate', async () => {
  const { result } = await open({ state: 'unknown', because: 'process_died' })
  const text = String(dig(result, 'content', 0, 'text'))
  expect(text).toContain('the process in which it ran has ended. It may have run')
  expect(text).not.toMatch(/agent|delegate/iu)
})

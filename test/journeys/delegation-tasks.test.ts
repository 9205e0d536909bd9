/**
 * An agent's task as each MCP caller can bear it: the extension's task at once, questions by rounds for a caller of 2026-07-28
 * without tasks, live ones on a session, and the handle for whoever can be asked nothing.
 */
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as SessionClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as SessionHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createHost } from '../../src/index.ts'
import { dig, modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import { until } from './comity-process.fixture.ts'
import { homeWith, startAgent } from './delegation.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 60_000 })

const INFO = { name: 'journey', version: '0' }
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

async function house(waitMs = 20_000) {
  const agent = await startAgent()
  const home = homeWith(agent)
  const delegations = { waitMs, heartbeatMs: 200 }
  const host = await createHost({ config: home.config, environment: home.env, delegations })
  onTestFinished(() => host.close())
  return { agent, url: `${await host.serve({ port: 0 })}/mcp` }
}

async function session(url: string, capabilities: object): Promise<SessionClient> {
  const client = new SessionClient(INFO, { capabilities })
  await client.connect(new SessionHttp(new URL(url)) as Transport)
  onTestFinished(() => client.close())
  return client
}

test('a caller with the extension has the task at once; it asks, is answered and ends there, and no task_* tool is needed', async () => {
  const { agent, url } = await house()
  // Kept back: the task is there before the agent has said anything.
  agent.make('hold-SendMessage')
  agent.make('hold-SendStreamingMessage')
  const ask = async (method: string, params: object): Promise<unknown> => {
    const taskId = dig(params, 'taskId')
    const _meta = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': TASKS })
    const headers = typeof taskId === 'string' ? { 'mcp-name': taskId } : {}
    const { body } = await postModern(url, method, { ...params, _meta }, { headers })
    return dig(body, 'result') ?? body
  }
  const made = await ask('tools/call', {
    name: 'delegate_research',
    arguments: { message: 'ask me' },
  })
  expect(made).toMatchObject({ resultType: 'task', status: 'working' })
  const taskId = String(dig(made, 'taskId'))
  agent.remove('hold-SendMessage')
  agent.remove('hold-SendStreamingMessage')
  const asking = await until('it asks', async () => {
    const task = await ask('tasks/get', { taskId })
    return dig(task, 'status') === 'input_required' ? task : undefined
  })
  const requests = dig(asking, 'inputRequests') as Record<string, unknown>
  const [key, request] = Object.entries(requests)[0]!
  expect(dig(request, 'params', 'message')).toContain('which one?')
  const inputResponses = { [key]: { action: 'accept', content: { answer: 'Oslo' } } }
  await ask('tasks/update', { taskId, inputResponses })
  const done = await until('it is completed', async () => {
    const task = await ask('tasks/get', { taskId })
    return dig(task, 'status') === 'completed' ? task : undefined
  })
  expect(JSON.stringify(dig(done, 'result'))).toContain('you said: Oslo')
  expect(dig(done, 'result', 'structuredContent')).toMatchObject({ agent: 'research', taskId })
  expect(agent.sends()).toHaveLength(2)
})

test('a caller of 2026-07-28 without tasks is asked by rounds, and has the end as its call’s', async () => {
  const { agent, url } = await house()
  const client = new ModernClient(INFO, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: { elicitation: { form: {} } },
  })
  const asked: string[] = []
  const answers = ['again', 'blue']
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message)
    return { action: 'accept', content: { answer: answers[asked.length - 1] ?? '' } }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())
  const result = await client.callTool({
    name: 'delegate_research',
    arguments: { message: 'ask me' },
  })
  expect(asked).toEqual(['research asks: which one?', 'research asks: and which colour?'])
  expect(JSON.stringify(result.content)).toContain('you said: blue')
  expect(result.structuredContent).toMatchObject({ state: 'completed' })
  // Both answers went to the one task.
  const [, ...answered] = agent.sends()
  expect(new Set(answered.map(({ taskId }) => taskId)).size).toBe(1)
  expect(answered).toHaveLength(2)
})

test('a session caller is asked live; that it declines is told to the agent, in the same task', async () => {
  const { agent, url } = await house()
  const client = await session(url, { elicitation: {} })
  let action: 'accept' | 'decline' = 'accept'
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    expect(params.message).toBe('research asks: which one?')
    return action === 'accept' ? { action, content: { answer: 'Rome' } } : { action }
  })
  const call = () =>
    client.callTool({ name: 'delegate_research', arguments: { message: 'ask me' } })
  expect(JSON.stringify(await call())).toContain('you said: Rome')
  expect(agent.sends()).toHaveLength(2)
  action = 'decline'
  // A refusal is an answer: the agent is told of it in the same task, and goes on as it sees fit.
  expect(JSON.stringify(await call())).toContain('declined')
  expect(agent.sends()).toHaveLength(4)
  expect(agent.count('CancelTask')).toBe(0)
})

test('who can be asked nothing waits, is given the handle, and answers by it', async () => {
  const { agent, url } = await house(300)
  const client = await session(url, {})
  const call = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
    client.callTool({ name, arguments: args })
  // Ends within the wait: an answer like any other.
  agent.make('open-quick')
  const quick = await call('delegate_research', { message: 'work quick' })
  expect(JSON.stringify(quick)).toContain('one two three')
  const handle = await call('delegate_research', { message: 'work gate' })
  expect(handle).toMatchObject({ structuredContent: { state: 'working', next: 'agent' } })
  const taskId = String(dig(handle, 'structuredContent', 'taskId'))
  agent.make('open-gate')
  const done = await until('it is completed', async () => {
    const status = await call('task_status', { taskId })
    return dig(status, 'structuredContent', 'state') === 'completed' ? status : undefined
  })
  expect(JSON.stringify(done)).toContain('one two three')
  const asking = await call('delegate_research', { message: 'ask me' })
  const asked = String(dig(asking, 'structuredContent', 'taskId'))
  const answered = await call('task_answer', { taskId: asked, answer: 'Oslo' })
  expect(JSON.stringify(answered)).toContain('you said: Oslo')
})

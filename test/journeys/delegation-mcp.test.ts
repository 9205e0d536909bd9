/**
 * An A2A agent as an MCP tool: the official clients of both eras delegate, wait, answer, stop and read what came of it.
 *
 * C91 (test/cases), the parts that hold here: the answer reaches the same task of the agent and no second one is made;
 * callers that cannot be asked get a structured "needs input" with a handle that a later call accepts; a declined or
 * forgotten question stops nothing; two delegations at once stay apart; a file is a link, not text; AUTH_REQUIRED is
 * shown, and no credential goes through the model.
 */
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport as V1Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createHost, type CreateHostOptions } from '../../src/index.ts'
import { until } from './comity-process.fixture.ts'
import {
  type AgentProcess,
  type AgentScript,
  homeWith,
  LIVE,
  startAgent,
} from './delegation.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 120_000 })

const CASE = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '../cases/C91-bridge-a2a-input-required-to-mcp.json'),
    'utf8',
  ),
) as { id: string; expect: string[] }

interface Facts {
  readonly taskId: string
  readonly contextId?: string
  readonly state: string
  readonly next: string
  readonly questions?: readonly { readonly text: string }[]
  readonly artifacts: readonly {
    readonly name: string
    readonly uri: string
    readonly bytes: number
  }[]
  readonly cancel?: { readonly confirmed: string }
}

interface Called {
  readonly content: readonly {
    readonly type: string
    readonly text?: string
    readonly uri?: string
  }[]
  readonly structuredContent: Facts
  readonly isError?: boolean
}

type OnProgress = (news: { progress: number; message?: string | undefined }) => void

interface Caller {
  call(
    name: string,
    args: Record<string, unknown>,
    more?: { readonly signal?: AbortSignal; readonly onprogress?: OnProgress },
  ): Promise<Called>
  read(uri: string): Promise<{ text?: string; blob?: string; mimeType?: string }>
  tools(): Promise<readonly string[]>
}

const INFO = { name: 'journey', version: '0' }
const LONG = { timeout: 60_000 }

async function modern(url: string): Promise<Caller> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  onTestFinished(() => client.close())
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, more) =>
      (await client.callTool({ name, arguments: args }, { ...LONG, ...more })) as unknown as Called,
    read: async (uri) => (await client.readResource({ uri })).contents[0] as { text?: string },
  }
}

async function v1(url: string): Promise<Caller> {
  const client = new V1Client(INFO)
  await client.connect(new V1Http(new URL(`${url}/mcp`)) as V1Transport)
  onTestFinished(() => client.close())
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, more) =>
      (await client.callTool({ name, arguments: args }, undefined, {
        ...LONG,
        ...more,
      })) as unknown as Called,
    read: async (uri) => (await client.readResource({ uri })).contents[0] as { text?: string },
  }
}

async function house(
  shape: Omit<AgentScript, 'folder'> = {},
  delegations: CreateHostOptions['delegations'] = { waitMs: 1_000, heartbeatMs: 200 },
): Promise<{ agent: AgentProcess; url: string; host: Awaited<ReturnType<typeof createHost>> }> {
  const agent = await startAgent(shape)
  const home = homeWith(agent)
  const host = await createHost({
    config: home.config,
    environment: home.env,
    ...(delegations === undefined ? {} : { delegations }),
  })
  onTestFinished(() => host.close())
  return { agent, host, url: await host.serve({ port: 0 }) }
}

const ERAS = [
  ['the v2 client', modern, { streaming: true }],
  ['the v1 client', v1, { streaming: false }],
] as const

test.each(ERAS)(
  '%s waits with progress, gets the handle, and finds the end by it',
  async (_who, connect, shape) => {
    const { agent, url } = await house(shape)
    const caller = await connect(url)
    expect(await caller.tools()).toEqual([
      'delegate_research',
      'task_status',
      'task_answer',
      'task_cancel',
    ])
    const told: string[] = []
    const onprogress: OnProgress = ({ message }) => void told.push(message ?? '')
    const handle = await caller.call('delegate_research', { message: 'work gate' }, { onprogress })
    const { taskId, contextId } = handle.structuredContent
    expect(handle).toMatchObject({ structuredContent: { state: 'working', next: 'agent' } })
    expect(handle.isError ?? false).toBe(false)
    expect(handle.content[0]?.text).toContain(`task_status {"taskId":"${taskId}"}`)
    expect(told.length).toBeGreaterThan(2)
    expect(told.at(-1)).toContain(taskId)

    agent.make('open-gate')
    const ended = await until('the task ends', async () => {
      const status = await caller.call('task_status', { taskId })
      return status.structuredContent.state === 'completed' ? status : undefined
    })
    expect(ended.structuredContent).toMatchObject({ next: 'nobody', contextId })
    const [artifact] = ended.structuredContent.artifacts
    expect(artifact!.uri).toMatch(/^comity:\/\/artifacts\//u)
    expect((await caller.read(artifact!.uri)).text).toBe('one two three')

    // The same conversation, by the handle that came back.
    const next = await caller.call('delegate_research', { message: 'message', contextId })
    expect(next).toMatchObject({ structuredContent: { state: 'answered', text: 'just an answer' } })
    expect(agent.sends().at(-1)?.contextId).toBe(contextId)
    expect(agent.sends()).toHaveLength(2)
    expect(agent.count('CancelTask')).toBe(0)
  },
)

test.each(ERAS)(
  `${CASE.id} %s answers a question by the handle: the same task, no second one`,
  async (_who, connect, shape) => {
    const { agent, host, url } = await house(shape, { waitMs: 20_000 })
    const caller = await connect(url)
    const [left, right] = await Promise.all([
      caller.call('delegate_research', { message: 'ask left' }),
      caller.call('delegate_research', { message: 'ask right' }),
    ])
    const asked = [left, right].map(({ structuredContent }) => structuredContent)
    for (const facts of asked) {
      expect(facts).toMatchObject({ state: 'input_required', next: 'you' })
      expect(facts.questions?.[0]?.text).toBe('which one?')
    }
    expect(new Set(asked.map(({ taskId }) => taskId)).size).toBe(2)

    const { taskId } = left.structuredContent
    const done = await caller.call('task_answer', { taskId, answer: 'Oslo' })
    expect(done).toMatchObject({ structuredContent: { taskId, state: 'completed' } })
    expect(done.content.find(({ type }) => type === 'resource')).toMatchObject({
      resource: { text: 'you said: Oslo' },
    })
    const [first, second, answer] = agent.sends()
    expect(agent.sends()).toHaveLength(3)
    expect(answer?.contextId).toBe(left.structuredContent.contextId)
    expect([first?.taskId ?? '', second?.taskId ?? '']).toEqual(['', ''])

    // The other one waits on, for as long as it takes; ended tasks take nothing more.
    const other = await caller.call('task_status', { taskId: right.structuredContent.taskId })
    expect(other.structuredContent.state).toBe('input_required')
    const late = await caller.call('task_answer', { taskId, answer: 'Rome' })
    expect(late.isError).toBe(true)
    expect(late.content[0]?.text).toContain('takes no answer')
    expect(agent.sends()).toHaveLength(3)
    expect(await host.operator.tasks({}, LIVE)).toHaveLength(1)
    expect(agent.count('CancelTask')).toBe(0)
  },
)

test(`${CASE.id} a file is a link that is read whole; an authorisation is shown and never asked of the model`, async () => {
  const { agent, url } = await house({}, { waitMs: 20_000 })
  const caller = await modern(url)
  const trip = await caller.call('delegate_research', { message: 'file trip' })
  expect(JSON.stringify(trip).length).toBeLessThan(10_000)
  const link = trip.content.find(({ type }) => type === 'resource_link')
  expect(link).toMatchObject({
    name: 'trip.bin',
    mimeType: 'application/octet-stream',
    size: 2_097_152,
  })
  const { blob } = await caller.read(link!.uri!)
  expect(Buffer.from(blob!, 'base64').equals(Buffer.alloc(2_097_152, 7))).toBe(true)

  const auth = await caller.call('delegate_research', { message: 'auth door' })
  expect(auth).toMatchObject({ structuredContent: { state: 'auth_required', next: 'operator' } })
  expect(auth.content[0]?.text).toContain('the one who runs this gateway')
  agent.make('open-door')
  const { taskId } = auth.structuredContent
  await until('it goes on once it was let in', async () => {
    const { structuredContent } = await caller.call('task_status', { taskId })
    return structuredContent.state === 'completed' ? true : undefined
  })
})

test('a modern caller that hangs up after it was shown the task cancels nothing', async () => {
  const { agent, host, url } = await house(
    { streaming: true },
    { waitMs: 30_000, heartbeatMs: 100 },
  )
  const caller = await modern(url)
  const left = new AbortController()
  const shown = new Promise<string>((resolve) => {
    const onprogress: OnProgress = ({ message }) => resolve(message ?? '')
    caller
      .call('delegate_research', { message: 'work gate' }, { signal: left.signal, onprogress })
      .catch(() => undefined)
  })
  expect(await shown).toMatch(/^task t-/u)
  await until('the agent works', () => agent.sends()[0])
  left.abort()

  const [task] = await host.operator.tasks({}, LIVE)
  agent.make('open-gate')
  const ended = await until('it is followed to the end', async () => {
    const now = await host.operator.task({ taskId: task!.taskId }, LIVE)
    return now.state === 'completed' ? now : undefined
  })
  expect(ended.artifacts).toMatchObject([{ name: 'out.md', bytes: 13, complete: true }])
  expect(agent.count('CancelTask')).toBe(0)
  expect(agent.sends()).toHaveLength(1)
})

test.each(ERAS)('%s stops a task and is told what is confirmed', async (_who, connect, shape) => {
  const { agent, url } = await house(shape)
  const caller = await connect(url)
  const { structuredContent: begun } = await caller.call('delegate_research', {
    message: 'work gate',
  })
  const stopped = await caller.call('task_cancel', { taskId: begun.taskId })
  expect(stopped).toMatchObject({
    structuredContent: { state: 'canceled', cancel: { confirmed: 'stopped' } },
  })
  expect(stopped.content[0]?.text).not.toMatch(/undone/u)
  const again = await caller.call('task_cancel', { taskId: begun.taskId })
  expect(again.structuredContent.cancel?.confirmed).toBe('already_ended')
  expect(agent.count('CancelTask')).toBe(1)
  const foreign = await caller.call('task_status', { taskId: 't-nobody' })
  expect(foreign.isError).toBe(true)
})

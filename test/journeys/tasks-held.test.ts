/** A server's tasks for callers that know none: comity holds them, asks meanwhile, and says the end as the call's; the official clients call. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Role, TaskState, type Task } from '@a2a-js/sdk'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveHttp } from '../../src/testkit/conforming-peer/http.ts'
import { clientOf } from './a2a-desk-house.ts'
import { createHome, startUp, until } from './comity-process.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 60_000 })

async function house() {
  const peer = await serveHttp(0, 'modern')
  onTestFinished(() => peer.close())
  const home = createHome({
    mcpServers: { peer: { url: peer.url } },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
    publish: {
      desk: { description: 'Computes', skills: { compute: { route: 'peer/slow_compute' } } },
    },
  })
  onTestFinished(home.remove)
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop()))
  return { home, up }
}

async function session(url: string, capabilities: object): Promise<Client> {
  const client = new Client({ name: 'held', version: '1' }, { capabilities })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as Transport)
  onTestFinished(() => client.close())
  return client
}

test('a session caller waits as for any call, is asked live, and is told errors as errors', async () => {
  const { up } = await house()
  const client = await session(up.url, { elicitation: {} })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    expect(params.message).toBe('peer asks: Delete a.txt?')
    return { action: 'accept', content: { confirm: true } }
  })
  const text = async (name: string, args: Record<string, unknown> = {}): Promise<unknown> =>
    client.callTool({ name: `peer_${name}`, arguments: args })
  expect(await text('slow_compute', { seconds: 0.2, label: 'x' })).toMatchObject({
    content: [{ text: 'computed x in 0.2 s' }],
  })
  expect(await text('confirm_delete', { filename: 'a.txt' })).toMatchObject({
    content: [{ text: 'deleted a.txt' }],
  })
  expect(await text('failing_job')).toMatchObject({ isError: true })
  await expect(text('protocol_error_job')).rejects.toThrow('it broke')
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['task_status', 'task_cancel']),
  )
})

test('who cannot be asked is given the handle, and answers by it', async () => {
  const { up } = await house()
  const client = await session(up.url, {})
  // The question was not declared, so it is declined at once: nothing waits for nobody.
  const declined = await client.callTool({
    name: 'peer_confirm_delete',
    arguments: { filename: 'a.txt' },
  })
  expect(declined).toMatchObject({ content: [{ text: 'nothing was deleted' }] })
  const none = await client.callTool({ name: 'task_status', arguments: { taskId: 't-none' } })
  expect(none).toMatchObject({ isError: true })
})

test('a published skill whose tool is a task is a task of A2A, over kill -9 too', async () => {
  const { home, up } = await house()
  const client = await clientOf(up.url, 'desk')
  const sent = await client.sendMessage({
    tenant: '',
    message: {
      messageId: 'm-1',
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [
        {
          content: {
            $case: 'data',
            value: { skill: 'compute', arguments: { seconds: 3, label: 'y' } },
          },
          metadata: undefined,
          filename: '',
          mediaType: 'application/json',
        },
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      returnImmediately: true,
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
    },
    metadata: undefined,
  } as never)
  const { id } = sent as Task
  // Before the server's task is known here there is nothing to follow: that would be unknown, and rightly.
  await until('its server is at work', async () => {
    const { status } = await client.getTask({ tenant: '', id } as never)
    return status?.state === TaskState.TASK_STATE_WORKING ? id : undefined
  })
  await up.stop('SIGKILL')
  const again = await startUp(home)
  onTestFinished(async () => void (await again.stop()))
  const later = await clientOf(again.url, 'desk')
  const done = await until('it is done', async () => {
    const task = await later.getTask({ tenant: '', id } as never)
    return task.status?.state === TaskState.TASK_STATE_COMPLETED ? task : undefined
  })
  expect(JSON.stringify(done.artifacts)).toContain('computed y in 3 s')
})

/** A server's tasks for callers that know none: comity holds them, asks meanwhile, and says the end as the call's; the official clients call. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveHttp } from '../../src/testkit/conforming-peer/http.ts'
import { createHome, startUp } from './comity-process.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 60_000 })

async function house() {
  const peer = await serveHttp(0, 'modern')
  onTestFinished(() => peer.close())
  const home = createHome({
    mcpServers: { peer: { url: peer.url } },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  onTestFinished(home.remove)
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop()))
  return { up }
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

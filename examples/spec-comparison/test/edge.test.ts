import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import { TaskState } from '@a2a-js/sdk'
import { expect, test } from 'vitest'
import { textPart } from '../agent/task-changes.ts'
import {
  briefParts,
  getTask,
  makeBrief,
  makeRequest,
  makeStateFolder,
  sendForTask,
  startAgent,
  until,
} from './agent-process.ts'

const ranged = () => briefParts(makeBrief('^1.30.0'))

/** A POST to the JSON-RPC endpoint, byte for byte. */
async function post(origin: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(`${origin}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  return { status: response.status, body: (await response.json()) as { error?: { code: number } } }
}

/** A GET with a Host header that fetch would not let one choose. */
function getAs(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/.well-known/agent-card.json' }
    httpRequest({ ...options, headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .once('error', reject)
      .end()
  })
}

test('the card is plain protocol JSON that names the address it was read from', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  const card = await (await fetch(`${agent.origin}/.well-known/agent-card.json`)).json()
  expect(card).toMatchObject({
    supportedInterfaces: [
      { url: `${agent.origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    skills: [{ id: 'compare-requirements' }],
  })
  expect(JSON.stringify(card)).not.toContain('$case')
})

test('bytes that are no request get the code that says why, and the agent goes on', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  const call = (method: string, params: unknown) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const code = async (body: string | Buffer, headers?: Record<string, string>) =>
    (await post(agent.origin, body, headers)).body.error?.code

  expect(await code('{')).toBe(-32700)
  expect(await code(Buffer.from([0x22, 0xff, 0x22]))).toBe(-32700)
  expect(await code('[]')).toBe(-32600)
  expect(await code('{"jsonrpc":"2.0","method":"GetTask"}')).toBe(-32600)
  expect(await code(call('NoSuchMethod', {}))).toBe(-32601)
  expect(await code(call('GetTask', []))).toBe(-32602)
  expect(await code(call('SendMessage', {}))).toBe(-32602)
  expect(await code(call('GetTask', { id: '../../etc/passwd' }))).toBe(-32001)
  expect(await code(call('GetTask', { id: randomUUID() }), { 'a2a-version': '2.0' })).toBe(-32009)
  expect(await code(call('GetTask', { id: randomUUID() }), { 'a2a-version': '1.0.1' })).toBe(-32001)
  expect(await code(call('CreateTaskPushNotificationConfig', {}))).toBe(-32003)
  const large = await post(agent.origin, JSON.stringify({ padding: 'x'.repeat(1_100_000) }))
  expect([large.status, large.body.error?.code]).toEqual([413, -32600])
  expect((await fetch(`${agent.origin}/a2a`)).status).toBe(405)
  expect((await fetch(`${agent.origin}/elsewhere`)).status).toBe(404)
})

test('a page of another site cannot reach the agent', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  expect(await getAs(agent.port, `evil.example:${agent.port}`)).toBe(403)
  expect(await getAs(agent.port, `localhost:${agent.port}`)).toBe(200)
  expect((await post(agent.origin, '{}', { origin: 'https://evil.example' })).status).toBe(403)
})

test('a task at work takes no message, and one that was canceled stays canceled', async () => {
  const state = await makeStateFolder()
  const agent = await startAgent({ state, paceMs: 2_000 })
  const task = await sendForTask(agent.client, makeRequest(ranged(), { returnImmediately: true }))
  const another = makeRequest([textPart('hurry')], { task })
  await expect(agent.client.sendMessage(another)).rejects.toThrow(/at work/)
  const stranger = makeRequest([textPart('hurry')], { task, contextId: 'other' })
  await expect(agent.client.sendMessage(stranger)).rejects.toThrow(/contextId/)

  const canceled = await agent.client.cancelTask({ tenant: '', id: task.id, metadata: undefined })
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  await agent.client.cancelTask({ tenant: '', id: task.id, metadata: undefined })
  await expect(agent.client.sendMessage(another)).rejects.toThrow(/has ended/)
  const listener = agent.client.resubscribeTask({ tenant: '', id: task.id })
  await expect(listener.next()).rejects.toThrow(/has ended/)
  await agent.kill()

  const again = await startAgent({ state, port: agent.port })
  expect((await getTask(again.client, task.id)).status).toEqual(canceled.status)
})

test('a client that leaves its stream does not stop the task', async () => {
  const agent = await startAgent({ state: await makeStateFolder(), paceMs: 20 })
  const stream = agent.client.sendMessageStream(makeRequest(ranged()))
  const first = (await stream.next()).value?.payload
  await stream.return()
  if (first?.$case !== 'task') throw new Error('a stream begins with its task')
  const { id } = first.value
  const ended = await until('the end', async () => {
    const { status } = await getTask(agent.client, id)
    return status?.state === TaskState.TASK_STATE_COMPLETED || undefined
  })
  expect(ended).toBe(true)
})

test('a message that is sent twice makes one task, before and after a restart', async () => {
  const state = await makeStateFolder()
  const agent = await startAgent({ state })
  const request = makeRequest(ranged(), { messageId: 'the-same' })
  const [one, two] = await Promise.all([
    sendForTask(agent.client, request),
    sendForTask(agent.client, request),
  ])
  expect(two.id).toBe(one.id)
  await agent.kill()
  const again = await startAgent({ state, port: agent.port })
  expect((await sendForTask(again.client, request)).id).toBe(one.id)
})

test('tasks are listed newest first, page by page, without their artifacts', async () => {
  const agent = await startAgent({ state: await makeStateFolder() })
  const ids: string[] = []
  for (const _round of [1, 2, 3]) {
    ids.unshift((await sendForTask(agent.client, makeRequest([textPart('no brief')]))).id)
  }
  const list = (pageToken: string) =>
    agent.client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_INPUT_REQUIRED,
      pageSize: 2,
      pageToken,
      statusTimestampAfter: undefined,
    })
  const first = await list('')
  const second = await list(first.nextPageToken)
  expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids)
  expect([first.totalSize, first.tasks.length, second.nextPageToken]).toEqual([3, 2, ''])
})

test('a command line that cannot work ends at once with what to change', () => {
  const main = fileURLToPath(new URL('../agent/main.ts', import.meta.url))
  const run = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
    return `${status} ${stderr}`
  }
  expect(run()).toMatch(/^2 --state is missing/)
  expect(run('--state', 'x', '--docs', 'node docs.js')).toMatch(/^2 --docs must be a JSON array/)
  expect(run('--state', 'x', '--docs', '["a"]', '--port', '99999')).toMatch(/^2 --port must be/)
  expect(run('--state', 'x', '--docs', '["a"]', '--nonsense')).toMatch(/^2 .*--nonsense/)
})

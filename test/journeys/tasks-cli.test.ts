/** The terminal and calls that a server goes on with as tasks: waited for, answered, canceled, read later, over a restart. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { dig, modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import { serveHttp } from '../../src/testkit/conforming-peer/http.ts'
import { comity, comityJson, createHome, startUp, until } from './comity-process.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 120_000 })

const CAN = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: {} }

async function house() {
  const peer = await serveHttp(0, 'modern')
  onTestFinished(() => peer.close())
  const home = createHome({
    mcpServers: { peer: { url: peer.url } },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  onTestFinished(home.remove)
  return home
}

test('a call is waited for though it is a task; what it came to is read later by its id', async () => {
  const home = await house()
  const args = ['--arg', 'seconds=0.2', '--arg', 'label=x']
  const called = await comity(home, 'call', 'peer/slow_compute', ...args)
  expect(called.stdout).toContain('computed x in 0.2 s')
  expect(called.code).toBe(0)
  const id = /it was task (\S+) at peer/u.exec(called.stderr)?.[1]
  const shown = await comity(home, 'tasks', id!)
  expect(shown.stdout).toContain(`task ${id} at peer/slow_compute: completed`)
  expect(shown.stdout).toContain('computed x in 0.2 s')
  expect(shown.stdout).not.toContain('agent')
  const failing = await comityJson(home, 'call', 'peer/failing_job')
  expect(failing).toMatchObject({ outcome: { state: 'completed', toolError: true } })
  const broken = await comity(home, 'call', 'peer/protocol_error_job')
  expect(broken.code).toBe(1)
  expect(broken.stderr).toContain('it broke')
  const all = await comity(home, 'tasks', '--all')
  expect(all.stdout.match(/^t-/gmu)).toHaveLength(3)
  const explained = await comity(home, 'explain', id!)
  expect(explained.stdout).toContain(id!)
})

test('a task outlives the command that called, and comity: it is answered with a word or a form later', async () => {
  const home = await house()
  const first = await startUp(home)
  const { body } = await postModern(`${first.url}/mcp`, 'tools/call', {
    name: 'peer_confirm_delete',
    arguments: { filename: 'a.txt' },
    _meta: modernMeta({ 'io.modelcontextprotocol/clientCapabilities': CAN }),
  })
  const taskId = String(dig(body, 'result', 'taskId'))
  await first.stop('SIGKILL')
  const second = await startUp(home)
  onTestFinished(async () => void (await second.stop()))
  const shown = await comity(home, 'tasks')
  expect(shown.stdout).toContain('peer/confirm_delete')
  expect(shown.stdout).toContain('you')
  const detail = await comity(home, 'tasks', taskId)
  expect(detail.stdout).toContain('Delete a.txt?')
  expect(detail.stdout).toMatch(/readable: {2}until 20/u)
  const answered = await comity(
    home,
    'answer',
    taskId,
    '--data',
    '{"confirm":true}',
    '--wait',
    '20s',
  )
  expect(answered.stdout).toContain('deleted a.txt')
  expect(answered.code).toBe(0)
})

test('a cancel reaches the server, and says what is confirmed', async () => {
  const home = await house()
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop()))
  const called = await comityJson(
    home,
    'call',
    'peer/slow_compute',
    '{"seconds":60}',
    '--timeout',
    '1s',
  )
  expect(called).toMatchObject({ outcome: { state: 'working' }, task: { wait: 'still_working' } })
  const { taskId } = called['task'] as { taskId: string }
  const canceled = await comity(home, 'cancel', taskId)
  expect(canceled.stdout).toContain('confirmed stopped')
  await until('it is canceled', async () => {
    const task = await comityJson(home, 'tasks', taskId)
    return task['state'] === 'canceled' ? task : undefined
  })
})

/** Long work between two ends: a task in the form of the caller's revision, whatever the peer has; else a call that is waited for. */
import type { Caller } from './caller.ts'
import { expectText, expectThat, until, type Finding } from './cells.ts'
import type { Json } from './peer.ts'
import { isModern, type End } from './revisions.ts'

const SAID = 'done at last'

/** @param caller of 2026-07-28 with the extension declared. @param tool that lasts, under its exposed name. */
export async function checkPairTask(caller: Caller, tool: string, peer: End): Promise<Finding> {
  const { revision } = caller
  if (isModern(revision)) {
    const { result, error } = await caller.call(tool)
    expectThat(result?.['resultType'] === 'task', `it came as ${JSON.stringify(result ?? error)}`)
    const taskId = result?.['taskId']
    const look = async () => (await caller.request('tasks/get', { taskId })).result
    await until(async () => (await look())?.['status'] === 'completed', 'it is completed')
    expectText({ result: (await look())?.['result'] as Json }, SAID)
    return 'works'
  }
  if (revision === '2025-11-25' && peer.revision === '2025-11-25') {
    const params = { name: tool, arguments: {}, task: { ttl: 60_000 } }
    const { result, error } = await caller.request('tools/call', params)
    const task = result?.['task'] as Json | undefined
    expectThat(typeof task?.['taskId'] === 'string', JSON.stringify(result ?? error))
    expectText(await caller.request('tasks/result', { taskId: task?.['taskId'] }), SAID)
    return 'works'
  }
  expectText(await caller.call(tool), SAID)
  if (revision === '2025-11-25')
    return 'impossible because only a peer of 2025-11-25 says which of its tools can be called as such a task; the call is waited for'
  if (peer.revision < '2025-11-25')
    return 'impossible because neither revision has tasks; the call is waited for'
  return 'works'
}

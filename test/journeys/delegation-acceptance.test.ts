/** Completed is not accepted: what was delivered is judged by the criteria given with the work, and refused with reasons. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { openSse, replyError, sendEvent } from '../a2a/raw-peer.ts'
import { openScriptedAgent, taskOf as wireTask } from '../a2a/scripted-agent.ts'
import { comity, type Home, startUp } from './comity-process.fixture.ts'
import { delegate, homeWith, LIVE, operatorOf, startAgent } from './delegation.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 120_000 })

const CRITERIA = { required: ['report.md'], mediaTypes: ['text/markdown'], maxBytes: 100 }

async function gateway(agent: { readonly card: string }): Promise<Home> {
  const home = homeWith(agent, { acceptance: { research: CRITERIA } })
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop('SIGKILL')))
  return home
}

test('a delivery that meets the criteria is accepted, and each fault of another is told', async () => {
  const home = await gateway(await startAgent())
  const operator = operatorOf(home)
  const deliver = (...artifacts: readonly object[]): ReturnType<typeof delegate> =>
    delegate(home, `deliver ${JSON.stringify(artifacts)}`, '--wait', '20s')
  const report = { name: 'report.md', type: 'text/markdown', text: 'all is well' }

  expect(await deliver(report)).toMatchObject({
    exit: 0,
    task: { state: 'completed', verdict: { state: 'accepted' } },
  })
  for (const [artifacts, reasons] of [
    [[], ['report.md: required, not delivered']],
    [
      [{ name: 'notes.md', type: 'text/markdown', text: 'x' }],
      ['report.md: required, not delivered'],
    ],
    [[{ ...report, text: '' }], ['report.md: delivered empty']],
    [
      [{ ...report, type: 'text/html' }],
      ['report.md: media type text/html is not among those asked for'],
    ],
    [[{ ...report, text: 'x'.repeat(101) }], ['report.md: 101 bytes, at most 100 were asked for']],
  ] as const) {
    const message = `deliver ${JSON.stringify(artifacts)}`
    const { task } = await operator.delegate({ agent: 'research', message, waitMs: 30_000 }, LIVE)
    expect(task).toMatchObject({
      state: 'completed',
      wait: 'over',
      verdict: { state: 'refused', reasons },
    })
  }

  // Refused is a failure for whoever waits, whatever the agent says of itself.
  const refused = await deliver({ ...report, type: 'text/html', text: 'for reading' })
  expect(refused).toMatchObject({ exit: 1, task: { state: 'completed' } })
  const page = await comity(home, 'explain', refused.task!.taskId)
  expect(page.stdout).toContain('completed')
  expect(page.stdout).toContain('refused: report.md: media type text/html')
})

test('an artifact whose beginning never came is completed and refused', async () => {
  const agent = await openScriptedAgent({ streaming: true }, (request, response) => {
    if (request.json.method !== 'SendStreamingMessage') return replyError(request, response, -32603)
    openSse(response)
    sendEvent(request, response, { task: wireTask('WORKING') })
    const artifact = {
      artifactId: 'r',
      name: 'report.md',
      parts: [{ text: 'and so it ends', mediaType: 'text/markdown' }],
    }
    const ids = { taskId: 'T1', contextId: 'X1' }
    sendEvent(request, response, {
      artifactUpdate: { ...ids, artifact, append: true, lastChunk: true },
    })
    sendEvent(request, response, {
      statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } },
    })
    response.end()
  })
  onTestFinished(() => agent[Symbol.asyncDispose]())
  const home = await gateway({ card: agent.cardUrl })
  expect(await delegate(home, 'write it', '--wait', '20s')).toMatchObject({
    exit: 1,
    task: {
      state: 'completed',
      artifacts: [{ name: 'report.md', headless: true }],
      verdict: {
        state: 'refused',
        reasons: ['report.md: its first chunk never came, the beginning may be missing'],
      },
    },
  })
})

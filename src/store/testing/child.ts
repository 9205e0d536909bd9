/**
 * A program to be killed. Says on stdout what the store has acknowledged, and nothing before that.
 *
 * node child.ts <file> acts | few | work | hold | states
 */
import { writeSync } from 'node:fs'

import type { ApprovalCase } from '../../core/words/approval.ts'
import type { TaskState } from '../../core/words/task.ts'
import { openStore } from '../open-sqlite.ts'
import { completed, createOpening, createTask } from './make.ts'

const [file = '', mode = ''] = process.argv.slice(2)
// Not console.log: a line must have left before the process can be killed.
const say = (line: string): void => {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      // The pipe is full: the reader is slower than the store.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}
const CASE: ApprovalCase = {
  digest: 'd',
  principal: 'alice',
  peer: 'tickets',
  capability: 'delete',
  endpoint: 'endpoint-1',
  risk: 'destructive',
  rule: 'preset personal',
  argumentsText: '{}',
  theirWords: '',
}
const store = await openStore({ file, clock: Date })

if (mode === 'acts') await Promise.all(Array.from({ length: 6 }, (_, lane) => act(lane)))
if (mode === 'few') await actOften(0, 10)
if (mode === 'work') await Promise.all(Array.from({ length: 4 }, (_, lane) => work(lane)))
if (mode === 'states') await makeStates()
if (mode === 'hold') {
  store.announce({ socket: '/run/user/1000/comity.sock', url: 'http://127.0.0.1:7878' })
  say('ready')
}
setInterval(() => undefined, 60_000)

/** Opens and settles one act after another. */
function act(lane: number): Promise<void> {
  return actOften(lane, Number.POSITIVE_INFINITY)
}

async function actOften(lane: number, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const callId = `c-${lane}-${round}`
    await store.ledger.open(createOpening(callId, { actKey: callId }))
    say(`opened ${callId}`)
    store.ledger.note(callId, { kind: 'dispatched', facts: { wireId: callId } })
    await store.ledger.settle(callId, completed(), { barrier: true })
    say(`settled ${callId}`)
  }
}

/** Approvals, delegations, artifacts and cancels, step by step, for ever. */
async function work(lane: number): Promise<void> {
  for (let round = 0; ; round += 1) {
    const id = `t-${lane}-${round}`
    const asked = await store.approvals.request({ ...CASE, digest: id }, 900_000)
    say(`asked ${asked.id}`)
    await store.approvals.answer(asked.id, 'approved', 'operator')
    say(`approved ${asked.id}`)
    const callId = `call-of-${id}`
    await store.ledger.open(
      createOpening(callId, {
        actKey: callId,
        approvalId: asked.id,
        task: createTask(id, 'submitted'),
      }),
    )
    say(`spent ${asked.id}`)
    for (let part = 0; part < 5; part += 1) {
      const artifact = { artifactId: 'a', bytes: 0, complete: false, headless: false }
      await store.tasks.commit({
        next: createTask(id, 'working', {
          version: part + 1,
          artifacts: [{ ...artifact, parts: part + 1 }],
        }),
        writes: [{ do: 'append', artifactId: 'a', parts: [{ kind: 'text', text: `${part}` }] }],
        entry: { kind: 'task_changed', facts: { part } },
      })
      say(`part ${id} ${part}`)
    }
    await store.ledger.record(callId, { kind: 'cancel_asked', facts: {} })
    say(`cancel ${callId}`)
  }
}

/** One task in each state that a restart must keep. */
async function makeStates(): Promise<void> {
  const states: readonly TaskState[] = ['working', 'input_required', 'auth_required', 'completed']
  await delegate('submitted')
  for (const state of states) {
    await delegate(state)
    const handle = {
      peer: 'research',
      kind: 'a2a_task',
      sealed: 's',
      taskId: `remote-${state}`,
    } as const
    const effects = state === 'working' ? ([{ do: 'follow' }] as const) : []
    await store.ledger.settle(
      `call-of-${state}`,
      { state: 'working', handle },
      { barrier: true, task: { next: createTask(state, state, { handle }), writes: [], effects } },
    )
  }
  await delegate('receiving')
  await store.ledger.settle(
    'call-of-receiving',
    { state: 'working', handle: { peer: 'research', kind: 'a2a_task', sealed: 's' } },
    {
      barrier: true,
      task: {
        next: createTask('receiving', 'working', {
          artifacts: [{ artifactId: 'a', parts: 1, bytes: 5, complete: false, headless: false }],
        }),
        writes: [{ do: 'replace', artifactId: 'a', parts: [{ kind: 'text', text: 'first' }] }],
        effects: [{ do: 'follow' }],
      },
    },
  )
  await store.ledger.record('call-of-working', { kind: 'cancel_asked', facts: { by: 'alice' } })
  await store.approvals.request(CASE, 900_000)
  // A worker of this process holds the working task when it is killed.
  const claimed = await store.tasks.claim('worker of the dead', 1, 3_600_000)
  say(`claimed ${JSON.stringify(claimed.map(({ task, fence }) => ({ id: task.id, fence })))}`)
}

async function delegate(id: string): Promise<void> {
  const callId = `call-of-${id}`
  await store.ledger.open(
    createOpening(callId, { actKey: callId, task: createTask(id, 'submitted') }),
  )
}

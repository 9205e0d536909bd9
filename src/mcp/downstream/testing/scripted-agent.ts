/**
 * Delegation for tests: a desk with tasks in memory that a test moves by hand, over the ports of core.
 */
import type { Dispatched, TaskDesk } from '../../../core/ports/doors.ts'
import type { CancelReport, Exchange } from '../../../core/ports/upstream.ts'
import type { Artifact } from '../../../core/words/artifact.ts'
import type { NewCall } from '../../../core/words/call.ts'
import type { Outcome } from '../../../core/words/outcome.ts'
import type { Answer } from '../../../core/words/question.ts'
import { isTerminal, type TaskRecord } from '../../../core/words/task.ts'
import type { Delegation } from '../options.ts'
import type { Scripted } from './scripted-house.ts'

export const DELEGATE_TOOL: Scripted = {
  kind: 'tool',
  exposed: 'delegate_desk',
  routeKind: 'agent',
  definition: {
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
    },
  },
}

export interface ScriptedAgent {
  readonly delegation: Delegation
  readonly calls: NewCall[]
  readonly exchanges: Exchange[]
  readonly answers: (readonly Answer[])[]
  readonly canceled: string[]
  readonly artifacts: Map<string, Artifact>
  /** The agent's first reply to the newest delegation. */
  reply(outcome: Outcome): void
  /** Moves a task on, as news would. */
  move(taskId: string, change: Partial<TaskRecord>): void
  /** How many versions of a task its waiting callers have seen, from its first wait on. */
  watched(taskId: string): number
  /** What the desk says of the next answer. */
  answerOutcome: Outcome
  /** A refusal of the gate: no task is made. */
  refusal: Outcome | undefined
  report: CancelReport
}

/** Where a remote task is, for outcomes. */
export const HANDLE = {
  peer: 'desk',
  kind: 'a2a_task',
  sealed: 'sealed',
  taskId: 'remote-1',
} as const

const STOPPED: Outcome = { state: 'unknown', because: 'cancel_unconfirmed', detail: 'told to stop' }

export function createScriptedAgent(): ScriptedAgent {
  const tasks = new Map<string, TaskRecord>()
  const listeners = new Set<() => void>()
  const watched = new Map<string, Set<number>>()
  let settle: (dispatched: Dispatched) => void = () => undefined
  const load: TaskDesk['load'] = async (taskId, principal) => {
    const task = tasks.get(taskId)
    return task?.owner.id === principal.id ? task : undefined
  }
  const watch = (task: TaskRecord, signal: AbortSignal): Promise<void> => {
    watched.set(task.id, (watched.get(task.id) ?? new Set()).add(task.version))
    return changed(listeners, signal)
  }
  const agentOf = (): ScriptedAgent => agent
  const agent: ScriptedAgent = {
    calls: [],
    exchanges: [],
    answers: [],
    canceled: [],
    artifacts: new Map(),
    answerOutcome: { state: 'working', handle: HANDLE },
    refusal: undefined,
    report: { confirmed: 'stopped', detail: 'it says so' },
    reply: (outcome) => {
      const task = tasks.get(`task-${agent.calls.length}`)
      const callId = `call-${agent.calls.length}`
      settle({ callId, outcome, ...(task === undefined ? {} : { task }) })
    },
    move: (taskId, change) => {
      const task = tasks.get(taskId)
      if (task === undefined) throw new Error(`no task ${taskId}`)
      tasks.set(taskId, { ...task, ...change, version: task.version + 1 })
      for (const listener of listeners) listener()
    },
    watched: (taskId) => watched.get(taskId)?.size ?? 0,
    delegation: {
      isListed: () => true,
      begin: () => Promise.reject(new Error('this agent takes delegations only')),
      artifact: async (taskId, artifactId, principal) =>
        (await load(taskId, principal)) === undefined
          ? undefined
          : agent.artifacts.get(`${taskId}/${artifactId}`),
      delegate: async (call, exchange) => {
        agent.calls.push(call)
        agent.exchanges.push(exchange)
        const callId = `call-${agent.calls.length}`
        if (agent.refusal !== undefined) {
          return { callId, reply: Promise.resolve({ callId, outcome: agent.refusal }) }
        }
        const task = taskOf(call, agent.calls.length)
        tasks.set(task.id, task)
        const reply = new Promise<Dispatched>((resolve) => {
          settle = resolve
          exchange.signal.addEventListener('abort', () =>
            resolve({ callId, outcome: STOPPED, task }),
          )
        })
        return { callId, task, reply }
      },
      desk: {
        ...createDesk(agentOf, load, watch),
        list: async ({ id }) =>
          [...tasks.values()].filter(({ owner }) => owner.id === id).toReversed(),
      },
    },
  }
  return agent
}

/** The desk over the agent's tasks. */
function createDesk(
  agent: () => ScriptedAgent,
  load: TaskDesk['load'],
  watch: (task: TaskRecord, signal: AbortSignal) => Promise<void>,
): Omit<TaskDesk, 'list'> {
  return {
    load,
    answer: async (taskId, answers, by) => {
      const task = await load(taskId, by.principal)
      if (task === undefined) return undefined
      agent().answers.push(answers)
      return { callId: 'call-of-answer', outcome: agent().answerOutcome, task }
    },
    cancel: async (taskId, principal) => {
      const task = await load(taskId, principal)
      if (task === undefined) return undefined
      agent().canceled.push(taskId)
      return { report: agent().report, task }
    },
    watch: async (taskId, principal, signal, seen) => {
      let task = await load(taskId, principal)
      const found = task !== undefined
      while (task !== undefined && !signal.aborted) {
        await seen(task)
        if (isTerminal(task.state)) break
        await watch(task, signal)
        task = await load(taskId, principal)
      }
      return found
    },
    wait: async (taskId, principal, signal, seen) => {
      for (;;) {
        const task = await load(taskId, principal)
        if (task === undefined) return undefined
        seen?.(task)
        if (rests(task) || signal.aborted) return task
        await watch(task, signal)
      }
    },
  }
}

function rests({ state, verdict, questions }: TaskRecord): boolean {
  return isTerminal(state) ? verdict.state !== 'pending' : questions.length > 0
}

function changed(listeners: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      listeners.delete(done)
      resolve()
    }
    listeners.add(done)
    signal.addEventListener('abort', done, { once: true })
  })
}

function taskOf(call: NewCall, count: number): TaskRecord {
  return {
    id: `task-${count}`,
    version: 1,
    owner: call.principal,
    peer: 'desk',
    callId: `call-${count}`,
    state: 'submitted',
    title: 'a task',
    ...(call.contextId === undefined ? {} : { contextId: call.contextId }),
    questions: [],
    artifacts: [],
    verdict: { state: 'not_judged' },
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
  }
}

/** The one call of the tables' peer that lasts: a task in the form of its revision, done at the first look; without one, a call that takes a while. */
import type { Json, Reply } from './peer.ts'
import { isModern, type Revision } from './revisions.ts'

const META = 'io.modelcontextprotocol/'
const EXTENSION = `${META}tasks`
const TIMES = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' }
const RESULT = { content: [{ type: 'text', text: 'done at last' }] }

/** How long `long` takes where it is no task. */
const CALL_MS = 400

/** What the peer declares. */
export function tasksOf(revision: Revision): Json {
  if (isModern(revision)) return { extensions: { [EXTENSION]: {} } }
  return revision === '2025-11-25'
    ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    : {}
}

/** What the tool says of itself. */
export function supportOf(revision: Revision): Json {
  return revision === '2025-11-25' ? { execution: { taskSupport: 'required' } } : {}
}

export function long(revision: Revision, params: Json): Reply | Promise<Reply> {
  if (isModern(revision)) {
    const meta = (params['_meta'] ?? {}) as Json
    const can = (meta[`${META}clientCapabilities`] ?? {}) as { readonly extensions?: Json }
    if (can.extensions?.[EXTENSION] === undefined) return lasting()
    const task = { taskId: 'far', status: 'working', ttlMs: null, pollIntervalMs: 50, ...TIMES }
    return { result: { ...task, resultType: 'task' } }
  }
  if (params['task'] === undefined) return lasting()
  const task = { taskId: 'far', status: 'working', ttl: 60_000, pollInterval: 50, ...TIMES }
  return { result: { task } }
}

/** As a call: longer than the callers of the pairs are kept waiting. */
async function lasting(): Promise<Reply> {
  await new Promise((resolve) => setTimeout(resolve, CALL_MS))
  return { result: RESULT }
}

export function lookAtTask(revision: Revision, method: string): Reply {
  if (method === 'tasks/result') return { result: RESULT }
  const task = { taskId: 'far', status: 'completed', ...TIMES }
  if (isModern(revision))
    return { result: { ...task, ttlMs: null, result: { resultType: 'complete', ...RESULT } } }
  return { result: { ...task, ttl: 60_000 } }
}

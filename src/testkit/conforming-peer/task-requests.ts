/**
 * Requests of 2026-07-28 that concern tasks, answered in front of the SDK, which has no server of them: calls of the tools
 * that become tasks, and `tasks/get`, `tasks/update`, `tasks/cancel`. Everything else goes on to it.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663); MCP 2026-07-28, transports, HTTP headers
 */
import { PeerTasks, TASK_TOOLS } from './tasks.ts'

type Json = Readonly<Record<string, unknown>>

interface Asked {
  readonly id: unknown
  readonly method: string
  readonly params: Json
}

const EXTENSION = 'io.modelcontextprotocol/tasks'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** @returns answers such a request; undefined leaves it to the SDK, unread. */
export function createTaskRequests(): (request: Request) => Promise<Response | undefined> {
  const tasks = new PeerTasks()
  return async (request) => {
    if (request.method !== 'POST') return undefined
    if (request.headers.get('mcp-protocol-version') !== '2026-07-28') return undefined
    const asked = readAsked(await request.clone().text())
    if (asked === undefined || !concernsTasks(asked)) return undefined
    return answer(tasks, asked, request.headers)
  }
}

function readAsked(text: string): Asked | undefined {
  try {
    const value = JSON.parse(text) as Partial<Asked> | null
    if (typeof value?.method !== 'string' || value.id === undefined) return undefined
    return { id: value.id, method: value.method, params: value.params ?? {} }
  } catch {
    return undefined
  }
}

function concernsTasks({ method, params }: Asked): boolean {
  if (['tasks/get', 'tasks/update', 'tasks/cancel'].includes(method)) return true
  return method === 'tools/call' && Object.hasOwn(TASK_TOOLS, String(params['name']))
}

function answer(tasks: PeerTasks, asked: Asked, headers: Headers): Promise<Response> | Response {
  const { method, params } = asked
  const name = params[method === 'tools/call' ? 'name' : 'taskId']
  if (headers.get('mcp-method') !== method || headers.get('mcp-name') !== name)
    return fault(asked, -32020, 'the headers do not say what the body says')
  if (method === 'tools/call') return call(tasks, asked)
  if (!declares(asked)) return lacksTasks(asked)
  const task = tasks.find(params['taskId'])
  if (task === undefined) return fault(asked, -32602, 'there is no such task', undefined, 200)
  if (method === 'tasks/get') return result(asked, task.detailed())
  if (method === 'tasks/update') task.update((params['inputResponses'] ?? {}) as Json)
  else task.cancel()
  return result(asked, {})
}

async function call(tasks: PeerTasks, asked: Asked): Promise<Response> {
  const { params } = asked
  const tool = TASK_TOOLS[String(params['name'])]
  if (tool === undefined) return fault(asked, -32602, 'there is no such tool')
  const args = (params['arguments'] ?? {}) as Json
  const responses = (params['inputResponses'] ?? {}) as Json
  if (!declares(asked) && tool.required) return lacksTasks(asked)
  const inputRequests = tool.first?.(responses)
  if (inputRequests !== undefined)
    return result(asked, { resultType: 'input_required', inputRequests, requestState: 'asked' })
  const task = tasks.begin(tool, args, responses)
  if (declares(asked)) return result(asked, { ...task.members(), resultType: 'task' })
  // Whoever takes no tasks waits; nothing can be asked then.
  await task.sleep(0)
  while (!('result' in task.detailed()) && !('error' in task.detailed())) {
    if ('inputRequests' in task.detailed()) task.cancel()
    await task.sleep(20)
    if (task.canceled.signal.aborted)
      return fault(asked, -32603, 'it asks, and nobody can be asked')
  }
  return result(asked, task.detailed()['result'] as Json)
}

function declares({ params }: Asked): boolean {
  const meta = params['_meta'] as Json | undefined
  const capabilities = meta?.[CAPABILITIES] as { readonly extensions?: Json } | undefined
  return capabilities?.extensions?.[EXTENSION] !== undefined
}

function lacksTasks(asked: Asked): Response {
  const requiredCapabilities = { extensions: { [EXTENSION]: {} } }
  return fault(asked, -32021, 'this needs tasks', { requiredCapabilities })
}

function result({ id }: Asked, value: Json): Response {
  return Response.json({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...value } })
}

function fault({ id }: Asked, code: number, message: string, data?: Json, status = 400): Response {
  const error = { code, message, ...(data === undefined ? {} : { data }) }
  return Response.json({ jsonrpc: '2.0', id, error }, { status })
}

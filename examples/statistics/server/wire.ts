/**
 * MCP 2026-07-28 over HTTP, as much as this server needs: discovery, two tools, and the Tasks extension.
 *
 * @source MCP 2026-07-28, basic and transports; io.modelcontextprotocol/tasks (SEP-2663)
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Analysis, DROP, KEEP } from './analysis.ts'
import type { Task, TaskStore } from './store.ts'

type Json = Readonly<Record<string, unknown>>

const REVISION = '2026-07-28'
const TASKS = 'io.modelcontextprotocol/tasks'
const META = 'io.modelcontextprotocol/'
const MAX_BODY = 1_048_576
const TTL_MS = 86_400_000
const QUESTION = 'outliers'

/** A refusal in JSON-RPC's form. */
class Refusal extends Error {
  readonly code: number
  readonly data: Json | undefined

  constructor(code: number, message: string, data?: Json) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function createWire(analysis: Analysis, store: TaskStore, pollMs: number): Server {
  const methods: Readonly<Record<string, (params: Json) => Json>> = {
    'server/discover': () => ({
      supportedVersions: [REVISION],
      capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      ttlMs: 60_000,
      cacheScope: 'public',
    }),
    'tools/list': () => ({ tools: TOOLS, ttlMs: 60_000, cacheScope: 'public' }),
    'tools/call': (params) => {
      if (params['name'] === 'describe') return said('measurements (station, month, value)')
      if (params['name'] !== 'analyze') throw new Refusal(-32602, 'there is no such tool')
      expectTasks(params)
      return { ...members(analysis.begin(), pollMs), resultType: 'task' }
    },
    'tasks/get': (params) => detailed(analysis, taskOf(store, params), pollMs),
    'tasks/update': (params) => {
      const task = taskOf(store, params)
      const given = (params['inputResponses'] as Json | undefined)?.[QUESTION] as Json | undefined
      const content = given?.['content'] as Json | undefined
      const treatment =
        given?.['action'] === 'accept' && content?.['treatment'] === DROP ? DROP : KEEP
      if (given !== undefined && store.answer(task.id, treatment)) analysis.goOn(task.id)
      return {}
    },
    'tasks/cancel': (params) => {
      analysis.cancel(taskOf(store, params).id)
      return {}
    },
  }
  return createServer((request, response) => void serve(request, response, methods))
}

const TOOLS = [
  {
    name: 'analyze',
    description:
      'Reads all measurements, month by month, and says what they come to. Takes minutes; asks once.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
  {
    name: 'describe',
    description: 'What is measured',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
]

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  methods: Readonly<Record<string, (params: Json) => Json>>,
): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  let id: unknown = null
  try {
    const message = JSON.parse(await bodyOf(request)) as Json
    id = message['id'] ?? null
    const name = String(message['method'])
    if (message['id'] === undefined) return void response.writeHead(202).end()
    const params = (message['params'] ?? {}) as Json
    if (request.headers['mcp-method'] !== name)
      throw new Refusal(-32020, 'the header Mcp-Method must say what the body says')
    const meta = (params['_meta'] ?? {}) as Json
    if (meta[`${META}protocolVersion`] !== REVISION)
      throw new Refusal(-32022, `served: ${REVISION}`, { supported: [REVISION] })
    const method = methods[name]
    if (method === undefined) throw new Refusal(-32601, `method not found: ${name}`)
    answer(response, 200, {
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', ...method(params) },
    })
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal(-32700, 'this is no JSON-RPC')
    const { code, message, data } = refusal
    const status = code === -32601 ? 404 : code === -32602 ? 200 : 400
    const told = { code, message, ...(data === undefined ? {} : { data }) }
    answer(response, status, { jsonrpc: '2.0', id, error: told })
  }
}

function expectTasks(params: Json): void {
  const meta = (params['_meta'] ?? {}) as Json
  const capabilities = (meta[`${META}clientCapabilities`] ?? {}) as { readonly extensions?: Json }
  if (capabilities.extensions?.[TASKS] !== undefined) return
  const requiredCapabilities = { extensions: { [TASKS]: {} } }
  throw new Refusal(-32021, 'an analysis is a task', { requiredCapabilities })
}

function taskOf(store: TaskStore, params: Json): Task {
  expectTasks(params)
  const task = store.find(String(params['taskId']))
  if (task === undefined) throw new Refusal(-32602, 'there is no such task')
  return task
}

function members(task: Task, pollMs: number): Json {
  return {
    taskId: task.id,
    status: task.status,
    statusMessage: task.message,
    createdAt: task.createdAt,
    lastUpdatedAt: task.updatedAt,
    ttlMs: TTL_MS,
    pollIntervalMs: pollMs,
  }
}

function detailed(analysis: Analysis, task: Task, pollMs: number): Json {
  const base = members(task, pollMs)
  if (task.status === 'completed')
    return { ...base, result: JSON.parse(task.result ?? '{}') as Json }
  if (task.status === 'failed') return { ...base, error: { code: -32603, message: task.message } }
  if (task.status !== 'input_required') return base
  const requestedSchema = {
    type: 'object',
    properties: { treatment: { type: 'string', enum: [KEEP, DROP] } },
    required: ['treatment'],
  }
  const params = { mode: 'form', ...analysis.question(task.id), requestedSchema }
  return { ...base, inputRequests: { [QUESTION]: { method: 'elicitation/create', params } } }
}

function said(text: string): Json {
  return { content: [{ type: 'text', text }] }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) throw new Refusal(-32600, `at most ${MAX_BODY} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function answer(response: ServerResponse, status: number, message: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(message))
}

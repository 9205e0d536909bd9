/**
 * A server of tasks of 2025-11-25 on the official v1 SDK. Tools: `report` (demands a task, completes with what it was given),
 * `ask` (may be one; asks in the middle), `fail` (demands one, reports an error), `wait` (demands one, until it is cancelled or
 * the process ends), `chat` (no task; asks). As a process it serves stdio, or HTTP with `--http`, where it prints its URL.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import type { CreateTaskRequestHandlerExtra } from '@modelcontextprotocol/sdk/experimental/tasks/interfaces.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitResultSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const POLL_MS = 50
const LANGUAGE = { type: 'object' as const, properties: { language: { type: 'string' as const } } }

const textOf = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

type Extra = CreateTaskRequestHandlerExtra
type Run = (taskId: string, extra: Extra) => Promise<CallToolResult | undefined>

/** One server, for one session. */
function createTaskServer(store: InMemoryTaskStore): McpServer {
  const server = new McpServer(
    { name: 'tasks', version: '1' },
    {
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: store,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
      defaultTaskPollInterval: POLL_MS,
    },
  )
  const register = (name: string, taskSupport: 'optional' | 'required', run: Run): void => {
    server.experimental.tasks.registerToolTask(
      name,
      {
        description: name,
        inputSchema: { text: z.string().optional() },
        execution: { taskSupport },
      },
      {
        createTask: async (args, extra) => {
          const ttl = extra.taskRequestedTtl ?? null
          const task = await extra.taskStore.createTask({ ttl, pollInterval: POLL_MS })
          const ended = run(`${task.taskId} ${args.text ?? ''}`, extra)
          void ended
            .then(async (result) => {
              if (result === undefined) return
              const status = result.isError === true ? 'failed' : 'completed'
              await extra.taskStore.storeTaskResult(task.taskId, status, result)
            })
            .catch(() => undefined)
          return { task }
        },
        getTask: async (_args, { taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async (_args, { taskId, taskStore }) =>
          (await taskStore.getTaskResult(taskId)) as CallToolResult,
      },
    )
  }
  register('report', 'required', async (named, { taskRequestedTtl }) =>
    textOf(`${named.split(' ')[1]}, kept for ${taskRequestedTtl}`),
  )
  register('fail', 'required', async () => ({ ...textOf('no paper'), isError: true }))
  register('wait', 'required', async () => undefined)
  register('ask', 'optional', async (named, extra) => {
    const taskId = named.split(' ')[0]!
    const message = 'Which language?'
    const related: RequestOptions = { relatedTask: { taskId } }
    const answer = await extra.sendRequest(
      { method: 'elicitation/create', params: { message, requestedSchema: LANGUAGE } },
      ElicitResultSchema,
      related,
    )
    await extra.taskStore.updateTaskStatus(taskId, 'working')
    return textOf(JSON.stringify(answer))
  })
  server.registerTool('chat', {}, async (extra) => {
    const answer = await extra.sendRequest(
      { method: 'elicitation/create', params: { message: 'Chat?', requestedSchema: LANGUAGE } },
      ElicitResultSchema,
    )
    return textOf(JSON.stringify(answer))
  })
  return server
}

export interface TaskServer {
  readonly url: string
  /** Forgets all sessions, as a restart does. */
  forget(): void
  close(): void
}

/** Over HTTP; a session's tasks are its own. */
export async function serveTasks(): Promise<TaskServer> {
  const store = new InMemoryTaskStore()
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await createTaskServer(store).connect(transport as Transport)
    return transport
  }
  const http = createServer((request, response) => {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (typeof id === 'string' && known === undefined) return void response.writeHead(404).end()
    void (async () => (known ?? (await open())).handleRequest(request, response))()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    forget: () => sessions.clear(),
    close: () => {
      http.closeAllConnections()
      http.close()
      store.cleanup()
    },
  }
}

if (import.meta.main) {
  if (process.argv.includes('--http')) {
    const { url } = await serveTasks()
    process.stdout.write(`${url}\n`)
  } else {
    await createTaskServer(new InMemoryTaskStore()).connect(new StdioServerTransport())
  }
}

/**
 * The tasks of the conforming peer: what runs behind the fixtures of the Tasks extension, in memory.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663); names and behaviour are those that the official conformance suite asks for
 */
import { randomUUID } from 'node:crypto'

type Json = Readonly<Record<string, unknown>>

/** How a task ended. */
type End = { readonly result: Json } | { readonly error: Json } | 'cancelled'

/** A tool whose calls become tasks. */
export interface TaskTool {
  readonly description: string
  readonly properties: Json
  /** Cannot be called without tasks. */
  readonly required: boolean
  /** Asks before there is a task. @returns undefined when it has what it wants to know. */
  readonly first?: (responses: Json) => Json | undefined
  readonly run: (task: PeerTask, args: Json, responses: Json) => Promise<End>
}

const TTL_MS = 300_000
const POLL_MS = 100

/** One task. */
export class PeerTask {
  readonly id = randomUUID()
  readonly createdAt = new Date().toISOString()
  readonly canceled = new AbortController()
  #lastUpdatedAt = this.createdAt
  #message: string | undefined
  #end: End | undefined
  readonly #asked = new Map<string, { readonly request: Json; answer(response: unknown): void }>()
  readonly #changed: () => void

  constructor(changed: () => void) {
    this.#changed = changed
  }

  /** Waits that long, or until it is canceled. @returns whether it was. */
  async sleep(ms: number): Promise<boolean> {
    const { signal } = this.canceled
    if (!signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    return signal.aborted
  }

  say(message: string): void {
    this.#message = message
    this.#touch()
  }

  ask(key: string, request: Json): Promise<unknown> {
    return new Promise((resolve) => {
      const answer = (response: unknown): void => {
        this.#asked.delete(key)
        this.#touch()
        resolve(response)
      }
      this.#asked.set(key, { request, answer })
      this.canceled.signal.addEventListener('abort', () => resolve({ action: 'cancel' }))
      this.#touch()
    })
  }

  update(responses: Json): void {
    for (const [key, response] of Object.entries(responses)) this.#asked.get(key)?.answer(response)
  }

  cancel(): void {
    if (this.#end === undefined) this.canceled.abort()
  }

  finish(end: End): void {
    this.#end = end
    this.#asked.clear()
    this.#touch()
  }

  /** The members of `Task`. */
  members(): Json {
    return {
      taskId: this.id,
      status: this.#status(),
      ...(this.#message === undefined ? {} : { statusMessage: this.#message }),
      createdAt: this.createdAt,
      lastUpdatedAt: this.#lastUpdatedAt,
      ttlMs: TTL_MS,
      pollIntervalMs: POLL_MS,
    }
  }

  detailed(): Json {
    const end = this.#end
    const asked = [...this.#asked].map(([key, { request }]) => [key, request] as const)
    return {
      ...this.members(),
      ...(end !== undefined && end !== 'cancelled' ? end : {}),
      ...(end === undefined && asked.length > 0
        ? { inputRequests: Object.fromEntries(asked) }
        : {}),
    }
  }

  #status(): string {
    const end = this.#end
    if (end === undefined) return this.#asked.size > 0 ? 'input_required' : 'working'
    if (end === 'cancelled') return 'cancelled'
    return 'result' in end ? 'completed' : 'failed'
  }

  #touch(): void {
    this.#lastUpdatedAt = new Date().toISOString()
    this.#changed()
  }
}

function said(text: string, isError = false): End {
  const content = [{ type: 'text', text }]
  return { result: { resultType: 'complete', content, ...(isError ? { isError } : {}) } }
}

function form(message: string, properties: Json): Json {
  const requestedSchema = { type: 'object', properties, required: Object.keys(properties) }
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

function contentOf(response: unknown): Json {
  const value = response as { readonly content?: Json } | undefined
  return value?.content ?? {}
}

export const TASK_TOOLS: Readonly<Record<string, TaskTool>> = {
  slow_compute: {
    description: 'Computes for some seconds, as a task',
    properties: { seconds: { type: 'number' }, label: { type: 'string' } },
    required: false,
    run: async (task, { seconds, label }) => {
      task.say('computing')
      const canceled = await task.sleep(Number(seconds ?? 0) * 1000)
      return canceled
        ? 'cancelled'
        : said(`computed ${String(label ?? '')} in ${String(seconds)} s`)
    },
  },
  failing_job: {
    description: 'A task that reports an error of the tool',
    properties: {},
    required: true,
    run: async (task) => ((await task.sleep(300)) ? 'cancelled' : said('the job failed', true)),
  },
  protocol_error_job: {
    description: 'A task that ends with a fault of the protocol',
    properties: {},
    required: false,
    run: async (task) =>
      (await task.sleep(100)) ? 'cancelled' : { error: { code: -32603, message: 'it broke' } },
  },
  confirm_delete: {
    description: 'A task that asks before it deletes',
    properties: { filename: { type: 'string' } },
    required: false,
    run: async (task, { filename }) => {
      const request = form(`Delete ${String(filename)}?`, { confirm: { type: 'boolean' } })
      const { confirm } = contentOf(await task.ask('confirm', request))
      if (task.canceled.signal.aborted) return 'cancelled'
      return said(confirm === true ? `deleted ${String(filename)}` : 'nothing was deleted')
    },
  },
  multi_input: {
    description: 'A task that asks two things at once',
    properties: {},
    required: false,
    run: async (task) => {
      const [name, confirm] = await Promise.all([
        task.ask('name', form('What is your name?', { name: { type: 'string' } })),
        task.ask('confirm', form('Are you sure?', { confirm: { type: 'boolean' } })),
      ])
      if (task.canceled.signal.aborted) return 'cancelled'
      return said(`${String(contentOf(name)['name'])}, ${String(contentOf(confirm)['confirm'])}`)
    },
  },
  test_tool_with_task: {
    description: 'Asks for a name first, then becomes a task',
    properties: {},
    required: true,
    first: ({ user_name }) =>
      contentOf(user_name)['name'] === undefined
        ? { user_name: form('What is your name?', { name: { type: 'string' } }) }
        : undefined,
    run: async (task, _args, { user_name }) =>
      (await task.sleep(100))
        ? 'cancelled'
        : said(`Hello, ${String(contentOf(user_name)['name'])}!`),
  },
}

/** All tasks of one endpoint. */
export class PeerTasks {
  readonly #tasks = new Map<string, PeerTask>()
  readonly #listeners = new Set<(task: PeerTask) => void>()

  begin(tool: TaskTool, args: Json, responses: Json): PeerTask {
    const task: PeerTask = new PeerTask(() => {
      for (const listener of this.#listeners) listener(task)
    })
    this.#tasks.set(task.id, task)
    void tool.run(task, args, responses).then((end) => task.finish(end))
    return task
  }

  find(id: unknown): PeerTask | undefined {
    return typeof id === 'string' ? this.#tasks.get(id) : undefined
  }

  /** Calls back with every change of every task; returns the way to stop. */
  onChanged(listener: (task: PeerTask) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

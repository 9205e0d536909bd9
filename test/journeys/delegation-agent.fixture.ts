/**
 * An A2A agent as a process: `delegation-agent.fixture.ts '<AgentScript>'`, on the server side of the official SDK.
 *
 * Every request is a line of `requests.jsonl` in its folder, written before anything is done about it. Its tasks
 * lie on disk and it goes on with them after its own restart. What it does follows from the first word it is
 * sent; files in its folder steer it: `hold-<method>` keeps a request waiting before it is handled,
 * `keep-<method>` keeps the reply back, `open-<word>` lets the work named by the second word end.
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { AgentCard, type Artifact, type Message, Role, Task, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import type { AgentScript } from './delegation.fixture.ts'

const script = JSON.parse(process.argv[2] ?? '{}') as AgentScript
const inFolder = (name: string): string => join(script.folder, name)
const canceled = new Set<string>()

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState

/** Tasks on disk: all of them in one file, replaced at each save. */
class DiskTaskStore extends InMemoryTaskStore {
  readonly tasks = new Map<string, Task>()

  override async save(task: Task, context: ServerCallContext): Promise<void> {
    await super.save(task, context)
    this.tasks.set(task.id, structuredClone(task))
    const file = inFolder('tasks.json')
    writeFileSync(
      `${file}.new`,
      JSON.stringify([...this.tasks.values()].map((one) => Task.toJSON(one))),
    )
    renameSync(`${file}.new`, file)
  }

  async restore(): Promise<readonly Task[]> {
    if (!existsSync(inFolder('tasks.json'))) return []
    const kept = JSON.parse(readFileSync(inFolder('tasks.json'), 'utf8')) as unknown[]
    const tasks = kept.map((one) => Task.fromJSON(one))
    for (const task of tasks) await this.save(task, CONTEXT)
    return tasks
  }
}

const CONTEXT = new ServerCallContext({ requestedVersion: '1.0' })
const store = new DiskTaskStore()

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function whileThere(name: string): Promise<void> {
  while (existsSync(inFolder(name))) await pause(20)
}

/** @returns false when the task was canceled meanwhile. */
async function untilOpen(word: string, taskId: string): Promise<boolean> {
  while (!existsSync(inFolder(`open-${word}`))) {
    if (canceled.has(taskId)) return false
    await pause(20)
  }
  return true
}

class Script implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const text = textOf(context.userMessage)
    const [verb = '', word = 'gate'] = text.split(' ')
    const turn = new Turn(context, bus)
    if (verb === 'message') {
      bus.publish(AgentEvent.message(turn.message('just an answer')))
      return bus.finished()
    }
    const before = context.task?.status?.state
    if (before === TASK_STATE_INPUT_REQUIRED && text === 'by message') {
      await this.#answeredByMessage(context, turn, bus)
      return bus.finished()
    }
    turn.start(before ?? TaskState.TASK_STATE_SUBMITTED)
    if (before === TASK_STATE_INPUT_REQUIRED) await this.#answered(context, turn, text)
    else await this.#work(context, turn, { verb, word, text })
    bus.finished()
  }

  /** The reply is a Message, and the task itself ends beside it. */
  async #answeredByMessage(
    { task }: RequestContext,
    turn: Turn,
    bus: ExecutionEventBus,
  ): Promise<void> {
    const artifacts = [turn.artifactOf('answer', 'said by message')]
    const status = { state: TASK_STATE_COMPLETED, message: undefined, timestamp: now() }
    await store.save({ ...task!, artifacts, status }, CONTEXT)
    bus.publish(AgentEvent.message(turn.message('thank you for that')))
  }

  async #answered(context: RequestContext, turn: Turn, text: string): Promise<void> {
    if (text === 'and fail')
      return turn.status(TaskState.TASK_STATE_FAILED, 'cannot use that answer')
    turn.status(TASK_STATE_WORKING)
    if (text === 'again') return turn.status(TASK_STATE_INPUT_REQUIRED, 'and which colour?')
    if (text.startsWith('slowly')) await untilOpen('slowly', context.taskId)
    turn.artifact('answer', `you said: ${text}`, false, true)
    turn.status(TASK_STATE_COMPLETED)
  }

  async #work(
    context: RequestContext,
    turn: Turn,
    { verb, word, text }: { readonly verb: string; readonly word: string; readonly text: string },
  ): Promise<void> {
    const { taskId } = context
    if (verb === 'fail-now') return turn.status(TaskState.TASK_STATE_FAILED, 'no time today')
    turn.status(TASK_STATE_WORKING, 'on it')
    switch (verb) {
      case 'ask':
        turn.status(TASK_STATE_INPUT_REQUIRED, 'which one?')
        return
      case 'auth':
        turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, 'log in at the agent')
        await untilOpen(word, taskId)
        turn.artifact('out', 'let in', false, true)
        return turn.status(TASK_STATE_COMPLETED)
      case 'fail':
        return turn.status(TaskState.TASK_STATE_FAILED, 'the disk is full')
      case 'reject':
        return turn.status(TaskState.TASK_STATE_REJECTED, 'not my trade')
      case 'stop':
        return turn.status(TaskState.TASK_STATE_CANCELED, 'stopped by its owner')
      case 'deliver':
        for (const one of JSON.parse(text.slice(8)) as {
          name: string
          type: string
          text: string
        }[]) {
          turn.artifact(one.name, one.text, false, true, one.type)
        }
        return turn.status(TASK_STATE_COMPLETED)
      case 'file': {
        turn.file('trip.bin', Buffer.alloc(2 * 1024 * 1024, 7))
        turn.artifact('plan', 'by train', false, true)
        return turn.status(TASK_STATE_COMPLETED)
      }
      default: {
        turn.artifact('out', CHUNKS[0], false, false)
        const goesOn = await untilOpen(word, taskId)
        if (!goesOn && verb !== 'stubborn') return turn.status(TaskState.TASK_STATE_CANCELED)
        if (!goesOn) await whileThere('never-there')
        turn.artifact('out', CHUNKS[1], true, false)
        turn.artifact('out', CHUNKS[2], true, true)
        turn.status(TASK_STATE_COMPLETED, 'done')
      }
    }
  }

  cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const task = store.tasks.get(taskId)
    const text = textOf(task?.history[0])
    if (text.startsWith('stubborn')) {
      // Asked, and not heeding it: the task goes on.
      const status = { state: TASK_STATE_WORKING, message: undefined, timestamp: now() }
      const { contextId } = task!
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }))
      bus.finished()
    } else canceled.add(taskId)
    return Promise.resolve()
  }
}

const CHUNKS = ['one ', 'two ', 'three'] as const

class Turn {
  readonly #context: RequestContext
  readonly #bus: ExecutionEventBus

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context
    this.#bus = bus
  }

  message(text: string): Message {
    return {
      messageId: randomUUID(),
      contextId: this.#context.contextId,
      taskId: '',
      role: Role.ROLE_AGENT,
      parts: [part(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    }
  }

  start(state: TaskState): void {
    const { taskId, contextId, userMessage, task } = this.#context
    const fresh: Task = {
      id: taskId,
      contextId,
      status: { state, message: undefined, timestamp: now() },
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    }
    this.#bus.publish(AgentEvent.task(task ?? fresh))
  }

  status(state: TaskState, text?: string): void {
    const { taskId, contextId } = this.#context
    const message = text === undefined ? undefined : this.message(text)
    const status = { state, message, timestamp: now() }
    this.#bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }))
  }

  artifactOf(artifactId: string, text: string, type = 'text/markdown'): Artifact {
    const name = artifactId.includes('.') ? artifactId : `${artifactId}.md`
    const parts = text === '' ? [part('', type)] : [part(text, type)]
    return { artifactId, name, description: '', parts, metadata: undefined, extensions: [] }
  }

  artifact(id: string, text: string, append: boolean, lastChunk: boolean, type?: string): void {
    this.#publish(this.artifactOf(id, text, type), append, lastChunk)
  }

  file(name: string, bytes: Buffer): void {
    const content = { $case: 'raw' as const, value: bytes }
    const raw = {
      content,
      metadata: undefined,
      filename: name,
      mediaType: 'application/octet-stream',
    }
    this.#publish({ ...this.artifactOf(name, 'x'), parts: [raw] }, false, true)
  }

  #publish(artifact: Artifact, append: boolean, lastChunk: boolean): void {
    const { taskId, contextId } = this.#context
    const event = { taskId, contextId, artifact, append, lastChunk, metadata: undefined }
    this.#bus.publish(AgentEvent.artifactUpdate(event))
  }
}

function part(text: string, mediaType = 'text/markdown'): Message['parts'][number] {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType }
}

function textOf(message: Message | undefined): string {
  const content = message?.parts[0]?.content
  return content?.$case === 'text' ? content.value : ''
}

function now(): string {
  return new Date().toISOString()
}

/** Work that a restart cut off is done anew, whole. */
async function goOn(task: Task): Promise<void> {
  if (task.status?.state !== TASK_STATE_WORKING) return
  const [, word = 'gate'] = textOf(task.history[0]).split(' ')
  if (!(await untilOpen(word, task.id))) return
  const artifact: Artifact = {
    artifactId: 'out',
    name: 'out.md',
    description: '',
    parts: [part(CHUNKS.join(''))],
    metadata: undefined,
    extensions: [],
  }
  const status = { state: TASK_STATE_COMPLETED, message: undefined, timestamp: now() }
  await store.save({ ...task, artifacts: [artifact], status }, CONTEXT)
}

function cardOf(origin: string): object {
  const changed = existsSync(inFolder('description'))
  return {
    name: 'Process agent',
    description: changed
      ? readFileSync(inFolder('description'), 'utf8')
      : 'Does what its text says',
    version: '1.2.3',
    supportedInterfaces: [
      { url: `${origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: script.streaming === true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'] }],
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const isCard = request.url?.startsWith('/.well-known/') === true
  const body =
    text === '' ? {} : (JSON.parse(text) as { id?: unknown; method?: string; params?: unknown })
  const method = isCard ? 'card' : String(body.method)
  appendFileSync(
    inFolder('requests.jsonl'),
    `${JSON.stringify({ at: Date.now(), method, params: body.params })}\n`,
  )
  await whileThere(`hold-${method}`)
  if (isCard) {
    const caching =
      script.cacheControl === undefined ? {} : { 'cache-control': script.cacheControl }
    response.writeHead(200, { 'content-type': 'application/json', ...caching })
    response.end(JSON.stringify(cardOf(origin)))
    return
  }
  if (method === 'ListTasks' && script.list === false) {
    const error = { code: -32601, message: 'Method not found' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error }))
    return
  }
  const version = String(request.headers['a2a-version'] ?? '0.3')
  const reply = await rpc.handle(text, new ServerCallContext({ requestedVersion: version }))
  await whileThere(`keep-${method}`)
  if (!(Symbol.asyncIterator in reply)) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  // Read to its end whoever listens: the handler keeps the task as it is read.
  for await (const event of reply) response.write(`data: ${JSON.stringify(event)}\n\n`)
  response.end()
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    response.destroy()
  })
})
const listening = new Promise<void>((resolve) =>
  server.listen(script.port ?? 0, '127.0.0.1', resolve),
)
await listening
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const kept = await store.restore()
const handler = new DefaultRequestHandler(AgentCard.fromJSON(cardOf(origin)), store, new Script())
const rpc = new JsonRpcTransportHandler(handler)
for (const task of kept) void goOn(task)
process.stdout.write(`ready ${origin}\n`)

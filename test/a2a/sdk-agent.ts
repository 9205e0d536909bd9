/** A real agent on the server side of the official SDK, on node:http; what it does follows from the text it is sent. */
import { randomUUID } from 'node:crypto'
import { AgentCard, type Artifact, type Message, Role, type Task, TaskState } from '@a2a-js/sdk'
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
import { openRawPeer, openSse, type RawPeer, replyJson } from './raw-peer.ts'

export interface SdkAgent extends RawPeer {
  readonly cardUrl: string
}

export async function openSdkAgent(options: { readonly streaming: boolean }): Promise<SdkAgent> {
  // Filled in once the address is known, before anybody is told of it.
  const made: { rpc?: JsonRpcTransportHandler; card?: object } = {}
  const peer = await openRawPeer(async (request, response) => {
    if (request.path.startsWith('/.well-known/')) return replyJson(response, 200, made.card)
    const version = request.headers['a2a-version']
    const context = new ServerCallContext({ requestedVersion: String(version ?? '0.3') })
    const reply = await made.rpc!.handle(request.text, context)
    if (!(Symbol.asyncIterator in reply)) return replyJson(response, 200, reply)
    openSse(response)
    for await (const event of reply) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end()
  })
  const card = {
    name: 'Sdk agent',
    description: 'Does what its text says',
    version: '1.2.3',
    supportedInterfaces: [
      { url: `${peer.origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: options.streaming },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'] }],
  }
  const handler = new DefaultRequestHandler(
    AgentCard.fromJSON(card),
    new InMemoryTaskStore(),
    new Script(),
  )
  Object.assign(made, { rpc: new JsonRpcTransportHandler(handler), card })
  return Object.assign(peer, { cardUrl: `${peer.origin}/` })
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

class Script implements AgentExecutor {
  readonly #canceled = new Set<string>()

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const text = textOf(context.userMessage)
    const turn = new Turn(context, bus)
    if (text === 'message') {
      bus.publish(AgentEvent.message(turn.message('just an answer')))
      return bus.finished()
    }
    const before = context.task?.status?.state
    turn.start(before ?? TaskState.TASK_STATE_SUBMITTED)
    if (before === TaskState.TASK_STATE_INPUT_REQUIRED) {
      turn.status(TaskState.TASK_STATE_WORKING)
      turn.artifact('answer', `you said ${text}`, false, true)
      turn.status(TaskState.TASK_STATE_COMPLETED)
      return bus.finished()
    }
    turn.status(TaskState.TASK_STATE_WORKING, 'on it')
    switch (text) {
      case 'ask':
        turn.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'which one?')
        break
      case 'auth':
        turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, 'log in elsewhere')
        await pause(100)
        turn.status(TaskState.TASK_STATE_COMPLETED)
        break
      case 'fail':
        turn.status(TaskState.TASK_STATE_FAILED, 'the disk is full')
        break
      case 'reject':
        turn.status(TaskState.TASK_STATE_REJECTED, 'not my trade')
        break
      case 'hang':
        while (!this.#canceled.has(context.taskId)) await pause(10)
        turn.status(TaskState.TASK_STATE_CANCELED)
        break
      default:
        for (const [index, chunk] of ['one ', 'two ', 'three'].entries()) {
          await pause(30)
          turn.artifact('out', chunk, index > 0, index === 2)
        }
        turn.status(TaskState.TASK_STATE_COMPLETED, 'done')
    }
    bus.finished()
  }

  cancelTask(taskId: string): Promise<void> {
    this.#canceled.add(taskId)
    return Promise.resolve()
  }
}

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
      status: { state, message: undefined, timestamp: new Date().toISOString() },
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    }
    this.#bus.publish(AgentEvent.task(task ?? fresh))
  }

  status(state: TaskState, text?: string): void {
    const { taskId, contextId } = this.#context
    this.#bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: {
          state,
          message: text === undefined ? undefined : this.message(text),
          timestamp: new Date().toISOString(),
        },
        metadata: undefined,
      }),
    )
  }

  artifact(artifactId: string, text: string, append: boolean, lastChunk: boolean): void {
    const { taskId, contextId } = this.#context
    const artifact: Artifact = {
      artifactId,
      name: `${artifactId}.md`,
      description: '',
      parts: [part(text)],
      metadata: undefined,
      extensions: [],
    }
    this.#bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact,
        append,
        lastChunk,
        metadata: undefined,
      }),
    )
  }
}

function part(text: string): Message['parts'][number] {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/markdown',
  }
}

function textOf(message: Message): string {
  const content = message.parts[0]?.content
  return content?.$case === 'text' ? content.value : ''
}

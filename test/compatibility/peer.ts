/**
 * A peer with one of everything, in any revision: what it does, without the transport. Written by hand from the
 * specifications, so that it shares no code with what it tests.
 */
import { long, lookAtTask, supportOf, tasksOf } from './peer-tasks.ts'
import { isModern, type Revision } from './revisions.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Incoming {
  readonly id?: string | number
  readonly method: string
  readonly params?: Json
}

export type Reply = { readonly result: Json } | { readonly error: Json }

/** Where one request came from. */
export interface Channel {
  notify(method: string, params: Json): void
  /** Session revisions: a request of ours within this one. Resolves to its result; rejects with its error's message. */
  ask(method: string, params: Json): Promise<Json>
  /** Aborted when the request was cancelled in this transport's form. */
  readonly signal: AbortSignal
}

export interface CompatPeer {
  readonly revision: Revision
  answer(message: Incoming, channel: Channel): Promise<Reply>
  /** Notifications of a session that belong to no request. */
  onNotice(listener: (method: string, params: Json) => void): void
}

const META = 'io.modelcontextprotocol/'
export const WATCHED = 'test://watched'
const LARGE = 3 * 1024 * 1024

const QUESTIONS: Readonly<Record<string, { readonly method: string; readonly params: Json }>> = {
  ask_form: {
    method: 'elicitation/create',
    params: {
      message: 'What is your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    },
  },
  ask_url: {
    method: 'elicitation/create',
    params: {
      mode: 'url',
      message: 'Please sign in',
      url: 'https://sign-in.example/',
      elicitationId: 'e1',
    },
  },
  ask_sampling: {
    method: 'sampling/createMessage',
    params: {
      messages: [{ role: 'user', content: { type: 'text', text: 'say something' } }],
      maxTokens: 10,
    },
  },
  ask_roots: { method: 'roots/list', params: {} },
}

const TOOLS = [
  'echo',
  'broken',
  'refuse',
  'progress',
  'log',
  'wait',
  'stopped',
  'large',
  'structured',
  'grow',
  'touch',
  'long',
  ...Object.keys(QUESTIONS),
]

export function createCompatPeer(revision: Revision): CompatPeer {
  const modern = isModern(revision)
  const tools = [...TOOLS]
  const listeners = new Set<(method: string, params: Json) => void>()
  const listening = new Set<(method: string, params: Json) => void>()
  const tell = (method: string, params: Json): void => {
    for (const listener of modern ? listening : listeners) listener(method, params)
  }
  let stopped = 0
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
    ...tasksOf(revision),
  }

  const run = async (params: Json, channel: Channel): Promise<Reply> => {
    const name = String(params['name'])
    const question = QUESTIONS[name]
    if (question !== undefined) {
      return modern ? askInRounds(question, params) : askLive(question, channel)
    }
    switch (name) {
      case 'echo':
        return text(String((params['arguments'] as Json | undefined)?.['text']))
      case 'broken':
        return { result: { content: [{ type: 'text', text: 'it broke' }], isError: true } }
      case 'refuse':
        return { error: { code: -32_603, message: 'refused by the peer' } }
      case 'progress':
        for (const progress of [1, 2, 3]) sayProgress(params, channel, progress)
        return text('progressed')
      case 'log':
        channel.notify('notifications/message', { level: 'warning', data: 'a log line' })
        return text('logged')
      case 'wait':
        // Says that it is at work, so that nobody has to guess when to cancel.
        sayProgress(params, channel, 1)
        await new Promise<void>((resolve) => {
          channel.signal.addEventListener('abort', () => resolve(), { once: true })
        })
        stopped += 1
        return text('stopped')
      case 'stopped':
        return text(String(stopped))
      case 'large':
        return text('x'.repeat(LARGE))
      case 'structured':
        return { result: { content: [], structuredContent: { total: 3, odd: 1e21 } } }
      case 'grow':
        tools.push(`grown_${tools.length}`)
        tell('notifications/tools/list_changed', {})
        return text('grown')
      case 'long':
        return long(revision, params)
      case 'touch':
        tell('notifications/resources/updated', { uri: WATCHED })
        return text('touched')
      default:
        return { error: { code: -32_602, message: `unknown tool: ${name}` } }
    }
  }

  const listen = async (message: Incoming, channel: Channel): Promise<Reply> => {
    const meta = { [`${META}subscriptionId`]: message.id }
    const notifications = message.params?.['notifications']
    channel.notify('notifications/subscriptions/acknowledged', { notifications, _meta: meta })
    const pass = (method: string, params: Json): void =>
      channel.notify(method, { ...params, _meta: meta })
    listening.add(pass)
    await new Promise<void>((resolve) => {
      channel.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    listening.delete(pass)
    return { result: { _meta: meta } }
  }

  const answer = async (message: Incoming, channel: Channel): Promise<Reply> => {
    switch (message.method) {
      case 'initialize':
        return {
          result: {
            protocolVersion: revision,
            capabilities,
            serverInfo: { name: 'compat', version: '1' },
          },
        }
      case 'server/discover':
        return { result: { supportedVersions: [revision], capabilities, ttlMs: 0, ...SCOPE } }
      case 'ping':
      case 'logging/setLevel':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return { result: {} }
      case 'tools/list':
        return {
          result: { tools: tools.map((name) => toolOf(name, revision)), ttlMs: 0, ...SCOPE },
        }
      case 'resources/list':
        return { result: { resources: [{ name: 'watched', uri: WATCHED }], ttlMs: 0, ...SCOPE } }
      case 'resources/templates/list':
        return { result: { resourceTemplates: [], ttlMs: 0, ...SCOPE } }
      case 'resources/read':
        return { result: { contents: [{ uri: WATCHED, text: 'seen' }], ttlMs: 0, ...SCOPE } }
      case 'tools/call':
        return run(message.params ?? {}, channel)
      case 'tasks/get':
      case 'tasks/result':
        return lookAtTask(revision, message.method)
      case 'subscriptions/listen':
        return listen(message, channel)
      default:
        return { error: { code: -32_601, message: `method not found: ${message.method}` } }
    }
  }

  return {
    revision,
    onNotice: (listener) => void listeners.add(listener),
    answer: async (message, channel) => {
      if ((modern ? SESSION_ONLY : MODERN_ONLY).includes(message.method)) {
        return { error: { code: -32_601, message: `method not found: ${message.method}` } }
      }
      const reply = await answer(message, channel)
      if (!modern || 'error' in reply) return reply
      return { result: { resultType: 'complete', ...reply.result } }
    },
  }
}

const SESSION_ONLY = [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]
const MODERN_ONLY = ['server/discover', 'subscriptions/listen']

const SCOPE = { cacheScope: 'private' } as const

function toolOf(name: string, revision: Revision): Json {
  const readOnly = ['echo', 'stopped', 'large', 'structured'].includes(name)
  return {
    name,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: readOnly },
    ...(name === 'long' ? supportOf(revision) : {}),
  }
}

function text(said: string): Reply {
  return { result: { content: [{ type: 'text', text: said }] } }
}

function sayProgress(params: Json, channel: Channel, progress: number): void {
  const token = (params['_meta'] as Json | undefined)?.['progressToken']
  if (token === undefined) return
  channel.notify('notifications/progress', { progressToken: token, progress, total: 3 })
}

/** How the answer to a question reads in the tool's result. */
function sayAnswer(answer: Json): string {
  if (typeof answer['action'] === 'string') {
    const content = answer['content'] as Json | undefined
    return [answer['action'], content?.['name']].filter((part) => part !== undefined).join(' ')
  }
  const said = answer['content'] as Json | undefined
  if (said !== undefined) return `sampled ${String(said['text'])}`
  const roots = answer['roots'] as readonly Json[] | undefined
  return `roots ${(roots ?? []).map((root) => root['uri']).join(' ')}`
}

async function askLive(
  question: { readonly method: string; readonly params: Json },
  channel: Channel,
): Promise<Reply> {
  try {
    return text(sayAnswer(await channel.ask(question.method, question.params)))
  } catch (error) {
    return text(`not answered: ${(error as Error).message}`)
  }
}

const STATE = 'where-was-I é'

function askInRounds(
  { method, params: asked }: { readonly method: string; readonly params: Json },
  params: Json,
): Reply {
  const meta = (params['_meta'] ?? {}) as Json
  const can = (meta[`${META}clientCapabilities`] ?? {}) as Record<string, Json | undefined>
  const kind = method.split('/')[0] ?? ''
  const { elicitationId: _gone, ...question } = asked
  const mode = question['mode'] === 'url' ? 'url' : 'form'
  const declared =
    kind === 'elicitation' ? can['elicitation']?.[mode] !== undefined : can[kind] !== undefined
  if (!declared) return text('not answered: the caller cannot be asked')
  const answers = params['inputResponses'] as Record<string, Json> | undefined
  if (answers === undefined) {
    const inputRequests = { q1: { method, params: question } }
    return { result: { resultType: 'input_required', inputRequests, requestState: STATE } }
  }
  if (params['requestState'] !== STATE) return text('another state came back')
  return text(sayAnswer(answers['q1'] ?? {}))
}

/**
 * A caller in any revision, written by hand from the specifications: what it does, over a wire that it is given.
 *
 * Questions are answered the same way whatever form they come in.
 */
import type { Json } from './peer.ts'
import { isModern, type Revision } from './revisions.ts'

/** One message either way. */
export interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Json
  readonly result?: Json
  readonly error?: Json
}

/** How messages travel. Made by caller-http.ts and caller-lines.ts. */
export interface Wire {
  /** Sends a request; notifications and requests that come before its answer go to `onMessage`. */
  request(message: Message, onMessage: (message: Message) => void): Request
  /** Sends a notification or a response. */
  send(message: Message): Promise<void>
  /** Session revisions: what belongs to no request. Resolves once it is listened to. */
  listen(onMessage: (message: Message) => void): Promise<void>
  /** The headers or whatever else the wire needs once the revision is agreed. */
  agreed(revision: Revision): void
  close(): Promise<void>
}

export interface Request {
  readonly answer: Promise<Message>
  /** Cancels in this wire's form. */
  cancel(): void
}

export interface Caller {
  readonly revision: Revision
  call(name: string, args?: Json, more?: CallMore): Promise<Message>
  request(method: string, params?: Json): Promise<Message>
  /** Begins to watch; what comes later is in `notices`. */
  watch(uri: string): Promise<void>
  readonly notices: Message[]
  close(): Promise<void>
}

export interface CallMore {
  /** Asks for progress; each is put here. */
  readonly progress?: Message[]
  /** Asks for logs; each is put here. */
  readonly logs?: Message[]
  /** 2026-07-28: told of each round's questions before they are answered. */
  readonly onRound?: (requests: Readonly<Record<string, Message>>) => void
  /** Cancels the call when it settles. */
  readonly until?: Promise<unknown>
}

const META = 'io.modelcontextprotocol/'
/** What a caller of these tables can be asked. */
export const CAN: Json = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const INFO = { name: 'compat-caller', version: '1' }
const MOST_ROUNDS = 4

/** What this caller answers to any question. */
export function answerQuestion(method: string, params: Json | undefined): Json {
  switch (method) {
    case 'elicitation/create':
      return params?.['mode'] === 'url'
        ? { action: 'accept' }
        : { action: 'accept', content: { name: 'Ada' } }
    case 'sampling/createMessage':
      return { role: 'assistant', model: 'none', content: { type: 'text', text: 'something' } }
    case 'roots/list':
      return { roots: [{ uri: 'file:///work', name: 'work' }] }
    default:
      throw new Error(`no answer to ${method}`)
  }
}

/** Opens a caller; a session revision says `initialize` first. @param can what it says it can be asked. */
export async function openCaller(revision: Revision, wire: Wire, can: Json = CAN): Promise<Caller> {
  return isModern(revision) ? openModern(revision, wire, can) : openSession(revision, wire, can)
}

async function openModern(revision: Revision, wire: Wire, can: Json): Promise<Caller> {
  const notices: Message[] = []
  const watching: Request[] = []
  let last = 0
  wire.agreed(revision)
  const meta = (more: Json): Json => ({
    [`${META}protocolVersion`]: revision,
    [`${META}clientCapabilities`]: can,
    [`${META}clientInfo`]: INFO,
    ...more,
  })
  const open = (
    method: string,
    params: Json,
    { progress, logs }: CallMore,
    listener: (message: Message) => void = () => undefined,
  ): Request => {
    const id = (last += 1)
    const more = {
      ...(progress === undefined ? {} : { progressToken: `p${id}` }),
      ...(logs === undefined ? {} : { [`${META}logLevel`]: 'debug' }),
    }
    return wire.request({ id, method, params: { ...params, _meta: meta(more) } }, (message) => {
      if (message.method === 'notifications/progress') progress?.push(message)
      else if (message.method === 'notifications/message') logs?.push(message)
      else listener(message)
    })
  }
  return {
    revision,
    notices,
    request: (method, params = {}) => open(method, params, {}).answer,
    async call(name, args = {}, more = {}) {
      const params = { name, arguments: args }
      let round: Json = {}
      for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
        const request = open('tools/call', { ...params, ...round }, more)
        more.until?.then(
          () => request.cancel(),
          () => undefined,
        )
        const message = await request.answer
        if (message.result?.['resultType'] !== 'input_required') return message
        more.onRound?.((message.result['inputRequests'] ?? {}) as Record<string, Message>)
        round = nextRound(message.result)
      }
      throw new Error('it never stops to ask')
    },
    async watch(uri) {
      const filter = { toolsListChanged: true, resourceSubscriptions: [uri] }
      const acknowledged = Promise.withResolvers<void>()
      watching.push(
        open('subscriptions/listen', { notifications: filter }, {}, (message) => {
          if (message.method === 'notifications/subscriptions/acknowledged') acknowledged.resolve()
          notices.push(message)
        }),
      )
      await acknowledged.promise
    },
    async close() {
      for (const request of watching) {
        request.answer.catch(() => undefined)
        request.cancel()
      }
      await wire.close()
    },
  }
}

function nextRound(result: Json): Json {
  const asked = (result['inputRequests'] ?? {}) as Record<string, Message>
  const inputResponses = Object.fromEntries(
    Object.entries(asked).map(([key, { method, params }]) => [
      key,
      answerQuestion(method ?? '', params),
    ]),
  )
  const requestState = result['requestState']
  return { inputResponses, ...(requestState === undefined ? {} : { requestState }) }
}

async function openSession(revision: Revision, wire: Wire, can: Json): Promise<Caller> {
  const notices: Message[] = []
  let last = 0
  const take = (message: Message): boolean => {
    const { id, method, params } = message
    if (method === undefined || id === undefined) return false
    void wire.send({ id, result: answerQuestion(method, params) })
    return true
  }
  const open = (method: string, params: Json, { progress, logs }: CallMore = {}): Request => {
    const id = (last += 1)
    const token = progress === undefined ? {} : { _meta: { progressToken: `p${id}` } }
    return wire.request({ id, method, params: { ...params, ...token } }, (message) => {
      if (take(message)) return
      if (message.method === 'notifications/progress') progress?.push(message)
      else if (message.method === 'notifications/message') logs?.push(message)
    })
  }
  const hello = { protocolVersion: revision, capabilities: can, clientInfo: INFO }
  const { result } = await open('initialize', hello).answer
  if (result?.['protocolVersion'] !== revision)
    throw new Error(`agreed on ${JSON.stringify(result)}`)
  wire.agreed(revision)
  await wire.send({ method: 'notifications/initialized' })
  return {
    revision,
    notices,
    request: (method, params = {}) => open(method, params).answer,
    async call(name, args = {}, more = {}) {
      const request = open('tools/call', { name, arguments: args }, more)
      more.until?.then(
        () => request.cancel(),
        () => undefined,
      )
      return request.answer
    },
    async watch(uri) {
      await wire.listen((message) => {
        if (!take(message)) notices.push(message)
      })
      await open('resources/subscribe', { uri }).answer
    },
    close: () => wire.close(),
  }
}

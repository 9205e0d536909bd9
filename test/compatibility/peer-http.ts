/** The peer over HTTP: the modern form, the session form with its event streams, and 2024-11-05's two endpoints. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Guard } from './guard.ts'
import { createCompatPeer, type CompatPeer, type Incoming, type Json } from './peer.ts'
import { isModern, type Revision } from './revisions.ts'
import { createSessionAsks, type SessionAsks } from './session-asks.ts'

export interface ServedPeer {
  readonly url: string
  close(): Promise<void>
}

interface Session {
  readonly id: string
  readonly peer: CompatPeer
  readonly asks: SessionAsks
  readonly running: Map<unknown, AbortController>
  /** The stream that belongs to no request. */
  stream: ServerResponse | undefined
}

type Message = Incoming & { readonly result?: Json; readonly error?: Json }

/** Serves until closed. @param guard what it lets in; by default everybody. */
export async function servePeer(
  revision: Revision,
  transport: 'http' | 'http+sse',
  guard?: Guard,
): Promise<ServedPeer> {
  const sessions = new Map<string, Session>()
  const shared = createCompatPeer(revision)
  const openSession = (): Session => {
    const peer = createCompatPeer(revision)
    const asks = createSessionAsks()
    const session: Session = {
      id: randomUUID(),
      peer,
      asks,
      running: new Map(),
      stream: undefined,
    }
    peer.onNotice((method, params) => session.stream?.write(event({ method, params })))
    sessions.set(session.id, session)
    return session
  }
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const message = body === '' ? undefined : (JSON.parse(body) as Message)
      const refused = guard?.(request, message)
      if (refused !== undefined) {
        response.writeHead(refused.status, { 'www-authenticate': refused.challenge })
        return void response.end('{"error":"no"}')
      }
      if (transport === 'http+sse') return handleTwoEndpoints(request, response, message)
      if (isModern(revision)) return handleModern(shared, response, message)
      return handleSession(request, response, message)
    })
  })

  const handleSession = (
    request: IncomingMessage,
    response: ServerResponse,
    message: Message | undefined,
  ): void => {
    if (message?.method === 'server/discover') return fail(response, message, 400)
    const known = sessions.get(String(request.headers['mcp-session-id']))
    const session = message?.method === 'initialize' ? openSession() : known
    if (session === undefined) return fail(response, message, 404)
    if (request.method === 'DELETE') return void response.writeHead(200).end()
    if (request.method === 'GET') {
      beginStream(response)
      session.stream = response
      return
    }
    response.setHeader('mcp-session-id', session.id)
    takeMessage(session, message, {
      begin: () => beginStream(response),
      write: (sent) => response.write(event(sent)),
      accepted: () => response.writeHead(202).end(),
      end: (sent) => response.end(event(sent)),
    })
  }

  /** 2024-11-05: one stream, told where to post to; everything comes back on the stream. */
  const handleTwoEndpoints = (
    request: IncomingMessage,
    response: ServerResponse,
    message: Message | undefined,
  ): void => {
    const at = new URL(request.url ?? '/', 'http://peer')
    if (request.method === 'GET') {
      const session = openSession()
      beginStream(response)
      session.stream = response
      response.write(`event: endpoint\ndata: /messages?session=${session.id}\n\n`)
      return
    }
    const session = sessions.get(at.searchParams.get('session') ?? '')
    // What servers of that time say of a POST to where only GET is served.
    if (at.pathname !== '/messages' || session === undefined)
      return void response.writeHead(404).end(`Cannot POST ${at.pathname}`)
    response.writeHead(202).end('Accepted')
    takeMessage(session, message, {
      begin: () => undefined,
      write: (sent) => session.stream?.write(event(sent)),
      accepted: () => undefined,
      end: (sent) => session.stream?.write(event(sent)),
    })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/${transport === 'http' ? 'mcp' : 'sse'}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Way {
  begin(): void
  write(message: Json): void
  accepted(): void
  end(message: Json): void
}

function takeMessage(session: Session, message: Message | undefined, way: Way): void {
  if (message === undefined) return way.accepted()
  if (message.method === undefined) {
    session.asks.take(message)
    return way.accepted()
  }
  if (message.method === 'notifications/cancelled')
    session.running.get(message.params?.['requestId'])?.abort()
  if (message.id === undefined) return way.accepted()
  const stop = new AbortController()
  session.running.set(message.id, stop)
  way.begin()
  void session.peer
    .answer(message, {
      notify: (method, params) => way.write({ method, params }),
      ask: (method, params) => session.asks.ask((id) => way.write({ id, method, params })),
      signal: stop.signal,
    })
    .then((reply) => {
      session.running.delete(message.id)
      way.end({ id: message.id, ...reply })
    })
}

/** Every request on its own; closing its stream cancels it. */
function handleModern(
  peer: CompatPeer,
  response: ServerResponse,
  message: Message | undefined,
): void {
  if (message?.method === undefined) return void response.writeHead(405).end()
  if (message.id === undefined) return void response.writeHead(202).end()
  const stop = new AbortController()
  response.on('close', () => stop.abort())
  const reply = peer.answer(message, {
    notify: (method, params) => {
      if (!response.headersSent) beginStream(response)
      response.write(event({ method, params }))
    },
    ask: () => Promise.reject(new Error('no request goes this way in this revision')),
    signal: stop.signal,
  })
  void reply.then((made) => {
    if (response.headersSent) return void response.end(event({ id: message.id, ...made }))
    const missing = 'error' in made && made.error['code'] === -32_601
    response.writeHead(missing ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...made }))
  })
}

function fail(response: ServerResponse, message: Message | undefined, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  const error = { code: -32_600, message: 'not served here' }
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message?.id ?? null, error }))
}

function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
}

function event(message: Json): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

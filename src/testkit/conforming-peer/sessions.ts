/**
 * The HTTP half of 2025-11-25 and older: one server for each session, with resumable streams.
 */
import {
  WebStandardStreamableHTTPServerTransport,
  type EventStore,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server'
import { randomUUID } from 'node:crypto'
import { createConformingServer, type Endpoint } from './server.ts'

/** Answers requests of sessions. */
export interface Sessions {
  handle(request: Request): Promise<Response>
  close(): Promise<void>
}

/** How many events of a session can be asked for again. */
const KEPT_EVENTS = 1_000
/** How soon a client comes back to a stream that was closed in mid-call. */
const RETRY_MS = 100

/** Creates the sessions of one endpoint. */
export function createSessions(endpoint: Endpoint): Sessions {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const { server, align, isSubscribed } = createConformingServer(endpoint)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: createEventStore(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => void transports.set(id, transport),
    })
    const leave = endpoint.changes.join({
      // Enabling and disabling a part tells the session by itself.
      toolsChanged: align,
      promptsChanged: align,
      resourcesChanged: align,
      resourceUpdated: (uri) => {
        if (isSubscribed(uri)) server.server.sendResourceUpdated({ uri }).catch(() => undefined)
      },
    })
    await server.connect(transport)
    server.server.onclose = () => {
      leave()
      if (transport.sessionId !== undefined) transports.delete(transport.sessionId)
    }
    return transport
  }
  return {
    async handle(request) {
      const id = request.headers.get('mcp-session-id')
      const known = id === null ? undefined : transports.get(id)
      if (known !== undefined) return known.handleRequest(request)
      if (id !== null) return refuse(404, -32001, 'Session not found')
      const opened = await open()
      const response = await opened.handleRequest(request)
      // Whatever it was, it was no `initialize`.
      if (opened.sessionId === undefined) await opened.close()
      return response
    },
    async close() {
      await Promise.all([...transports.values()].map((transport) => transport.close()))
    },
  }
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })
}

/** The events of one session, by stream, in the order in which they were sent. */
function createEventStore(): EventStore {
  const events: { id: string; stream: string; message: JSONRPCMessage }[] = []
  let last = 0
  return {
    async storeEvent(stream, message) {
      const id = `${stream}_${(last += 1)}`
      events.push({ id, stream, message })
      if (events.length > KEPT_EVENTS) events.shift()
      return id
    },
    async getStreamIdForEventId(id) {
      return events.find((event) => event.id === id)?.stream
    },
    async replayEventsAfter(lastEventId, { send }) {
      const from = events.findIndex((event) => event.id === lastEventId)
      const stream = events[from]?.stream ?? ''
      for (const event of events.slice(from + 1)) {
        // The empty event that opens a stream has nothing to say again.
        if (event.stream === stream && 'jsonrpc' in event.message)
          await send(event.id, event.message)
      }
      return stream
    },
  }
}

/**
 * The peer on one HTTP endpoint: 2026-07-28 without sessions, 2025-11-25 and older with them, told
 * apart by the SDK's own classification. Listens on the loopback and refuses foreign hosts and origins.
 */
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import { createConformingServer, createEndpoint, type Era } from './server.ts'
import { createSessions } from './sessions.ts'
import { createTaskRequests } from './task-requests.ts'

/** The peer, listening. */
export interface HttpPeer {
  /** Where, with its path. */
  readonly url: string
  close(): Promise<void>
}

/** Starts it. @param port 0 for a free one. */
export async function serveHttp(port: number, era: Era): Promise<HttpPeer> {
  const endpoint = createEndpoint()
  const modern = createMcpHandler(() => createConformingServer(endpoint).server, {
    legacy: 'reject',
  })
  endpoint.changes.join(modern.notify)
  const sessions = createSessions(endpoint)
  const answerTasks = createTaskRequests()
  const answer = async (request: Request): Promise<Response> => {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins())
    if (refused !== undefined) return refused
    const task = era === 'legacy' ? undefined : await answerTasks(request)
    if (task !== undefined) return task
    if (era === 'modern') return modern.fetch(request)
    if (era === 'legacy' || (await isLegacyRequest(request))) return sessions.handle(request)
    return modern.fetch(request)
  }
  const server = createServer((incoming, outgoing) => void exchange(incoming, outgoing, answer))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.close()
      await Promise.all([modern.close(), sessions.close()])
      server.closeAllConnections()
    },
  }
}

/** One HTTP exchange as web-standard objects; a caller that goes away aborts its request. */
async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort()
  })
  try {
    const response = await answer(toRequest(incoming, gone.signal))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    // A stream that has nothing to say yet is open all the same.
    outgoing.flushHeaders()
    if (response.body === null) outgoing.end()
    else await pipeline(Readable.fromWeb(response.body as NodeStream), outgoing)
  } catch {
    // The caller left, or what it sent was no request: there is nobody to tell.
    outgoing.destroy()
  }
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const { method = 'GET' } = incoming
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(new URL(incoming.url ?? '/', `http://${incoming.headers.host ?? ''}`), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
  })
}

/** A caller of a session revision, as bare HTTP: for what SDK clients cannot be made to do. */
import { readEvents, type EventReader } from './read-events.ts'
import { readResponse, type ReadResponse } from './test-door.ts'

export interface SessionCaller {
  readonly headers: Record<string, string>
  /** Posts one message, or what is no message, and reads the answer to its end. */
  post(message: object | string): Promise<ReadResponse>
  /** Posts a request and leaves the answer to be read. */
  begin(message: object, signal?: AbortSignal): Promise<Response>
  /** Opens the session's stream, or goes on with the one of this event. */
  listen(lastEventId?: string, signal?: AbortSignal): Promise<Response>
  events(lastEventId?: string): Promise<EventReader>
  end(): Promise<number>
}

export interface SessionCallerOptions {
  readonly revision?: string
  readonly capabilities?: object
  readonly headers?: Record<string, string>
}

/** Opens a session. */
export async function openSession(
  url: string,
  options: SessionCallerOptions = {},
): Promise<SessionCaller> {
  const { revision = '2025-11-25', capabilities = {} } = options
  const bare = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...options.headers,
  }
  const clientInfo = { name: 'bare', version: '1' }
  const params = { protocolVersion: revision, capabilities, clientInfo }
  const opened = await fetch(url, {
    method: 'POST',
    headers: bare,
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  await opened.text()
  const id = opened.headers.get('mcp-session-id')
  if (id === null) throw new Error(`no session was opened: ${opened.status}`)
  return callOnSession(url, { ...bare, 'mcp-protocol-version': revision, 'mcp-session-id': id })
}

/** Goes on with a session. */
export function callOnSession(url: string, headers: Record<string, string>): SessionCaller {
  const begin = (message: object | string, signal?: AbortSignal): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers,
      body: typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message }),
      ...(signal === undefined ? {} : { signal }),
    })
  const listen = (lastEventId?: string, signal?: AbortSignal): Promise<Response> => {
    const { 'content-type': _type, ...rest } = headers
    const last = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    return fetch(url, {
      headers: { ...rest, accept: 'text/event-stream', ...last },
      ...(signal === undefined ? {} : { signal }),
    })
  }
  return {
    headers,
    begin,
    listen,
    post: async (message) => readResponse(await begin(message)),
    events: async (lastEventId) => {
      const response = await listen(lastEventId)
      if (response.status !== 200) {
        throw new Error(`the stream was refused: ${response.status} ${await response.text()}`)
      }
      return readEvents(response)
    },
    end: async () => (await fetch(url, { method: 'DELETE', headers })).status,
  }
}

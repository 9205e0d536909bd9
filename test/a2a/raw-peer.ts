/** A scripted peer on a real socket: it does exactly what a test says, also what no server should. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RawRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON, for requests that have one. */
  readonly json: { readonly id?: unknown; readonly method?: string; readonly params?: Params }
}
type Params = Readonly<Record<string, unknown>>

export interface RawPeer extends AsyncDisposable {
  readonly origin: string
  readonly seen: readonly RawRequest[]
  /** How often a method was called. */
  count(method: string): number
}

export type Script = (request: RawRequest, response: ServerResponse) => void | Promise<void>

/** @param port to open again where another peer was; 0 for any. */
export async function openRawPeer(script: Script, port = 0): Promise<RawPeer> {
  const seen: RawRequest[] = []
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const json = text === '' ? {} : (JSON.parse(text) as RawRequest['json'])
      const request = { path: incoming.url ?? '', headers: incoming.headers, text, json }
      seen.push(request)
      Promise.resolve(script(request, response)).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error('script failed'))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${address.port}`,
    seen,
    count: (method) => seen.filter((request) => request.json.method === method).length,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export function replyJson(response: ServerResponse, status: number, value: unknown): void {
  const body = typeof value === 'string' ? value : JSON.stringify(value)
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

export function replyResult(request: RawRequest, response: ServerResponse, result: unknown): void {
  replyJson(response, 200, { jsonrpc: '2.0', id: request.json.id, result })
}

export function replyError(
  request: RawRequest,
  response: ServerResponse,
  code: number,
  message = 'no',
): void {
  replyJson(response, 200, { jsonrpc: '2.0', id: request.json.id, error: { code, message } })
}

export function openSse(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
}

export function sendEvent(request: RawRequest, response: ServerResponse, result: unknown): void {
  response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: request.json.id, result })}\n\n`)
}

/** Waits until a condition holds, at most `ms`. */
export async function until(condition: () => boolean, ms = 5000): Promise<void> {
  const end = Date.now() + ms
  while (!condition()) {
    if (Date.now() > end) throw new Error('the condition did not come to hold in time')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

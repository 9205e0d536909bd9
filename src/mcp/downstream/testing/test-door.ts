/** An HTTP door on a free port around a scripted house, and raw ways to talk to it, for tests. */
import { connect } from 'node:net'
import type { Principal } from '../../../core/words/principal.ts'
import type { Delegation, DoorLimits } from '../options.ts'
import type { ScriptedHouse } from './scripted-house.ts'
import { serveHttp, type HttpServer } from './serve-http.ts'

export const LOCAL: Principal = { id: 'local', groups: [], via: 'local' }

export const TEST_KEY = new Uint8Array(32).fill(7)

export interface TestDoorOptions {
  readonly limits?: Partial<DoorLimits>
  readonly delegation?: Delegation
  readonly now?: () => number
}

/** A caller is whom the header `x-test-principal` names, `local` without it; `nobody` is not let in. */
export function openTestDoor(
  house: ScriptedHouse,
  options: TestDoorOptions = {},
): Promise<HttpServer> {
  const { delegation } = options
  return serveHttp(
    {
      catalogue: house.catalogue,
      dispatch: house.dispatch,
      ...(delegation === undefined ? {} : { delegation }),
    },
    {
      port: 0,
      serverInfo: { name: 'test-door', version: '1.0.0' },
      sealingKey: TEST_KEY,
      clock: { now: options.now ?? Date.now },
      limits: options.limits ?? {},
      authenticate: async (headers) => {
        const id = headers['x-test-principal']
        if (id === 'nobody') {
          const headers401 = { 'www-authenticate': 'Bearer' }
          return { refused: { status: 401, message: 'a token is needed', headers: headers401 } }
        }
        return { principal: typeof id === 'string' ? { ...LOCAL, id } : LOCAL }
      },
    },
  )
}

export const MODERN_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
} as const

/** `_meta` of a modern request. */
export function modernMeta(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...more,
  }
}

/** Posts one modern request with right headers, unless told otherwise. */
export async function postModern(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  more: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
): Promise<ReadResponse> {
  const name = params['name'] ?? params['uri']
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...MODERN_HEADERS,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...more.headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { _meta: modernMeta(), ...params },
    }),
    ...(more.signal === undefined ? {} : { signal: more.signal }),
  })
  return readResponse(response)
}

export interface ReadResponse {
  readonly status: number
  /** The last message; undefined for an empty body. */
  readonly body: unknown
  readonly text: string
  readonly headers: Headers
}

/** A value inside of parsed JSON; undefined when the path leads nowhere. */
export function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  let at = value
  for (const key of path) at = (at as Record<string | number, unknown> | undefined)?.[key]
  return at
}

/** Reads a response to its end. */
export async function readResponse(response: Response): Promise<ReadResponse> {
  const text = await response.text()
  const stream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const data = stream ? eventsOf(text).at(-1) : text
  const body: unknown = data === undefined || data === '' ? undefined : JSON.parse(data)
  return { status: response.status, body, text, headers: response.headers }
}

/** The data of each event of a stream. */
export function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .map((event) =>
      event
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice(6))
        .join('\n'),
    )
    .filter((data) => data !== '')
}

/** Sends bytes on a bare socket and gives back all that comes until the other side closes. */
export function exchangeRaw(
  port: number,
  parts: readonly (string | Uint8Array)[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    socket.on('error', (error) => (received === '' ? reject(error) : resolve(received)))
    socket.on('close', () => resolve(received))
    for (const part of parts) socket.write(part)
  })
}

/** The text of a bare HTTP request. */
export function rawPost(
  host: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const framed = 'content-length' in headers || 'transfer-encoding' in headers
  const all = {
    host,
    connection: 'close',
    ...MODERN_HEADERS,
    'mcp-method': 'tools/list',
    ...(framed ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Opens a legacy session. */
export async function initialize(url: string) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  }
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const response = await fetch(url, { method: 'POST', headers, body })
  await response.text()
  return { session: response.headers.get('mcp-session-id') ?? '', headers }
}

/** Waits, bounded, until something is so. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('the condition did not come true in time')
}

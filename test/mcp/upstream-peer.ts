/**
 * MCP peers under test: real processes and sockets, small servers written inline, and calls as core
 * would make them.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { EraVerdicts } from '../../src/core/ports/era-verdicts.ts'
import type { CallEvent, Exchange, StopReason, WireFacts } from '../../src/core/ports/upstream.ts'
import type { Continuation, Operation, OutboundCall } from '../../src/core/words/call.ts'
import type { CapabilityHints, CapabilityKind } from '../../src/core/words/capability.ts'
import type { Outcome } from '../../src/core/words/outcome.ts'
import { CANNOT_BE_ASKED, type CallerCan } from '../../src/core/words/question.ts'
import {
  createMcpPeer,
  type McpPeer,
  type McpPeerConfig,
  type McpPeerOptions,
} from '../../src/mcp/upstream/client.ts'
import { canonicalJson } from '../../src/mcp/wire/canonical.ts'
import { jsonText, mcpNative } from '../../src/mcp/wire/native.ts'

export type Server = McpPeerConfig['server']

const sha256 = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex')

export interface PeerOptions
  extends McpPeerOptions, Pick<McpPeerConfig, 'revision' | 'capabilities' | 'stateless'> {
  readonly verdicts?: EraVerdicts
  /** The time of day, milliseconds. Default: the true one. */
  readonly now?: () => number
}

/** A peer that is closed when the test ends. */
export function openPeer(
  server: Server,
  options: PeerOptions = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
): McpPeer {
  const { revision, capabilities, stateless = false, verdicts, now = Date.now, ...rest } = options
  const peer = createMcpPeer(
    {
      name: 'peer',
      trusted: true,
      server,
      stateless,
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(revision === undefined ? {} : { revision }),
    },
    {
      clock: { now: () => now() },
      digest: {
        text: sha256,
        json: ({ bytes }) => sha256(canonicalJson(bytes)),
        jsonValue: ({ bytes }) => sha256(canonicalJson(bytes, undefined, { numbers: 'value' })),
      },
      environment,
      clientInfo: { name: 'comity-test', version: '0.0.0' },
      ...(verdicts === undefined ? {} : { verdicts }),
    },
    rest,
  )
  onTestFinished(() => peer.close())
  return peer
}

/**
 * What inline stdio servers may use: `send`, `raw`, `answer`, `refuse`, `serve(handlers)`. Handlers
 * by method; without one of their own they are a 2025-06-18 server with one tool, `pay`.
 */
const PRELUDE = `
import { createInterface } from 'node:readline'
import { appendFileSync, closeSync, readFileSync, writeFileSync } from 'node:fs'
const raw = (text) => process.stdout.write(text)
const send = (message) => raw(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const answer = (message, result) => send({ id: message.id, result })
const refuse = (message, code, text = 'no', data) => send({ id: message.id, error: { code, message: text, data } })
const serve = (handlers) => {
  const all = {
    initialize: (m) => answer(m, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'inline', version: '1' } }),
    'tools/list': (m) => answer(m, { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }),
    'tools/call': (m) => answer(m, { content: [{ type: 'text', text: 'paid' }] }),
    ...handlers,
  }
  createInterface({ input: process.stdin }).on('line', (line) => {
    const m = JSON.parse(line)
    const handler = all[m.method] ?? all['*']
    if (handler) handler(m)
    else if (m.id !== undefined) refuse(m, -32601)
  })
}
`

/** A stdio server written inline, run by this Node. */
export function inlineServer(source: string, env: Readonly<Record<string, string>> = {}): Server {
  const args = ['--input-type=module', '-e', PRELUDE + source]
  return { transport: 'stdio', command: process.execPath, args, env }
}

/** An HTTP server on a free port, closed when the test ends. @returns its base url. */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => handle(request, response, Buffer.concat(chunks).toString('utf8')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export interface Message {
  readonly id?: string | number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** A modern HTTP server with one tool, `pay`; its calls go to `handle`. */
export function listenModern(
  handle: (
    message: Message,
    response: ServerResponse,
    headers: Readonly<Record<string, unknown>>,
  ) => void,
  tools: readonly object[] = [{ name: 'pay', inputSchema: { type: 'object' } }],
): Promise<string> {
  return listen((request, response, body) => {
    const message = JSON.parse(body) as Message
    if (message.method === 'tools/call') return handle(message, response, request.headers)
    const result =
      message.method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { tools }
    reply(response, message, {
      result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result },
    })
  })
}

/** A legacy HTTP server that answers JSON; `handle` may take a message over by returning true. */
export function listenLegacy(
  handle: (message: Message, response: ServerResponse, request: IncomingMessage) => boolean,
): Promise<string> {
  return listen((request, response, body) => {
    if (request.method === 'DELETE') return void response.writeHead(200).end()
    if (request.method === 'GET') return void response.writeHead(405).end()
    const message = JSON.parse(body) as Message
    if (handle(message, response, request)) return
    if (message.id === undefined) return void response.writeHead(202).end()
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'http', version: '1' },
      },
      'tools/list': { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'paid' }] },
    }
    const result = results[message.method]
    reply(
      response,
      message,
      result === undefined ? { error: { code: -32601, message: 'no' } } : { result },
    )
  })
}

/** Answers a message as one JSON body. */
export function reply(
  response: ServerResponse,
  message: Message,
  body: object,
  status = 200,
): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }))
}

/** One call as it went. */
export interface Made {
  readonly outcome: Outcome
  readonly events: readonly { readonly kind: CallEvent['kind']; readonly params: unknown }[]
  readonly sent: readonly WireFacts[]
}

export interface CallOptions {
  readonly operation?: Operation
  /** What the tool says of itself. */
  readonly hints?: CapabilityHints
  /** Whether that is believed. Default true. */
  readonly trusted?: boolean
  /** Of the definition the call was decided on. By default it stands on none, and nothing is compared. */
  readonly fingerprint?: string
  readonly kind?: CapabilityKind
  /** The raw params; by default made from the arguments. */
  readonly params?: string
  readonly can?: Partial<CallerCan>
  /** Answers questions in mid-call. */
  readonly ask?: NonNullable<Exchange['ask']>
  /** The id of the principal. Default `local`. */
  readonly principal?: string
  readonly onLate?: (outcome: Outcome) => void
  readonly deadlineMs?: number
  readonly signal?: AbortSignal
  readonly stopReason?: StopReason
  readonly continuation?: Continuation
  readonly onEvent?: (event: CallEvent) => void | Promise<void>
  readonly onSend?: () => void
}

/** Makes one call as dispatch would. */
export async function makeCall(
  peer: McpPeer,
  name: string,
  args: unknown = {},
  options: CallOptions = {},
): Promise<Made> {
  const events: { kind: CallEvent['kind']; params: unknown }[] = []
  const sent: WireFacts[] = []
  const argumentBytes = new TextEncoder().encode(JSON.stringify(args))
  const params = options.params ?? JSON.stringify({ name: 'exposed', arguments: args })
  const call: OutboundCall = {
    callId: 'c-1',
    openedAt: Date.now(),
    route: {
      exposed: `peer_${name}`,
      peer: peer.name,
      protocol: 'mcp',
      kind: options.kind ?? 'tool',
      capability: name,
      endpoint: peer.endpoint,
      fingerprint: options.fingerprint ?? '',
      hints: options.hints ?? {},
      trusted: options.trusted ?? true,
    },
    principal: { id: options.principal ?? 'local', groups: [], via: 'local' },
    operation: options.operation ?? 'call',
    native: mcpNative(new TextEncoder().encode(params), '2025-11-25'),
    arguments: jsonText(argumentBytes),
    door: 'test',
    deadlineAt: Date.now() + (options.deadlineMs ?? 15_000),
    trace: {},
    ...(options.continuation === undefined ? {} : { continuation: options.continuation }),
  }
  const exchange: Exchange = {
    signal: options.signal ?? new AbortController().signal,
    stopReason: () =>
      options.signal?.aborted ? (options.stopReason ?? 'caller_canceled') : undefined,
    emit: (event) => {
      events.push({ kind: event.kind, params: event.native.value() })
      return options.onEvent?.(event)
    },
    can: { ...CANNOT_BE_ASKED, ...options.can },
    ...(options.ask === undefined ? {} : { ask: options.ask }),
  }
  const onSend = (facts: WireFacts): void => {
    sent.push(facts)
    options.onSend?.()
  }
  const outcome = await peer.upstream.call(call, exchange, onSend, options.onLate)
  return { outcome, events, sent }
}

/** The outcome's body, parsed. */
export function valueOf(outcome: Outcome): unknown {
  return 'native' in outcome ? outcome.native?.value() : undefined
}

/** Waits until the condition holds, at most `ms`. @throws Error when it does not. */
export async function until(what: string, condition: () => boolean, ms = 5_000): Promise<void> {
  const end = Date.now() + ms
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

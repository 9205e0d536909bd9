/** Servers that speak two revisions on one address, and may differ between them; peers of both in one. */
import type { ServerResponse } from 'node:http'
import type { RevisionDecision, RevisionMove } from '../../core/ports/migration.ts'
import {
  listen,
  type Message,
  openPeer,
  reply,
  type Server,
} from '../../../test/mcp/upstream-peer.ts'
import { onTestFinished } from 'vitest'
import { digest } from '../compose/world.ts'
import { type CanaryOptions, createCanaryPeer } from './canary-peer.ts'

export const STABLE = '2025-11-25'
export const NEWER = '2026-07-28'

/** What a server of both does. */
export interface TwoFaced {
  readonly tools?: Readonly<Record<'stable' | 'newer', readonly object[]>>
  /** Answers a message itself where it returns true. */
  handle?(revision: 'stable' | 'newer', message: Message, response: ServerResponse): boolean
}

export const READ_TOOL = { name: 'read', inputSchema: { type: 'object' } }

/** Such a server on one address. @returns its url and every method that came, with its revision. */
export async function serveTwoFaced(
  faces: TwoFaced,
): Promise<{ readonly url: string; readonly seen: string[] }> {
  const seen: string[] = []
  const tools = faces.tools ?? { stable: [READ_TOOL], newer: [READ_TOOL] }
  const url = await listen((request, response, body) => {
    if (request.method === 'GET') return void response.writeHead(405).end()
    if (request.method === 'DELETE') {
      seen.push('stable DELETE')
      return void response.writeHead(200).end()
    }
    const message = JSON.parse(body) as Message
    const face = request.headers['mcp-protocol-version'] === NEWER ? 'newer' : 'stable'
    seen.push(`${face} ${message.method}`)
    if (faces.handle?.(face, message, response) === true) return
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'initialize') response.setHeader('mcp-session-id', 's-1')
    reply(response, message, answerOf(face, message, tools[face]))
  })
  return { url, seen }
}

function answerOf(face: 'stable' | 'newer', { method }: Message, tools: readonly object[]): object {
  const serverInfo = { name: 'two-faced', version: '1' }
  const content = [{ type: 'text', text: face }]
  const results: Record<string, object> = {
    initialize: { protocolVersion: STABLE, capabilities: { tools: {} }, serverInfo },
    'server/discover': { supportedVersions: [NEWER], capabilities: { tools: {} } },
    'tools/list': { tools },
    'tools/call': { content },
  }
  const result = results[method]
  if (result === undefined) return { error: { code: -32601, message: 'no' } }
  if (face === 'stable') return { result }
  return { result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } }
}

export interface OpenCanary extends CanaryOptions {
  /** Ten-thousandths. Default: all. */
  readonly share?: number
  readonly decided?: (move: RevisionMove) => RevisionDecision | undefined
  /** Least time of a list of either connection, milliseconds. */
  readonly shortestTtlMs?: number
}

/** A peer between the two revisions, closed when the test ends. */
export function openCanary(
  server: Server,
  options: OpenCanary = {},
): ReturnType<typeof createCanaryPeer> {
  const { share = 10_000, decided = () => undefined, shortestTtlMs, ...rest } = options
  const peer = createCanaryPeer(
    { from: STABLE, to: NEWER, share },
    {
      make: (revision) =>
        openPeer(server, { revision, ...(shortestTtlMs === undefined ? {} : { shortestTtlMs }) }),
      digest: (text) => digest.text(text),
      monotonic: () => performance.now(),
      decided,
    },
    { listWaitMs: 10_000, ...rest },
  )
  onTestFinished(() => peer.close())
  return peer
}

/** An http server in the form of a peer. */
export function at(url: string): Server {
  return { transport: 'http', url, headers: {} }
}

/** A decision about the move of a peer. */
export function decisionOf(
  peer: ReturnType<typeof createCanaryPeer>,
  decided: RevisionDecision['decided'],
): RevisionDecision {
  return { ...peer.migration.move, decided, at: '2026-12-01T00:00:00.000Z', by: 'operator' }
}

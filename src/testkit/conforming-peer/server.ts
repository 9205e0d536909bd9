/**
 * One server of the conforming peer: everything under the names that the official conformance suite
 * asks for, for both eras. How it is reached is http.ts's and stdio.ts's.
 */
import {
  createRequestStateCodec,
  McpServer,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import { randomBytes } from 'node:crypto'
import { registerAskingTools } from './asking-tools.ts'
import { createChanges, type Changes } from './changes.ts'
import { registerChangingTools, registerExtras } from './changing-tools.ts'
import { registerContentTools } from './content-tools.ts'
import { registerPrompts } from './prompts.ts'
import { registerResources } from './resources.ts'
import { registerTaskTools } from './task-tools.ts'
import { registerRoundTripTools, type RoundState } from './round-trip-tools.ts'

/** Which protocol the peer speaks: 2026-07-28, 2025-11-25 and older, or both. */
export type Era = 'modern' | 'legacy' | 'dual'

/** What all servers of one endpoint share. */
export interface Endpoint {
  readonly changes: Changes
  readonly states: RequestStateCodec<RoundState>
}

/** A server, and how it follows the changes of its endpoint while it lives. */
export interface ConformingServer {
  readonly server: McpServer
  /** Brings its lists in line; the SDK then tells its caller, if that connection can be told. */
  align(): void
  /** Whether its caller subscribed to this resource; only asked of sessions of 2025. */
  isSubscribed(uri: string): boolean
}

/** Creates what the servers of one endpoint share. */
export function createEndpoint(): Endpoint {
  return {
    changes: createChanges(),
    states: createRequestStateCodec<RoundState>({ key: randomBytes(32) }),
  }
}

const CACHE = { ttlMs: 1_000, cacheScope: 'public' } as const

/** Creates one server. */
export function createConformingServer({ changes, states }: Endpoint): ConformingServer {
  const server = new McpServer(
    { name: 'conforming-peer', version: '1.0.0', title: 'The conforming peer' },
    {
      instructions: 'Everything here is a fixture of the conformance suite.',
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
      cacheHints: {
        'server/discover': CACHE,
        'tools/list': CACHE,
        'prompts/list': CACHE,
        'resources/list': CACHE,
        'resources/templates/list': CACHE,
        'resources/read': { ttlMs: 0, cacheScope: 'private' },
      },
      requestState: { verify: states.verify },
    },
  )
  registerContentTools(server)
  registerAskingTools(server)
  registerRoundTripTools(server, states)
  registerTaskTools(server)
  registerChangingTools(server, changes)
  registerPrompts(server)
  const isSubscribed = registerResources(server, changes)
  return { server, align: registerExtras(server, changes), isSubscribed }
}

/** For each rule that shows over HTTP a server that breaks it, and nothing else that it could help. */
import { NOBODY } from './check-odd.ts'
import type { RuleId } from './rules.ts'
import {
  acknowledgement,
  changed,
  Refusal,
  SOUND_TOOLS,
  type Params,
  type SoundOptions,
} from './sound-server.fixture.ts'

const without = (key: string) => (result: Params) => ({ ...result, [key]: undefined })
const tool = (over: object) => ({ ...SOUND_TOOLS[0], ...over })
const tools = (...list: readonly object[]): SoundOptions => ({ tools: list })
const CAPABILITIES = { tools: {}, prompts: {}, resources: {} }

/** What breaks one rule, and which others cannot help being broken with it. */
export interface Case {
  readonly server: SoundOptions
  readonly also?: readonly RuleId[]
}

/** Of 2026-07-28. */
export const MODERN: Partial<Record<RuleId, Case>> = {
  'discover.missing': {
    server: { methods: { 'server/discover': () => new Refusal(-32601, 404) } },
  },
  'discover.versions': {
    server: changed('server/discover', () => ({
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      capabilities: CAPABILITIES,
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'x' } },
    })),
  },
  'discover.capabilities': {
    server: {
      ...changed('server/discover', without('capabilities')),
      methods: {
        'tools/list': () => new Refusal(-32601, 404),
        'prompts/list': () => new Refusal(-32601, 404),
        'resources/list': () => new Refusal(-32601, 404),
        'resources/templates/list': () => new Refusal(-32601, 404),
      },
    },
  },
  'discover.server-info': { server: changed('tools/list', without('_meta')) },
  'result.type-missing': { server: changed('tools/list', without('resultType')) },
  'result.type-unknown': {
    server: changed('tools/list', (result) => ({ ...result, resultType: 'partial' })),
  },
  'cache.hints': { server: changed('tools/list', (result) => ({ ...result, ttlMs: -1 })) },
  'cache.scope-differs': {
    server: changed('tools/list', (result) => ({
      ...result,
      cacheScope: result['nextCursor'] === undefined ? 'public' : 'private',
    })),
  },
  'rpc.envelope': {
    server: {
      change: (answer, { method }) =>
        method === 'prompts/list'
          ? { ...answer, body: { ...(answer.body as object), id: 999 } }
          : answer,
    },
    also: ['list.shape'],
  },
  'rpc.error-id': {
    server: {
      change: (answer, { method }) =>
        method === NOBODY.method
          ? { ...answer, body: { ...(answer.body as object), id: null } }
          : answer,
    },
  },
  'method.unknown': { server: { methods: { [NOBODY.method]: () => ({}) } } },
  'method.unknown-status': {
    server: {
      change: (answer, { method }) =>
        method === NOBODY.method ? { ...answer, status: 200 } : answer,
    },
  },
  'method.removed': {
    server: {
      change: (answer, { method, id }) =>
        method === 'ping'
          ? { status: 200, body: { jsonrpc: '2.0', id, result: { resultType: 'complete' } } }
          : answer,
    },
  },
  'method.not-advertised': { server: { capabilities: { tools: {}, resources: {} } } },
  'version.unknown': { server: { lax: ['version'] } },
  'version.unknown-status': {
    server: {
      change: (answer) =>
        (answer.body as { error?: { code: number } } | undefined)?.error?.code === -32022
          ? { ...answer, status: 200 }
          : answer,
    },
  },
  'meta.missing': { server: { lax: ['meta'] } },
  'meta.client-info-demanded': {
    server: {
      methods: {
        'server/discover': ({ _meta: meta }) =>
          'io.modelcontextprotocol/clientInfo' in (meta as object)
            ? { supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES }
            : new Refusal(-32602, 400),
      },
    },
  },
  'header.method-mismatch': { server: { lax: ['method-header'] }, also: ['header.missing'] },
  'header.missing': {
    server: {
      change: (answer, { era, headers, id, verb }) =>
        era === 'modern' && verb === 'POST' && headers['mcp-method'] === undefined
          ? { status: 200, body: { jsonrpc: '2.0', id, result: {} } }
          : answer,
    },
  },
  'header.name-mismatch': { server: { lax: ['name-header'] } },
  'header.version-mismatch': { server: { lax: ['version-header'] } },
  'tool.unknown': { server: { methods: { 'tools/call': () => ({ content: [] }) } }, also: [] },
  'tool.unknown-form': {
    server: { methods: { 'tools/call': () => ({ content: [], isError: true }) } },
  },
  'prompt.unknown': { server: { methods: { 'prompts/get': () => ({ messages: [] }) } } },
  'resource.unknown': {
    server: {
      methods: { 'resources/read': () => ({ contents: [], ttlMs: 0, cacheScope: 'private' }) },
    },
  },
  'listen.refused': {
    server: { methods: { 'subscriptions/listen': () => new Refusal(-32601, 404) } },
  },
  'listen.acknowledged': {
    server: {
      change: (answer, { method, id }) =>
        method === 'subscriptions/listen'
          ? acknowledgement(id, 'notifications/tools/list_changed')
          : answer,
    },
  },
  'http.get-delete': { server: { lax: ['verb'] } },
  'http.session-id': {
    server: {
      change: (answer, { method }) =>
        method === 'tools/list' ? { ...answer, headers: { 'mcp-session-id': 'x' } } : answer,
    },
  },
  'http.origin': { server: { lax: ['origin'] } },
  'http.content-type': {
    server: {
      change: (answer, { method }) =>
        method === 'tools/list' ? { ...answer, headers: { 'content-type': 'text/plain' } } : answer,
    },
  },
  'list.shape': { server: changed('tools/list', (result) => ({ ...result, tools: {} })) },
  'list.cursor-ignored': {
    server: {
      methods: {
        'tools/list': ({ cursor }) =>
          cursor === 'comity-probe-no-such-cursor'
            ? new Refusal(-32602)
            : { tools: SOUND_TOOLS, nextCursor: 'again' },
      },
    },
  },
  'list.cursor-refused': {
    server: {
      methods: {
        'tools/list': ({ cursor }) =>
          cursor === undefined ? { tools: SOUND_TOOLS, nextCursor: 'on' } : new Refusal(-32602),
      },
    },
  },
  'list.cursor-invented': {
    server: { pageSize: 2, methods: { 'tools/list': () => ({ tools: SOUND_TOOLS }) } },
  },
  'tool.name-duplicate': {
    server: tools(
      tool({ description: 'one' }),
      tool({ description: 'two' }),
      tool({ name: 'other' }),
    ),
  },
  'tool.name-invalid': { server: tools(tool({ name: 'no spaces please' })) },
  'tool.input-schema': { server: tools(tool({ inputSchema: { type: 'array' } })) },
  'tool.schema-invalid': {
    server: tools(tool({ inputSchema: { type: 'banana' } })),
    also: ['tool.input-schema'],
  },
  'tool.schema-dialect': {
    server: tools(
      tool({ inputSchema: { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' } }),
    ),
  },
  'tool.schema-large': { server: tools(tool({ inputSchema: { type: 'object', title: 'huge' } })) },
  'tool.output-schema': { server: tools(tool({ outputSchema: 'a text' })) },
  'tool.schema-external': {
    server: tools(
      tool({
        inputSchema: {
          type: 'object',
          properties: { a: { $ref: 'https://schemas.example/a.json' } },
        },
      }),
    ),
  },
  'tool.param-header': {
    server: tools(
      tool({
        inputSchema: { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } },
      }),
    ),
  },
  'tool.description': { server: tools(tool({ description: '' })) },
  'resource.shape': { server: { resources: [{ uri: 'not absolute', name: 'x' }] } },
  'prompt.shape': { server: { prompts: [{ name: 'greet', arguments: [{}] }] } },
  'deprecated.logging': { server: { capabilities: { ...CAPABILITIES, logging: {} } } },
  'deprecated.task-support': { server: tools(tool({ execution: { taskSupport: 'optional' } })) },
}

/** Of the session revisions. */
export const LEGACY: Partial<Record<RuleId, Case>> = {
  'http.notification': {
    server: {
      change: (answer, { id, verb }) =>
        id === undefined && verb === 'POST' ? { status: 200 } : answer,
    },
  },
  'init.version': {
    server: {
      methods: {
        initialize: ({ protocolVersion: asked }) => ({
          protocolVersion: asked === '2025-03-26' ? 'banana' : asked,
          capabilities: CAPABILITIES,
          serverInfo: { name: 'x', version: '1' },
        }),
      },
    },
  },
  'init.refused': {
    server: {
      methods: {
        initialize: ({ protocolVersion: asked }) =>
          asked === '2025-03-26'
            ? new Refusal(-32602)
            : {
                protocolVersion: asked,
                capabilities: CAPABILITIES,
                serverInfo: { name: 'x', version: '1' },
              },
      },
    },
  },
  'init.shape': { server: changed('initialize', without('serverInfo')) },
  'session.id': {
    server: {
      lax: ['session'],
      change: (answer, { method, headers, id, verb }) =>
        method === 'initialize'
          ? { ...answer, headers: { 'mcp-session-id': 'with a space' } }
          : headers['mcp-protocol-version'] === NOBODY.revision &&
              verb === 'POST' &&
              id !== undefined
            ? { status: 400 }
            : answer,
    },
  },
  'session.unknown': {
    server: { change: (answer) => (answer.status === 404 ? { ...answer, status: 400 } : answer) },
  },
  'session.missing': {
    server: {
      change: (answer, { headers, id, method }) =>
        headers['mcp-session-id'] === undefined && method === 'ping'
          ? { status: 200, body: { jsonrpc: '2.0', id, result: {} } }
          : answer,
    },
  },
  'session.version-header': {
    server: {
      change: (answer, { headers, id }) =>
        headers['mcp-protocol-version'] === NOBODY.revision
          ? { status: 200, body: { jsonrpc: '2.0', id, result: {} } }
          : answer,
    },
  },
}

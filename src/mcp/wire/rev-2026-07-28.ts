/**
 * The frozen words of MCP 2026-07-28 ("modern": metadata on every request, no session).
 *
 * Tables only. @source MCP specification 2026-07-28: basic, transports, server and client features.
 */

export const MODERN_REVISION = '2026-07-28'

/** Keys of `params._meta` on requests and of `_meta` on results and notifications. */
export const MODERN_META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** Key of `_meta`, in every revision. */
export const PROGRESS_TOKEN = 'progressToken'

/** W3C trace keys, the exception to prefixes. @source 2026-07-28, basic, _meta (SEP-414). */
export const TRACE_KEYS = ['traceparent', 'tracestate', 'baggage'] as const

/** Extension identifier of Tasks. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** Methods whose complete result must carry `ttlMs` and `cacheScope`. @source server, caching. */
export const CACHEABLE_METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** The member of params that `Mcp-Name` mirrors, by method. @source transports, HTTP headers. */
export const NAME_PARAM: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

export const RESULT_TYPES = {
  complete: 'complete',
  inputRequired: 'input_required',
  task: 'task',
} as const

/** Standard codes (JSON-RPC 2.0, 5.1) and those of this revision, each with its HTTP status. */
export const RPC_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
} as const

/** HTTP status that goes with a code when the message itself is refused. */
export const MODERN_STATUS: Readonly<Record<number, number>> = {
  [RPC_ERRORS.parse]: 400,
  [RPC_ERRORS.invalidRequest]: 400,
  [RPC_ERRORS.methodNotFound]: 404,
  [RPC_ERRORS.headerMismatch]: 400,
  [RPC_ERRORS.missingClientCapability]: 400,
  [RPC_ERRORS.unsupportedProtocolVersion]: 400,
}

/** Codes by which a probed server shows that it is modern though it refuses. @source 1.6 of basic. */
export const MODERN_ONLY_CODES: ReadonlySet<number> = new Set([
  RPC_ERRORS.headerMismatch,
  RPC_ERRORS.missingClientCapability,
  RPC_ERRORS.unsupportedProtocolVersion,
])

export const MODERN_NOTIFICATIONS = {
  progress: 'notifications/progress',
  message: 'notifications/message',
  cancelled: 'notifications/cancelled',
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
  resourceUpdated: 'notifications/resources/updated',
  tasks: 'notifications/tasks',
  acknowledged: 'notifications/subscriptions/acknowledged',
} as const

/** HTTP header names, as sent. */
export const MCP_HEADERS = {
  protocolVersion: 'MCP-Protocol-Version',
  method: 'Mcp-Method',
  name: 'Mcp-Name',
  paramPrefix: 'Mcp-Param-',
} as const

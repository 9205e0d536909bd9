/**
 * The frozen words of the session revisions ("legacy": `initialize`, then a session), newest
 * 2025-11-25. Tables only. @source MCP specification 2025-11-25: lifecycle, transports, utilities.
 */

export const LEGACY_REVISION = '2025-11-25'

/** Newest first; what `initialize` may agree on. */
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const

export type LegacyRevision = (typeof LEGACY_REVISIONS)[number]

export const LEGACY_NOTIFICATIONS = {
  initialized: 'notifications/initialized',
  cancelled: 'notifications/cancelled',
  progress: 'notifications/progress',
  message: 'notifications/message',
  rootsListChanged: 'notifications/roots/list_changed',
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
  resourceUpdated: 'notifications/resources/updated',
} as const

/** Codes that only legacy servers send. */
export const LEGACY_ERRORS = {
  resourceNotFound: -32002,
  urlElicitationRequired: -32042,
} as const

/**
 * Keys of `_meta` that only tasks of this revision have: which task a message belongs to, and what a model is told at once.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks
 */
export const LEGACY_TASK_META = {
  related: 'io.modelcontextprotocol/related-task',
  immediate: 'io.modelcontextprotocol/model-immediate-response',
} as const

export const SESSION_HEADER = 'Mcp-Session-Id'

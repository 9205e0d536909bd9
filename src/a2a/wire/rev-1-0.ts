/**
 * The constants of A2A 1.0: method names, states, error codes, and what `A2A-Version` means.
 *
 * Data and small pure functions. Which state may follow which in our own record is core's
 * decision; this file says only what the protocol calls terminal.
 */

/** JSON-RPC method names, equal to the gRPC names. @source A2A 1.0.1, 9.4 and 5.3 */
export const METHODS = {
  sendMessage: 'SendMessage',
  sendStreamingMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  listTasks: 'ListTasks',
  cancelTask: 'CancelTask',
  subscribeToTask: 'SubscribeToTask',
  createPushConfig: 'CreateTaskPushNotificationConfig',
  getPushConfig: 'GetTaskPushNotificationConfig',
  listPushConfigs: 'ListTaskPushNotificationConfigs',
  deletePushConfig: 'DeleteTaskPushNotificationConfig',
  getExtendedAgentCard: 'GetExtendedAgentCard',
} as const

/** One of the method names. */
export type MethodName = (typeof METHODS)[keyof typeof METHODS]

/** Task states in the order of their numbers. @source A2A 1.0.1, 4.1.3 */
export const TASK_STATES = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const
/** A task state as it stands on the wire. */
export type TaskStateName = (typeof TASK_STATES)[number]

/** Roles in the order of their numbers. */
export const ROLES = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] as const
/** A role as it stands on the wire. */
export type RoleName = (typeof ROLES)[number]

const TERMINAL: ReadonlySet<TaskStateName> = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
])

/** True when nothing may follow: no state, no artifact. @source A2A 1.0.1, 4.1.3 */
export function isTerminal(state: TaskStateName): boolean {
  return TERMINAL.has(state)
}

/** The errors of the protocol. `code` is JSON-RPC's, `http` that of 1.0.1. */
export const ERRORS = {
  TASK_NOT_FOUND: { code: -32001, http: 404, title: 'Task not found' },
  TASK_NOT_CANCELABLE: { code: -32002, http: 400, title: 'Task cannot be canceled' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    code: -32003,
    http: 400,
    title: 'Push notifications are not supported',
  },
  UNSUPPORTED_OPERATION: { code: -32004, http: 400, title: 'This operation is not supported' },
  CONTENT_TYPE_NOT_SUPPORTED: { code: -32005, http: 400, title: 'Content type is not supported' },
  INVALID_AGENT_RESPONSE: { code: -32006, http: 500, title: 'Invalid agent response' },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
    code: -32007,
    http: 400,
    title: 'No extended agent card is configured',
  },
  EXTENSION_SUPPORT_REQUIRED: { code: -32008, http: 400, title: 'An extension is required' },
  VERSION_NOT_SUPPORTED: { code: -32009, http: 400, title: 'Protocol version is not supported' },
} as const satisfies Record<string, { code: number; http: number; title: string }>

/** An error name as `ErrorInfo.reason` carries it. @source A2A 1.0.1, 3.3.2 */
export type ErrorReason = keyof typeof ERRORS

/** Codes of JSON-RPC 2.0 itself. */
export const JSON_RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const

/** The `@type` and domain of the object that names an error. */
export const ERROR_INFO_TYPE = 'type.googleapis.com/google.rpc.ErrorInfo'
/** The domain of the protocol's own errors in an ErrorInfo. */
export const ERROR_DOMAIN = 'a2a-protocol.org'
/** The `@type` of the object that lists bad fields. */
export const BAD_REQUEST_TYPE = 'type.googleapis.com/google.rpc.BadRequest'

const REASONS = new Map<number, ErrorReason>()
for (const reason of Object.keys(ERRORS) as ErrorReason[]) REASONS.set(ERRORS[reason].code, reason)

/**
 * Which error a JSON-RPC error object is: the reason of its ErrorInfo first, its code only when no
 * reason is there, since 1.0.0 and 1.0.1 peers differ in codes and statuses.
 *
 * @param data the `data` member as it came; an array of detail objects in 1.0.
 * @returns `undefined` for errors that are not A2A's own.
 * @source A2A 1.0.1, 9.5
 */
export function reasonOf(code: number, data: unknown): ErrorReason | undefined {
  for (const detail of Array.isArray(data) ? data : [data]) {
    if (typeof detail !== 'object' || detail === null) continue
    const { reason, domain } = detail as { reason?: unknown; domain?: unknown }
    if (domain !== undefined && domain !== ERROR_DOMAIN) continue
    if (typeof reason === 'string' && Object.hasOwn(ERRORS, reason)) return reason as ErrorReason
  }
  return REASONS.get(code)
}

/** The version this revision speaks, as the header carries it. */
export const A2A_VERSION = '1.0'
/** Header that names the protocol version of a request. */
export const VERSION_HEADER = 'A2A-Version'

/** What an `A2A-Version` value asks for; `unreadable` when it is no version at all. */
export type RequestedVersion =
  | { readonly kind: 'version'; readonly version: string }
  | { readonly kind: 'unreadable'; readonly got: string }

/**
 * Reads an `A2A-Version` header or query parameter: absent or empty means 0.3, a patch digit plays
 * no part, anything that is not `Major.Minor[.Patch]` is unreadable.
 *
 * @source A2A 1.0.1, 3.6.1 and 3.6.2
 */
export function parseVersion(value: string | undefined): RequestedVersion {
  const given = value?.trim() ?? ''
  if (given === '') return { kind: 'version', version: '0.3' }
  const match = /^(\d{1,4})\.(\d{1,4})(?:\.\d{1,6})?$/.exec(given)
  if (match === null) return { kind: 'unreadable', got: given.slice(0, 40) }
  return { kind: 'version', version: `${Number(match[1])}.${Number(match[2])}` }
}

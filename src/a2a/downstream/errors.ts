/**
 * Errors of this door on the wire: code, message for people, and the detail objects that programs dispatch on.
 *
 * Only faults of a request are errors. What became of the work is a task in some state, never an error.
 *
 * @source A2A 1.0.1, 3.3.2 and 9.5
 */
import type { Violation } from '../wire/codec.ts'
import {
  BAD_REQUEST_TYPE,
  ERROR_DOMAIN,
  ERROR_INFO_TYPE,
  type ErrorReason,
  ERRORS,
  JSON_RPC_CODES,
} from '../wire/rev-1-0.ts'

/** A request that is refused for what it is. */
export interface RpcFault {
  readonly kind: 'fault'
  readonly code: number
  readonly message: string
  readonly data?: readonly unknown[]
}

/** One of the protocol's own errors, with its ErrorInfo. */
export function protocolFault(
  reason: ErrorReason,
  words?: string,
  metadata: Readonly<Record<string, string>> = {},
): RpcFault {
  const { code, title } = ERRORS[reason]
  const info = { '@type': ERROR_INFO_TYPE, reason, domain: ERROR_DOMAIN, metadata }
  return {
    kind: 'fault',
    code,
    message: words === undefined ? title : `${title}: ${words}`,
    data: [info],
  }
}

/** Bad params: every violation at once, each with its path. */
export function paramsFault(violations: readonly Violation[]): RpcFault {
  const told = violations.map(({ path, message }) =>
    path === '' ? message : `${path}: ${message}`,
  )
  return {
    kind: 'fault',
    code: JSON_RPC_CODES.invalidParams,
    message: `Invalid params: ${told.join('; ')}`,
    data: [
      {
        '@type': BAD_REQUEST_TYPE,
        fieldViolations: violations.map(({ path, message }) => ({
          field: path,
          description: message,
        })),
      },
    ],
  }
}

/** An error of JSON-RPC itself. */
export function rpcFault(code: keyof typeof JSON_RPC_CODES, message: string): RpcFault {
  return { kind: 'fault', code: JSON_RPC_CODES[code], message }
}

/** The same for a task that never was and for one of another principal. @source A2A 1.0.1, 3.3.2 */
export function taskNotFound(): RpcFault {
  return protocolFault('TASK_NOT_FOUND')
}

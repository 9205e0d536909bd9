/**
 * The `_meta` of a request: read once, strictly where it steers, everything else left in the bytes.
 *
 * @source MCP 2026-07-28, basic, `_meta`; progressToken and trace keys are the same in legacy revisions.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { CallerCan } from '../../core/words/question.ts'
import { CANNOT_BE_ASKED } from '../../core/words/question.ts'
import { MODERN_META, PROGRESS_TOKEN, TRACE_KEYS } from '../wire/rev-2026-07-28.ts'
import { relayedExtensions } from './extensions.ts'
import { parseId } from '../wire/json-rpc.ts'
import { isTraceValue } from '../wire/trace-context.ts'
import { findMember, readString, readValue, scanObject, sliceOf } from '../wire/spans.ts'
import type { Member } from '../wire/spans.ts'

/** Severities, least first. @source RFC 5424; MCP, server, logging */
export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

export function isLogLevel(text: string | undefined): text is LogLevel {
  return LOG_LEVELS.some((level) => level === text)
}

export interface RequestMeta {
  /** As sent, of whatever type: JSON bytes. */
  readonly progressToken?: Uint8Array
  readonly logLevel?: string
  readonly protocolVersion?: string
  /** Undefined when absent or no object. */
  readonly clientCapabilities?: Readonly<Record<string, unknown>>
  readonly trace: Readonly<Record<string, string>>
  /** A trace value that is none is among the bytes: they do not go on as they are. */
  readonly hasUnsoundTrace?: true
  /** The call id of an unsettled twin that is overridden. */
  readonly insist?: string
  readonly modelCallId?: string
}

/** A trace value or id longer than this is not kept: it goes into records. */
const MAX_LABEL = 2048

/** Keys by which hosts name the model's own call id. */
const MODEL_CALL_KEYS = ['comity/modelCallId', 'claudecode/toolUseId']

/**
 * Reads `_meta` of a params object.
 *
 * @returns undefined when `_meta` is there but no object.
 * @throws JsonFault for repeated keys.
 */
export function readRequestMeta(
  params: Uint8Array,
  members: readonly Member[],
): RequestMeta | undefined {
  const meta = findMember(members, '_meta')
  if (meta === undefined) return { trace: {} }
  if (meta.type !== 'object') return undefined
  const keys = scanObject(params, meta.value, { validated: true })
  const text = (key: string): string | undefined => {
    const member = findMember(keys, key)
    return member?.type === 'string' ? readString(params, member.value) : undefined
  }
  const label = (key: string): string | undefined => {
    const value = text(key)
    return value !== undefined && value.length <= MAX_LABEL ? value : undefined
  }
  const token = findMember(keys, PROGRESS_TOKEN)
  const capabilities = findMember(keys, MODERN_META.clientCapabilities)
  const trace = TRACE_KEYS.flatMap((key) => {
    const value = label(key)
    return value === undefined || !isTraceValue(key, value) ? [] : [[key, value] as const]
  })
  const isUnsound = TRACE_KEYS.some((key) => {
    const value = text(key)
    return findMember(keys, key) !== undefined && (value === undefined || !isTraceValue(key, value))
  })
  return {
    trace: Object.fromEntries(trace),
    ...(isUnsound ? { hasUnsoundTrace: true } : {}),
    ...optional('protocolVersion', text(MODERN_META.protocolVersion)),
    ...optional('logLevel', text(MODERN_META.logLevel)),
    ...optional('insist', label('comity/insist')),
    ...optional(
      'modelCallId',
      MODEL_CALL_KEYS.map(label).find((value) => value !== undefined),
    ),
    ...(token !== undefined && parseId(params, token) !== undefined
      ? { progressToken: sliceOf(params, token.value) }
      : {}),
    ...(capabilities?.type === 'object'
      ? {
          clientCapabilities: readValue(params, capabilities.value) as Readonly<
            Record<string, unknown>
          >,
        }
      : {}),
  }
}

/**
 * Which questions a modern caller said it can bear on this request.
 *
 * @source MCP 2026-07-28, client, elicitation: an empty capability means form only
 */
export function readCallerCan(
  capabilities: Readonly<Record<string, unknown>> | undefined,
): CallerCan {
  if (capabilities === undefined) return CANNOT_BE_ASKED
  const { elicitation } = capabilities
  const modes = isObject(elicitation) ? elicitation : undefined
  const extensions = relayedExtensions(capabilities['extensions'])
  return {
    form: modes !== undefined && ('form' in modes || !('url' in modes)),
    url: modes !== undefined && isObject(modes['url']),
    sampling: isObject(capabilities['sampling']),
    roots: isObject(capabilities['roots']),
    ...(extensions === undefined ? {} : { extensions }),
  }
}

function optional<Key extends string>(
  key: Key,
  value: string | undefined,
): { [K in Key]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: string })
}

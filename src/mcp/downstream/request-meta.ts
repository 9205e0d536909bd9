/**
 * The `_meta` of a request: read once, strictly where it steers, everything else left in the bytes.
 *
 * @source MCP 2026-07-28, basic, `_meta`; progressToken and trace keys are the same in legacy revisions.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { CallerCan } from '../../core/words/question.ts'
import { CANNOT_BE_ASKED } from '../../core/words/question.ts'
import { MODERN_META, PROGRESS_TOKEN, TASKS_EXTENSION } from '../wire/rev-2026-07-28.ts'
import { relayedExtensions } from './extensions.ts'
import { parseId } from '../wire/json-rpc.ts'
import { isTraceValue, type TraceKey } from '../wire/trace-context.ts'
import { findMember, readString, readValue, scanObject, sliceOf } from '../wire/spans.ts'
import type { Member, Span } from '../wire/spans.ts'

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
  readonly progressToken?: Uint8Array | undefined
  readonly logLevel?: string | undefined
  readonly protocolVersion?: string | undefined
  /** Undefined when absent or no object. Requests that say the same may share it. */
  readonly clientCapabilities?: Readonly<Record<string, unknown>> | undefined
  readonly trace: Readonly<Record<string, string>>
  /** A trace value that is none is among the bytes: they do not go on as they are. */
  readonly hasUnsoundTrace?: true | undefined
  /** The call id of an unsettled twin that is overridden. */
  readonly insist?: string | undefined
  readonly modelCallId?: string | undefined
}

/** A trace value or id longer than this is not kept: it goes into records. */
const MAX_LABEL = 2048

const NO_TRACE: Readonly<Record<string, string>> = {}
const NO_META: RequestMeta = { trace: NO_TRACE }
const VALIDATED = { validated: true }

/**
 * Reads `_meta` of a params object.
 *
 * @param told its members, when they were told already.
 * @returns undefined when `_meta` is there but no object.
 * @throws JsonFault for repeated keys.
 */
export function readRequestMeta(
  params: Uint8Array,
  members: readonly Member[],
  told?: readonly Member[],
): RequestMeta | undefined {
  const meta = findMember(members, '_meta')
  if (meta === undefined) return NO_META
  if (meta.type !== 'object') return undefined
  const reading = new Reading(params)
  for (const member of told ?? scanObject(params, meta.value, VALIDATED)) reading.take(member)
  return reading
}

class Reading implements RequestMeta {
  progressToken: Uint8Array | undefined
  logLevel: string | undefined
  protocolVersion: string | undefined
  clientCapabilities: Readonly<Record<string, unknown>> | undefined
  trace: Readonly<Record<string, string>> = NO_TRACE
  hasUnsoundTrace: true | undefined
  insist: string | undefined
  modelCallId: string | undefined
  readonly #params: Uint8Array

  constructor(params: Uint8Array) {
    this.#params = params
  }

  take(member: Member): void {
    switch (member.key) {
      case MODERN_META.protocolVersion:
        this.protocolVersion = this.#text(member)
        return
      case MODERN_META.clientCapabilities:
        if (member.type === 'object')
          this.clientCapabilities = lateCapabilities.read(this.#params, member.value)
        return
      case MODERN_META.logLevel:
        this.logLevel = this.#text(member)
        return
      case PROGRESS_TOKEN:
        if (parseId(this.#params, member) !== undefined)
          this.progressToken = sliceOf(this.#params, member.value)
        return
      case 'comity/insist':
        this.insist = this.#label(member)
        return
      // Keys by which hosts name the model's own call id; ours counts.
      case 'comity/modelCallId':
        this.modelCallId = this.#label(member) ?? this.modelCallId
        return
      case 'claudecode/toolUseId':
        this.modelCallId ??= this.#label(member)
        return
      case 'traceparent':
      case 'tracestate':
      case 'baggage':
        return this.#takeTrace(member.key, member)
    }
  }

  #takeTrace(key: TraceKey, member: Member): void {
    const value = this.#text(member)
    if (value === undefined || !isTraceValue(key, value)) this.hasUnsoundTrace = true
    else if (value.length <= MAX_LABEL) this.trace = { ...this.trace, [key]: value }
  }

  #text(member: Member): string | undefined {
    return member.type === 'string' ? readString(this.#params, member.value) : undefined
  }

  #label(member: Member): string | undefined {
    const value = this.#text(member)
    return value !== undefined && value.length <= MAX_LABEL ? value : undefined
  }
}

/** Capabilities longer than this are read each time, bytes. */
const MAX_LATE_BYTES = 1024
const MAX_LATE = 8

/** Objects that were read lately, by their bytes: a caller says the same with every request. */
class Lately {
  readonly #known: { readonly bytes: Buffer; readonly value: Readonly<Record<string, unknown>> }[] =
    []
  #next = 0

  read(bytes: Uint8Array, { start, end }: Span): Readonly<Record<string, unknown>> {
    for (const { bytes: known, value } of this.#known)
      if (isSame(known, bytes, start, end)) return value
    const value = readValue(bytes, { start, end }) as Readonly<Record<string, unknown>>
    if (end - start <= MAX_LATE_BYTES) {
      this.#known[this.#next] = { bytes: Buffer.from(bytes.subarray(start, end)), value }
      this.#next = (this.#next + 1) % MAX_LATE
    }
    return value
  }
}

const lateCapabilities = new Lately()

function isSame(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const { length } = known
  if (length !== end - start) return false
  for (let at = 0; at < length; at += 1) if (known[at] !== bytes[start + at]) return false
  return true
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
  const known = callersCan.get(capabilities)
  if (known !== undefined) return known
  const can = judgeCapabilities(capabilities)
  callersCan.set(capabilities, can)
  return can
}

/** Of capabilities that are kept somewhere. */
const callersCan = new WeakMap<Readonly<Record<string, unknown>>, CallerCan>()

function judgeCapabilities(capabilities: Readonly<Record<string, unknown>>): CallerCan {
  const { elicitation } = capabilities
  const modes = isObject(elicitation) ? elicitation : undefined
  const extensions = relayedExtensions(capabilities['extensions'])
  return {
    form: modes !== undefined && ('form' in modes || !('url' in modes)),
    url: modes !== undefined && isObject(modes['url']),
    sampling: isObject(capabilities['sampling']),
    roots: isObject(capabilities['roots']),
    ...(declaresTasks(capabilities) ? { tasks: 'own' } : {}),
    ...(extensions === undefined ? {} : { extensions }),
  }
}

function declaresTasks({ extensions }: Readonly<Record<string, unknown>>): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION])
}

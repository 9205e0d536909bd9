/**
 * Trace context in `_meta`: what is no W3C value does not travel, since whoever reads it next may trust its form.
 *
 * @source W3C Trace Context (traceparent, tracestate), W3C Baggage; MCP 2026-07-28, basic, `_meta` (SEP-414)
 */
import { TRACE_KEYS } from './rev-2026-07-28.ts'
import { findMember, readString, scanObject, setMembers } from './spans.ts'

export type TraceKey = (typeof TRACE_KEYS)[number]

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/u
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/u
const BAGGAGE_MEMBER =
  /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*(?:[ \t]*;[^,]*)?$/u
const MAX_STATE_MEMBERS = 32
const MAX_BAGGAGE_MEMBERS = 180

/** Whether a value may travel under its key. */
export function isTraceValue(key: TraceKey, value: string): boolean {
  switch (key) {
    case 'traceparent':
      // A longer one is a later version's; of ours nothing may follow.
      return TRACEPARENT.test(value) && (value.length === 55 || !value.startsWith('00'))
    case 'tracestate':
      return isList(value, STATE_MEMBER, MAX_STATE_MEMBERS)
    case 'baggage':
      return isList(value, BAGGAGE_MEMBER, MAX_BAGGAGE_MEMBERS)
  }
}

function isList(value: string, member: RegExp, most: number): boolean {
  const members = value.split(',').map((one) => one.replace(/^[ \t]+|[ \t]+$/gu, ''))
  const given = members.filter((one) => one !== '')
  return given.length > 0 && given.length <= most && given.every((one) => member.test(one))
}

/** A `_meta` without the trace values that are none; the same bytes when nothing was wrong. @throws JsonFault for no sound object. */
export function dropUnsoundTrace(meta: Uint8Array): Uint8Array {
  const members = scanObject(meta)
  const unsound = TRACE_KEYS.filter((key) => {
    const member = findMember(members, key)
    if (member === undefined) return false
    return member.type !== 'string' || !isTraceValue(key, readString(meta, member.value))
  })
  if (unsound.length === 0) return meta
  return setMembers(meta, undefined, Object.fromEntries(unsound.map((key) => [key, undefined])))
}

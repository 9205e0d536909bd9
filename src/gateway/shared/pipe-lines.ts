/** What a pipe reads of the lines that pass through it: ids, and the few params that it must know. Pure. */
import {
  encodeNotification,
  idKey,
  parseId,
  parseMessage,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
} from '../../mcp/wire/json-rpc.ts'
import { findMember, readString, scanObject, setMember, textOf } from '../../mcp/wire/spans.ts'
import { MODERN_META } from '../../mcp/wire/rev-2026-07-28.ts'
import type { DrainReason } from './wire.ts'

/** By the member of a listen stream's filter that asks for it. */
export const LIST_CHANGES = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
} as const
/** What the door writes first of every answer: enough to tell whose it is without reading a large one. */
const ANSWER_HEAD = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),"(?:result|error)":/u
const HEAD_BYTES = 4_200

/** Which changes of lists a stream that was asked for again may have missed: those that are told on it. */
export function missedOf(acknowledged: RpcNotification): readonly Uint8Array[] {
  const id = paramOf(acknowledged, '_meta', MODERN_META.subscriptionId)
  if (id === undefined) return []
  const params = `{"_meta":{${JSON.stringify(MODERN_META.subscriptionId)}:${id.text}}}`
  return Object.entries(LIST_CHANGES)
    .filter(([flag]) => paramOf(acknowledged, 'notifications', flag)?.text === 'true')
    .map(([, method]) => encodeNotification(method, new TextEncoder().encode(params)))
}

/** The revision in an answer to `initialize`. */
export function agreedOn(line: Uint8Array): string | undefined {
  const message = parseMessage(line)
  if (message.kind !== 'result' || message.result.type !== 'object') return undefined
  const loose = { validated: true, allowDuplicates: true }
  const members = scanObject(line, message.result.value, loose)
  const revision = findMember(members, 'protocolVersion')
  return revision?.type === 'string' ? readString(line, revision.value) : undefined
}

/** Whose answer a line is, by its head; undefined when it is none, or of another form. */
export function quickId(line: Uint8Array): RpcId | undefined {
  const head = ANSWER_HEAD.exec(new TextDecoder().decode(line.subarray(0, HEAD_BYTES)))?.[1]
  if (head === undefined) return undefined
  if (!head.startsWith('"'))
    return { type: 'integer', value: head === '-0' ? '0' : head, json: head }
  try {
    return { type: 'string', value: JSON.parse(head) as string, json: head }
  } catch {
    return undefined
  }
}

/** The same message under another id. @param json the id as JSON. */
export function withId(line: Uint8Array, json: string): Uint8Array {
  const end = line.length
  return setMember(line, { start: 0, end }, 'id', new TextEncoder().encode(json))
}

function paramOf(
  message: RpcRequest | RpcNotification,
  ...path: readonly string[]
): { readonly type: string; readonly text: string } | undefined {
  let at = message.params
  let found: { readonly type: string; readonly text: string } | undefined
  for (const key of path) {
    if (at === undefined) return undefined
    const loose = { validated: true, allowDuplicates: true }
    const member = findMember(scanObject(message.bytes, at, loose), key)
    if (member === undefined) return undefined
    found = { type: member.type, text: textOf(message.bytes, member.value) }
    at = member.type === 'object' ? member.value : undefined
  }
  return found
}

/** Which resource a subscription is about. */
export function uriOf(request: RpcRequest): string | undefined {
  const uri = paramOf(request, 'uri')
  return uri?.type === 'string' ? (JSON.parse(uri.text) as string) : undefined
}

/** Why an owner makes way. */
export function reasonOf(notification: RpcNotification): DrainReason {
  return paramOf(notification, 'reason')?.text === '"takeover"' ? 'takeover' : 'stop'
}

/** The key of the listen stream that a notification belongs to. */
export function subscriptionOf(notification: RpcNotification): string | undefined {
  const id = paramOf(notification, '_meta', MODERN_META.subscriptionId)
  if (id === undefined) return undefined
  return id.type === 'string' ? `s:${String(JSON.parse(id.text))}` : `i:${id.text}`
}

/** The id that a cancellation names. */
export function idOfCancel(notification: RpcNotification): RpcId | undefined {
  if (notification.params === undefined) return undefined
  const loose = { validated: true, allowDuplicates: true }
  const member = findMember(scanObject(notification.bytes, notification.params, loose), 'requestId')
  return member === undefined ? undefined : parseId(notification.bytes, member)
}

/** The same as a key. */
export function keyOfCancel(notification: RpcNotification): string | undefined {
  const id = idOfCancel(notification)
  return id === undefined ? undefined : idKey(id)
}

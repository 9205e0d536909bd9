/**
 * A server's question and its answer in the protocol's own form: an input request object, and the
 * bare result that answers it. The same in both eras; how it travels is not.
 *
 * @source MCP 2026-07-28, basic, multi round-trip requests; client features.
 */
import type { Answer, CallerCan, Question, QuestionKind } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson, findMember, readString, readValue, scanObject } from '../wire/spans.ts'

/** Reads an input request. @returns undefined for a kind that MCP does not have. */
export function readQuestion(
  request: Uint8Array,
  key: string,
  revision: string,
): Question | undefined {
  const members = scanObject(request, undefined, { validated: true, allowDuplicates: true })
  const method = findMember(members, 'method')
  const params = findMember(members, 'params')
  const asked =
    params?.type === 'object' ? (readValue(request, params.value) as Record<string, unknown>) : {}
  const kind = kindOf(
    method?.type === 'string' ? readString(request, method.value) : '',
    asked.mode,
  )
  if (kind === undefined) return undefined
  const text = typeof asked.message === 'string' ? asked.message : ''
  return { kind, key, text, native: mcpNative(request, revision) }
}

/** Longest address that a user is shown, characters: one that nobody can read to its end hides where it leads. */
const MAX_ADDRESS = 8192

/**
 * Whether a user may be asked to open it: a plain web address, without a name and a password in it that
 * make its host look like another.
 *
 * @source MCP 2025-11-25, client, elicitation, safe URL handling.
 */
export function mayBeOpened(address: unknown): boolean {
  if (typeof address !== 'string' || address.length > MAX_ADDRESS) return false
  if (!URL.canParse(address)) return false
  const { protocol, username, password } = new URL(address)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** @returns why the question is passed on to nobody; undefined for a sound one. */
export function problemOf({ kind, native }: Question): string | undefined {
  if (kind !== 'url') return undefined
  const { params } = native.value() as { readonly params?: Readonly<Record<string, unknown>> }
  return mayBeOpened(params?.['url']) ? undefined : NO_ADDRESS
}

/** What is wrong with an address that must not be opened. */
export const NO_ADDRESS = `the address to open is no http or https one of at most ${MAX_ADDRESS} characters without user name and password`

/** Whether the caller said that it can be asked this. */
export function canBear(can: CallerCan, kind: QuestionKind): boolean {
  // MCP has no question of text alone.
  return kind !== 'text' && can[kind]
}

/** The bare result object as the caller gave it, else one made from the plain form of an elicitation's answer. */
export function answerBytes({ native, action, data, text }: Answer): Uint8Array {
  if (native?.protocol === 'mcp') return native.bytes
  const content = data ?? (text === undefined ? undefined : { text })
  return encodeJson(action === 'accept' && content !== undefined ? { action, content } : { action })
}

function kindOf(method: string, mode: unknown): Exclude<QuestionKind, 'text'> | undefined {
  switch (method) {
    case 'elicitation/create':
      if (mode === undefined || mode === 'form') return 'form'
      return mode === 'url' ? 'url' : undefined
    case 'sampling/createMessage':
      return 'sampling'
    case 'roots/list':
      return 'roots'
    default:
      return undefined
  }
}

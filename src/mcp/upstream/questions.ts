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

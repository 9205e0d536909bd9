/** Tools that ask their caller in mid-call, and say what came back. */
import type { Question, QuestionKind } from '../../../core/words/question.ts'
import { mcpNative } from '../../wire/native.ts'
import { LEGACY_REVISION } from '../../wire/rev-2025-11-25.ts'
import { encodeJson } from '../../wire/spans.ts'
import { completed, type Scripted } from './scripted-house.ts'

const REQUESTS: Readonly<Record<Exclude<QuestionKind, 'text'>, object>> = {
  form: {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: 'Which language?',
      requestedSchema: {
        type: 'object',
        properties: { language: { type: 'string', enum: ['zh', 'en'] } },
        required: ['language'],
      },
      _meta: { progressToken: 'of the peer', kept: true },
    },
  },
  url: {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'Please sign in', url: 'https://example.com/in' },
  },
  sampling: {
    method: 'sampling/createMessage',
    params: {
      messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }],
      maxTokens: 10,
    },
  },
  roots: { method: 'roots/list' },
}

export function questionOf(kind: Exclude<QuestionKind, 'text'>, more: object = {}): Question {
  const request = REQUESTS[kind] as { readonly method: string; readonly params?: object }
  const params = { ...request.params, ...more }
  const native = encodeJson({
    ...request,
    ...(Object.keys(params).length === 0 ? {} : { params }),
  })
  return { kind, key: `a ${kind}`, text: 'a question', native: mcpNative(native, LEGACY_REVISION) }
}

/** A tool `ask_<kind>`: its text is what may be asked, and the answer as JSON. */
export function asks(kind: Exclude<QuestionKind, 'text'>, more: object = {}): Scripted {
  return {
    kind: 'tool',
    exposed: `ask_${kind}`,
    run: async (_call, exchange) => {
      const answer = await exchange.ask?.(questionOf(kind, more), new AbortController().signal)
      const { native, ...said } = answer ?? { action: 'never asked' }
      const value = native === undefined ? {} : { value: native.value() }
      const text = JSON.stringify({ can: exchange.can, ...said, ...value })
      return completed({ content: [{ type: 'text', text }] })
    },
  }
}

/** The Translator port: asked by dispatch only when the caller's protocol and the peer's differ. Pure. */
import type { Translator } from '../core/ports/translator.ts'
import type { Native } from '../core/words/native.ts'
import type { Outcome } from '../core/words/outcome.ts'
import { answerAsResult } from './answer-as-result.ts'
import { delegationRequest } from './skill-as-tool.ts'
import { resultAsArtifact, toolRequest } from './tool-as-skill.ts'

export const translator: Translator = {
  request: (call) => ({
    value: call.route.protocol === 'a2a' ? delegationRequest(call) : toolRequest(call),
    dropped: [],
  }),
  outcome: (outcome, to) => {
    const native = 'native' in outcome ? outcome.native : undefined
    if (native === undefined || native.protocol === to) return { value: outcome, dropped: [] }
    return to === 'mcp' ? toMcp(outcome, native) : toA2a(outcome, native)
  },
}

function toMcp(outcome: Outcome, native: Native): ReturnType<Translator['outcome']> {
  // Every other state reaches MCP callers as the view of its task.
  if (outcome.state !== 'answered') return { value: outcome, dropped: [] }
  const result = answerAsResult(native, outcome.contextId)
  // It stays an answer: a direct Message is never a completed task, whoever asked.
  return { value: { ...outcome, native: result.native }, dropped: result.dropped }
}

function toA2a(outcome: Outcome, native: Native): ReturnType<Translator['outcome']> {
  if (outcome.state !== 'completed') return { value: outcome, dropped: [] }
  const { chunk, dropped } = resultAsArtifact(native)
  return { value: { ...outcome, artifacts: [chunk] }, dropped }
}

/**
 * Who asks: behind one server here stand many, so a question to a person begins with the name of the peer that wants to know.
 *
 * The peer's own words stay as they are after it; what it is answered does not change.
 *
 * @source MCP 2026-07-28, client, elicitation: clients make it clear which server asks.
 */
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Question } from '../../core/words/question.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { mcpNative } from '../wire/native.ts'
import {
  encodeJson,
  findMember,
  readString,
  scanObject,
  setMembers,
  sliceOf,
} from '../wire/spans.ts'
import { withAsk } from './exchange.ts'

/** The exchange of a call to this peer: whoever is asked on it sees who asks. */
export function inNameOf(peer: string, exchange: Exchange): Exchange {
  const { ask } = exchange
  if (ask === undefined) return exchange
  return withAsk(exchange, (question, withdrawn) =>
    ask.call(exchange, sayWhoAsks(question, peer), withdrawn),
  )
}

/** The same question in the name of its peer; what is not shown to a person, or not sound, as it is. */
export function sayWhoAsks(question: Question, peer: string): Question {
  const { kind, native } = question
  if ((kind !== 'form' && kind !== 'url') || native.protocol !== 'mcp') return question
  try {
    const params = findMember(scanObject(native.bytes), 'params')
    if (params?.type !== 'object') return question
    const own = sliceOf(native.bytes, params.value)
    const message = findMember(scanObject(own), 'message')
    if (message?.type !== 'string') return question
    const said = encodeJson(asksBy(peer, readString(own, message.value)))
    const named = setMembers(own, undefined, { message: said })
    const bytes = setMembers(native.bytes, undefined, { params: named })
    return { ...question, native: mcpNative(bytes, native.revision) }
  } catch (fault) {
    // Whoever passes it on refuses it with a reason.
    if (fault instanceof JsonFault) return question
    throw fault
  }
}

/** A peer's words to a person, in its name. */
export function asksBy(peer: string, message: string): string {
  return `${peer} asks: ${message}`
}

/**
 * Which skill a message asks for, and with what arguments.
 *
 * A data part `{ skill, arguments }` picks one; text alone fills the `text:` argument of an agent's only skill; everything
 * else is answered with the list. Arguments are cut from the received text, so that integers beyond 2^53 survive.
 */
import { isObject } from '../../core/words/is-object.ts'
import { textOf } from '../wire/codec.ts'
import type { Message } from '../wire/messages.ts'
import { spanAt } from '../wire/span.ts'
import { paramsFault, type RpcFault } from './errors.ts'
import type { PublishedAgent, PublishedSkill } from './options.ts'

/** A skill as a caller may choose it. */
export interface SkillOffer {
  readonly id: string
  readonly description?: string
  readonly inputSchema?: unknown
}

/** What a message asks for. */
export type Choice =
  | { readonly kind: 'chosen'; readonly skill: PublishedSkill; readonly argumentsText: string }
  /** Not clear yet; `why` is for people. */
  | { readonly kind: 'unclear'; readonly why: string }
  | RpcFault

/**
 * Reads the choice from a message.
 *
 * @param body the whole request as received, in which the message lies at `params.message`.
 * @param earlierText text of earlier messages of the same task.
 */
export function chooseSkill(
  agent: PublishedAgent,
  message: Message,
  body: string,
  earlierText = '',
): Choice {
  const picks = message.parts.flatMap((part, index) =>
    'data' in part && isObject(part.data) && typeof part.data['skill'] === 'string'
      ? [{ index, skill: part.data['skill'], data: part.data }]
      : [],
  )
  const text = textOf(message.parts) || earlierText
  if (picks.length > 1) {
    return paramsFault([
      { path: 'message.parts', message: 'one skill a message; send another message for the other' },
    ])
  }
  const pick = picks[0]
  if (pick === undefined) return chooseByText(agent, text)
  const skill = agent.skills.find(({ id }) => id === pick.skill)
  if (skill === undefined) {
    return { kind: 'unclear', why: `There is no skill ${JSON.stringify(pick.skill.slice(0, 80))}.` }
  }
  const given = pick.data['arguments']
  if (given === undefined) {
    const argumentsText = skill.text === undefined || text === '' ? '{}' : fill(skill.text, text)
    return { kind: 'chosen', skill, argumentsText }
  }
  if (!isObject(given)) {
    const path = `message.parts[${pick.index}].data.arguments`
    return paramsFault([{ path, message: 'expected an object' }])
  }
  const span = spanAt(body, [
    ['params'],
    ['message'],
    ['parts'],
    pick.index,
    ['data'],
    ['arguments'],
  ])
  if (span === undefined) throw new Error('arguments that were parsed are not in the text')
  return { kind: 'chosen', skill, argumentsText: body.slice(span.start, span.end) }
}

function chooseByText(agent: PublishedAgent, text: string): Choice {
  const [only, ...others] = agent.skills
  if (text.trim() === '') return { kind: 'unclear', why: 'The message names no skill.' }
  if (only === undefined || others.length > 0) {
    return {
      kind: 'unclear',
      why: 'This agent has several skills and does not guess which is meant.',
    }
  }
  if (only.text === undefined) {
    return { kind: 'unclear', why: 'The skill of this agent takes no plain text.' }
  }
  return { kind: 'chosen', skill: only, argumentsText: fill(only.text, text) }
}

/** What a caller reads when a skill has to be chosen. */
export function sayOffers(why: string, offers: readonly SkillOffer[]): string {
  const lines = offers.map(({ id, description }) =>
    description === undefined ? `- ${id}` : `- ${id}: ${description}`,
  )
  return [
    `${why} Choose one with a data part {"skill": "<id>", "arguments": {…}} in a message with this task's id. Skills:`,
    ...lines,
  ].join('\n')
}

function fill(argument: string, text: string): string {
  return JSON.stringify({ [argument]: text })
}

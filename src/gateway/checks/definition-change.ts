/**
 * What changed between the accepted definition of a capability and the one seen now: its class, and the change itself
 * in lines that a person can read with nothing hidden in them.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { PinClass } from '../../core/words/pin.ts'
import { compareSchemas } from './compare-schemas.ts'
import { diffLines } from './diff-lines.ts'
import { sameJson, sortedJson } from './same-json.ts'
import { visibleText } from './visible-text.ts'

/** Words for people and models; they steer a model, but a call's form does not depend on them. */
const TEXT_KEYS = new Set(['title', 'description', 'icons'])
const MAX_LINE = 400
const MAX_LINES = 400

/**
 * The class of a change.
 *
 * `widened`: calls are possible that were not before, `narrowed`: the other way round. Two classes at once, and
 * whatever is not understood, is `other`; text beside another class does not count.
 *
 * @param before JSON text of the accepted definition. @param after of the one seen.
 */
export function classifyChange(before: string, after: string): PinClass {
  const found = new Set<PinClass>()
  const left = parse(before)
  const right = parse(after)
  if (left === undefined || right === undefined) return 'other'
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    if (sameJson(left[key], right[key])) continue
    if (TEXT_KEYS.has(key)) found.add('text')
    else if (key === 'annotations') found.add(annotationsClass(left[key], right[key]))
    else if (key === 'inputSchema') {
      for (const kind of compareSchemas(left[key], right[key])) found.add(kind)
    } else if (key === 'arguments') found.add(promptClass(left[key], right[key]))
    else found.add('other')
  }
  if (found.size > 1) found.delete('text')
  const [only = sameJson(left, right) ? 'text' : 'other'] = found
  return found.size > 1 ? 'other' : only
}

/** The title among the annotations is text; every other annotation is a claim about what the tool does. */
function annotationsClass(left: unknown, right: unknown): PinClass {
  const without = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? { ...value, title: undefined } : value
  return sameJson(without(left), without(right)) ? 'text' : 'annotations'
}

interface PromptArgument {
  readonly name: unknown
  readonly required: boolean
}

/** @source MCP 2026-07-28, server/prompts: a list of named arguments, each required or not */
function promptClass(left: unknown, right: unknown): PinClass {
  const before = promptArguments(left)
  const after = promptArguments(right)
  if (before === undefined || after === undefined) return 'other'
  const namesIn = (list: readonly PromptArgument[]): readonly unknown[] =>
    list.map(({ name }) => name)
  const requiredIn = (list: readonly PromptArgument[]): readonly unknown[] =>
    list.filter(({ required }) => required).map(({ name }) => name)
  const added =
    lacks(namesIn(before), namesIn(after)) || lacks(requiredIn(after), requiredIn(before))
  const removed =
    lacks(namesIn(after), namesIn(before)) || lacks(requiredIn(before), requiredIn(after))
  if (added && removed) return 'other'
  return added ? 'widened' : removed ? 'narrowed' : 'text'
}

/** Whether `list` lacks something of `others`. */
function lacks(list: readonly unknown[], others: readonly unknown[]): boolean {
  return others.some((item) => !list.includes(item))
}

function promptArguments(value: unknown): readonly PromptArgument[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value)) return undefined
  return value.map((item: unknown) => {
    const known = typeof item === 'object' && item !== null ? item : {}
    return {
      name: 'name' in known ? known.name : undefined,
      required: 'required' in known && known.required === true,
    }
  })
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // Sorted here once: what is nested too deeply to be walked is not understood.
    const value: unknown = sortedJson(JSON.parse(text))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const CLASS_WORDS: Readonly<Record<PinClass, string>> = {
  text: 'only words changed (title, description): what it takes is the same, what a model reads is not',
  annotations: 'what it says of itself changed (read-only, destructive, idempotent, open world)',
  widened: 'it takes more than before',
  narrowed: 'it takes less than before',
  other: 'it changed in a way that is neither only words nor only wider or narrower',
}

/**
 * The change as lines to print: the class in a sentence, then `-` for what was, `+` for what is, some lines around.
 *
 * @returns lines without line ends, each at most 400 characters, at most 400 lines; whatever shows nothing is written out.
 */
export function diffDefinitions(before: string, after: string): readonly string[] {
  const lines = diffLines(printable(before), printable(after)).map(cutLine)
  const shown = lines.slice(0, MAX_LINES)
  const more = lines.length > MAX_LINES ? [`… ${lines.length - MAX_LINES} more lines`] : []
  return [CLASS_WORDS[classifyChange(before, after)], ...shown, ...more]
}

/** Keys sorted, one value a line; line ends inside a text start a line of their own, so that long texts can be compared. */
function printable(text: string): readonly string[] {
  const value = parse(text)
  const whole = value === undefined ? text : JSON.stringify(value, null, 2)
  return whole.split('\n').flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? ''
    const parts = line.split(String.raw`\n`)
    return parts.map((part, index) => {
      const end = index < parts.length - 1 ? String.raw`\n` : ''
      return `${index === 0 ? '' : `${indent}  `}${visibleText(part)}${end}`
    })
  })
}

function cutLine(line: string): string {
  // Not within a character: half of a surrogate pair shows nothing.
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1).replace(/\p{Cs}$/u, '')}…` : line
}

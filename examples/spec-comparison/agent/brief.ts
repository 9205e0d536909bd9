/**
 * Parses what a caller sends: the brief that begins a task, and the answer to a question.
 *
 * Decides only whether the words have the agreed form. Whether an answer is true is target.ts.
 */
import { readFileSync } from 'node:fs'
import type { Part } from '@a2a-js/sdk'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Citation } from './citation.ts'

/** What to compare, for whom and why. */
export interface Brief {
  readonly goal: string
  readonly scope: {
    readonly from: string
    readonly to: string
    readonly target: {
      readonly package: string
      readonly sdkRange?: string
      readonly citation?: Citation
    }
  }
  readonly acceptance?: { readonly required?: readonly string[] } | null
}

/** The target's range as somebody states it, with or without its source. */
export interface Answer {
  readonly sdkRange: string
  readonly citation?: Citation
}

/** A message may hold what was asked for, hold something else in its place, or nothing of it. */
export type Parsed<T> =
  | { readonly state: 'parsed'; readonly value: T }
  | { readonly state: 'malformed'; readonly problem: string }
  | { readonly state: 'absent' }

/** Reads briefs and answers against the published schema. */
export interface BriefReader {
  parseBrief(parts: readonly Part[]): Parsed<Brief>
  parseAnswer(parts: readonly Part[]): Parsed<Answer>
  /** The schema of a brief, to show to one who sent none. */
  readonly briefSchema: unknown
  /** The schema of an answer, complete in itself, to put beside the question. */
  readonly answerSchema: unknown
}

/** The names of what this agent delivers; a brief that demands another is refused at once. */
export const DELIVERABLES: readonly string[] = ['report.md', 'differences.json']

const MAX_PROBLEMS = 5

const RANGE_IN_TEXT = /(?<![\w.])(?:[\^~=]|[<>]=?)?\d+\.\d+(?:\.\d+)?(?:-\w+(?:\.\w+)*)?(?![\w-])/g

/** Loads the schema that is published beside the agent. */
export function createBriefReader(): BriefReader {
  const path = new URL('../schemas/brief.schema.json', import.meta.url)
  const briefSchema = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly $defs: Readonly<Record<string, object>>
  }
  const { answer, sdkRange, citation, documentId } = briefSchema.$defs
  const answerSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...answer,
    $defs: { sdkRange, citation, documentId },
  }
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true })
  const isBrief = ajv.compile<Brief>(briefSchema)
  const isAnswer = ajv.compile<Answer>(answerSchema)
  return {
    briefSchema,
    answerSchema,
    parseBrief: (parts) => parseBriefParts(parts, isBrief),
    parseAnswer: (parts) => parseAnswerParts(parts, isAnswer),
  }
}

function parseBriefParts(parts: readonly Part[], isBrief: ValidateFunction<Brief>): Parsed<Brief> {
  const data = dataOf(parts)
  if (data.length === 0) return { state: 'absent' }
  if (data.length > 1) {
    return malformed(`expected one data part with the brief, got ${data.length}`)
  }
  const value = data[0]
  if (!isBrief(value)) return malformed(spellProblems('brief', isBrief))
  const unknown = (value.acceptance?.required ?? []).filter((name) => !DELIVERABLES.includes(name))
  if (unknown.length > 0) {
    return malformed(
      `acceptance.required asks for ${unknown.join(', ')}; I deliver ${DELIVERABLES.join(' and ')}`,
    )
  }
  return { state: 'parsed', value }
}

function parseAnswerParts(
  parts: readonly Part[],
  isAnswer: ValidateFunction<Answer>,
): Parsed<Answer> {
  const data = dataOf(parts)
  if (data.length > 1)
    return malformed(`expected one data part with the answer, got ${data.length}`)
  if (data.length === 1) {
    const value = data[0]
    return isAnswer(value)
      ? { state: 'parsed', value: pickAnswer(value) }
      : malformed(spellProblems('answer', isAnswer))
  }
  const text = parts
    .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
    .join('\n')
    .trim()
  if (text === '') return { state: 'absent' }
  const candidate = { sdkRange: findRange(text) ?? text }
  return isAnswer(candidate)
    ? { state: 'parsed', value: candidate }
    : malformed('expected one range such as ^1.30.0 in the text')
}

/** A bare range is taken as it is; out of a sentence, the one range in it. */
function findRange(text: string): string | undefined {
  if (/^[\s\d^~<>=|*.xX+-]+$/.test(text)) return text
  const found = new Set(text.match(RANGE_IN_TEXT) ?? [])
  return found.size === 1 ? [...found][0] : undefined
}

/** Members beyond the agreed ones are dropped here, so that none of them reaches the delivery. */
function pickAnswer({ sdkRange, citation }: Answer): Answer {
  if (citation === undefined) return { sdkRange }
  const { document, version, lines, quote, digest } = citation
  const range = { start: lines.start, end: lines.end }
  return { sdkRange, citation: { document, version, lines: range, quote, digest } }
}

function dataOf(parts: readonly Part[]): unknown[] {
  return parts.flatMap(({ content }): unknown[] =>
    content?.$case === 'data' ? [content.value] : [],
  )
}

function malformed(problem: string): { readonly state: 'malformed'; readonly problem: string } {
  return { state: 'malformed', problem }
}

function spellProblems(name: string, validate: Pick<ValidateFunction, 'errors'>): string {
  const errors = validate.errors ?? []
  const shown = errors
    .slice(0, MAX_PROBLEMS)
    .map(({ instancePath, message }) => `${name}${instancePath} ${message ?? 'is not as agreed'}`)
  const more = errors.length - shown.length
  return more > 0 ? `${shown.join('; ')}; and ${more} more` : shown.join('; ')
}

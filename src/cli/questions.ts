/** Asking a person at the terminal: a peer's question in its own words, marked as such, answered, declined or left. */
import { createInterface } from 'node:readline/promises'
import type { AnswerInput, QuestionReport } from '../gateway/admin/operator.ts'
import { visible, visibleLines } from './terminal.ts'

interface FormField {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly default?: unknown
}

/** Asks every question in turn. An empty line declines. */
export async function askQuestions(
  questions: readonly QuestionReport[],
): Promise<readonly AnswerInput[]> {
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answers: AnswerInput[] = []
    for (const question of questions) {
      process.stderr.write(`\nthe peer asks:\n${visibleLines(question.text, '  | ')}\n`)
      answers.push(await askOne((prompt) => reader.question(prompt), question))
    }
    return answers
  } finally {
    reader.close()
  }
}

/** A yes or no, no by default. */
export async function confirm(prompt: string): Promise<boolean> {
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/iu.test((await reader.question(`${prompt} [y/N] `)).trim())
  } finally {
    reader.close()
  }
}

type Ask = (prompt: string) => Promise<string>

async function askOne(ask: Ask, question: QuestionReport): Promise<AnswerInput> {
  const { key } = question
  if (question.kind === 'url') {
    const lines = sayAddress(String(question.form))
    process.stderr.write(`${lines.join('\n')}\n`)
    const agreed = /^y(es)?$/iu.test((await ask('did you open it and finish there? [y/N] ')).trim())
    return { key, action: agreed ? 'accept' : 'decline' }
  }
  const fields = fieldsOf(question.form)
  if (fields.length === 0) {
    const text = (await ask('answer (empty declines): ')).trim()
    return text === '' ? { key, action: 'decline' } : { key, action: 'accept', text }
  }
  const data: Record<string, unknown> = {}
  for (const [name, field] of fields) {
    const given = (await ask(promptOf(name, field))).trim()
    if (given !== '') data[name] = valueOf(field, given)
    else if (field.default !== undefined) data[name] = field.default
  }
  return Object.keys(data).length === 0
    ? { key, action: 'decline' }
    : { key, action: 'accept', data }
}

/** A whole address with its site marked; it is a person's to open, never ours. @source MCP 2025-11-25, client, elicitation, safe URL handling */
export function sayAddress(address: string): readonly string[] {
  const shown = [
    'it wants you to open this address; nothing opens it for you:',
    `  | ${visible(address)}`,
  ]
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/u.test(url.protocol))
    return [...shown, 'careful: this is no http or https address; you should not open it']
  const odd = /(^|\.)xn--/u.test(url.hostname)
  const careful = [
    ...(odd
      ? ['careful: this site is not written in plain letters and may look like another one']
      : []),
    ...(url.username === '' ? [] : ['careful: what stands before the @ is not the site']),
    ...(url.protocol === 'http:' ? ['careful: the way there is not encrypted'] : []),
  ]
  return [...shown, `the site is: ${url.host}`, ...careful]
}

function fieldsOf(form: unknown): readonly (readonly [string, FormField])[] {
  const properties =
    typeof form === 'object' && form !== null && 'properties' in form ? form.properties : undefined
  return typeof properties === 'object' && properties !== null
    ? Object.entries(properties as Record<string, FormField>)
    : []
}

function promptOf(name: string, field: FormField): string {
  const choices = field.enum === undefined ? '' : ` (${field.enum.join(' | ')})`
  const standard = field.default === undefined ? '' : ` [${JSON.stringify(field.default)}]`
  return visible(`${field.title ?? name}${choices}${standard}: `)
}

function valueOf(field: FormField, given: string): unknown {
  if (field.type === 'number' || field.type === 'integer') return Number(given)
  if (field.type === 'boolean') return /^(y|yes|true|1)$/iu.test(given)
  return given
}

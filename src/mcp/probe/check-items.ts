/** What is wrong with the listed items themselves: names, schemas, addresses. */
import { isObject } from '../../core/words/is-object.ts'
import { objectOf } from '../upstream/facts.ts'
import { readParamHeaders } from '../wire/headers.ts'
import type { Findings } from './findings.ts'
import type { Asking } from './raw.ts'
import type { ReadList } from './read-lists.ts'
import { externalReference, partsOf } from './schema-walk.ts'

/** Why a schema cannot be used; undefined when it can. */
export type JudgeSchema = (schema: Readonly<Record<string, unknown>>) => SchemaFault | undefined

/** Which of the two rules it breaks, and how. */
export interface SchemaFault {
  readonly rule: 'tool.schema-invalid' | 'tool.schema-large'
  readonly why: string
}

type Item = Readonly<Record<string, unknown>>

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/
/** What clients know, by the rule and by custom. */
const DIALECT =
  /^https?:\/\/json-schema\.org\/(?:draft\/2020-12\/|draft\/2019-09\/|draft-0[67]\/|)schema#?$/
/** Compiling takes time: of longer lists the rest is not compiled. */
const MOST_SCHEMAS = 300

/** Judges all that was read in one revision. */
export function checkItems(
  lists: readonly ReadList[],
  asking: Asking,
  judgeSchema: JudgeSchema,
  findings: Findings,
): void {
  for (const { kind, items } of lists) {
    switch (kind) {
      case 'tools':
        checkTools(items, asking, judgeSchema, findings)
        break
      case 'prompts':
        checkPrompts(items, findings)
        break
      case 'resources':
        checkResources(items, 'uri', findings)
        break
      case 'resourceTemplates':
        checkResources(items, 'uriTemplate', findings)
    }
  }
}

function checkTools(
  tools: readonly Item[],
  asking: Asking,
  judgeSchema: JudgeSchema,
  findings: Findings,
): void {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    const name = textOf(tool['name'])
    const place = `tool ${name ?? `#${index + 1}`}`
    if (name === undefined || !TOOL_NAME.test(name)) {
      findings.add('tool.name-invalid', name === undefined ? 'no name' : undefined, place)
    }
    if (name !== undefined && names.has(name)) findings.add('tool.name-duplicate', undefined, place)
    names.add(name ?? '')
    if (textOf(tool['description']) === undefined)
      findings.add('tool.description', undefined, place)
    if (asking.era === 'modern' && objectOf(tool['execution'])['taskSupport'] !== undefined) {
      findings.add('deprecated.task-support', undefined, place)
    }
    const judge = index < MOST_SCHEMAS ? judgeSchema : () => undefined
    checkInput(tool['inputSchema'], place, asking, judge, findings)
    checkOutput(tool['outputSchema'], place, asking, judge, findings)
  }
  if (tools.length > MOST_SCHEMAS) {
    findings.skip(`the schemas of tools beyond the first ${MOST_SCHEMAS} were not compiled`)
  }
}

function checkInput(
  schema: unknown,
  place: string,
  { era, transport }: Asking,
  judge: JudgeSchema,
  findings: Findings,
): void {
  if (!isObject(schema) || schema['type'] !== 'object') {
    const saw = isObject(schema) ? `type: ${JSON.stringify(schema['type'])}` : 'no object'
    findings.add('tool.input-schema', saw, place)
    if (!isObject(schema)) return
  }
  checkSchema(schema, `${place}, inputSchema`, judge, findings)
  if (era !== 'modern' || transport !== 'http') return
  const headers = readParamHeaders(schema)
  if (!headers.ok) findings.add('tool.param-header', headers.reason, place)
}

function checkOutput(
  schema: unknown,
  place: string,
  { era }: Asking,
  judge: JudgeSchema,
  findings: Findings,
): void {
  if (schema === undefined) return
  if (!isObject(schema) || (era === 'legacy' && schema['type'] !== 'object')) {
    const saw = isObject(schema) ? `type: ${JSON.stringify(schema['type'])}` : 'no object'
    findings.add('tool.output-schema', saw, place)
    if (!isObject(schema)) return
  }
  checkSchema(schema, `${place}, outputSchema`, judge, findings)
}

function checkSchema(schema: Item, place: string, judge: JudgeSchema, findings: Findings): void {
  const outside = externalReference(partsOf(schema))
  if (outside !== undefined) return findings.add('tool.schema-external', outside, place)
  const { $schema: dialect } = schema
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECT.test(dialect))) {
    return findings.add('tool.schema-dialect', String(dialect), place)
  }
  const fault = judge(schema)
  if (fault !== undefined) findings.add(fault.rule, fault.why, place)
}

function checkPrompts(prompts: readonly Item[], findings: Findings): void {
  const names = new Set<string>()
  for (const [index, { name, arguments: given }] of prompts.entries()) {
    const named = textOf(name)
    const place = `prompt ${named ?? `#${index + 1}`}`
    if (named === undefined) findings.add('prompt.shape', 'no name', place)
    else if (names.has(named)) findings.add('prompt.shape', 'listed more than once', place)
    names.add(named ?? '')
    if (given === undefined) continue
    const sound =
      Array.isArray(given) && given.every((one) => textOf(objectOf(one)['name']) !== undefined)
    if (!sound) findings.add('prompt.shape', 'an argument without a name', place)
  }
}

function checkResources(
  resources: readonly Item[],
  key: 'uri' | 'uriTemplate',
  findings: Findings,
): void {
  const seen = new Set<string>()
  for (const [index, resource] of resources.entries()) {
    const uri = textOf(resource[key])
    const place = `${key === 'uri' ? 'resource' : 'template'} ${uri ?? `#${index + 1}`}`
    if (uri === undefined) findings.add('resource.shape', `no ${key}`, place)
    else if (key === 'uri' && !URL.canParse(uri))
      findings.add('resource.shape', 'no absolute URI', place)
    else if (seen.has(uri)) findings.add('resource.shape', 'listed more than once', place)
    else if (textOf(resource['name']) === undefined)
      findings.add('resource.shape', 'no name', place)
    seen.add(uri ?? '')
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

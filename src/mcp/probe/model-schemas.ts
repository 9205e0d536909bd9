/**
 * Which model APIs will refuse a tool as it is, and why: names, roots, keywords, formats, depth. Hosts may rewrite schemas before
 * they send them; what is told here is what they then have to change, keyword by keyword.
 *
 * Each table is of the API's own documentation, which its `source` names; where that is silent, of the words in which the API refuses.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { ModelReason, ModelVerdict } from './report.ts'
import { externalReference, isRecursive, partsOf, type SchemaPart } from './schema-walk.ts'

type Schema = Readonly<Record<string, unknown>>

/** One way in which tools are given to a model. */
export interface ModelApi {
  readonly id: string
  readonly title: string
  readonly source: string
  /** What is left out here is left to the API's default. */
  readonly rules: ModelRules
}

interface ModelRules {
  readonly name: RegExp
  /** Keywords that may not stand beside `type: "object"` at the root. */
  readonly notAtRoot?: readonly string[]
  /** What property names at the root have to look like. */
  readonly property?: RegExp
  /** The only keywords there are. */
  readonly keywords?: ReadonlySet<string>
  /** Keywords that there are not. */
  readonly without?: ReadonlySet<string>
  /** The only formats of strings. */
  readonly formats?: ReadonlySet<string>
  /** Every object closes itself with `additionalProperties: false`. */
  readonly closed?: true
  /** Every property is required. */
  readonly allRequired?: true
  readonly noRecursion?: true
  /** Arrays say what they hold. */
  readonly arrayItems?: true
  readonly depth?: number
  readonly properties?: number
  /** Whatever else. @returns why not. */
  also?(part: SchemaPart): string | undefined
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const ANNOTATIONS = '$schema $id $comment title description'
const OPENAI_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']

/** All that are looked at, the plain ones first. */
export const MODEL_APIS: readonly ModelApi[] = [
  {
    id: 'anthropic',
    title: 'Anthropic Messages API, tools',
    source: 'https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use',
    rules: {
      name: NAME,
      notAtRoot: ['oneOf', 'allOf', 'anyOf'],
      property: /^[a-zA-Z0-9_.-]{1,64}$/,
    },
  },
  {
    id: 'openai',
    title: 'OpenAI function calling',
    source: 'https://platform.openai.com/docs/guides/function-calling',
    rules: { name: NAME, notAtRoot: OPENAI_ROOT, arrayItems: true },
  },
  {
    id: 'anthropic-strict',
    title: 'Anthropic Messages API, strict tools',
    source: 'https://docs.claude.com/en/docs/build-with-claude/structured-outputs',
    rules: {
      name: NAME,
      notAtRoot: ['oneOf', 'allOf', 'anyOf'],
      property: /^[a-zA-Z0-9_.-]{1,64}$/,
      without: words(
        'oneOf not if then else minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems ' +
          'contains minContains maxContains prefixItems patternProperties propertyNames minProperties maxProperties ' +
          'dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems',
      ),
      formats: words('date-time time date duration email hostname uri ipv4 ipv6 uuid'),
      closed: true,
      noRecursion: true,
      also: ({ schema: { minItems, enum: values } }) => {
        if (minItems !== undefined && minItems !== 0 && minItems !== 1) {
          return 'minItems other than 0 and 1 is not supported'
        }
        const complex =
          Array.isArray(values) && values.some((one) => typeof one === 'object' && one !== null)
        return complex ? 'enum with objects or arrays is not supported' : undefined
      },
    },
  },
  {
    id: 'openai-strict',
    title: 'OpenAI function calling, strict',
    source: 'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
    rules: {
      name: NAME,
      notAtRoot: OPENAI_ROOT,
      arrayItems: true,
      keywords: words(
        `${ANNOTATIONS} type properties required additionalProperties items enum const anyOf $ref $defs definitions pattern format ` +
          'multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems',
      ),
      formats: words('date-time time date duration email hostname ipv4 ipv6 uuid'),
      closed: true,
      allRequired: true,
      depth: 10,
      properties: 5_000,
    },
  },
  {
    id: 'gemini',
    title: 'Gemini API, FunctionDeclaration.parameters',
    source: 'https://ai.google.dev/api/caching#Schema',
    rules: {
      name: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
      keywords: words(
        'type format title description nullable enum items maxItems minItems properties required minProperties maxProperties minLength ' +
          'maxLength pattern example anyOf propertyOrdering default minimum maximum',
      ),
      arrayItems: true,
      also: geminiAlso,
    },
  },
]

interface Root {
  readonly root: unknown
  /** A reference to something that it does not hold. */
  readonly outside: string | undefined
  readonly loops: boolean
}

/** Of a place more would be read by nobody. */
const LONGEST_PLACE = 200
/** Of one tool more would be read by nobody. */
const MOST_REASONS = 20

/** Judges one tool. @returns one verdict for each API that refuses it. */
export function judgeForModels(name: string, inputSchema: unknown): readonly ModelVerdict[] {
  const parts = partsOf(inputSchema)
  const schema = { root: inputSchema, outside: externalReference(parts), loops: isRecursive(parts) }
  return MODEL_APIS.flatMap(({ id, rules }) => {
    const reasons = [...judgeRoot(name, schema, rules), ...judgeParts(parts, rules)]
    return reasons.length === 0
      ? []
      : [{ api: id, tool: name, reasons: onceEach(reasons).slice(0, MOST_REASONS) }]
  })
}

function judgeRoot(
  name: string,
  { root: schema, outside, loops }: Root,
  rules: ModelRules,
): ModelReason[] {
  const reasons: ModelReason[] = []
  const refuse = (why: string, at = ''): void => void reasons.push({ at, why })
  if (!rules.name.test(name)) refuse(`the name does not match ${rules.name.source}`, 'name')
  if (!isObject(schema) || schema['type'] !== 'object') refuse('the root must have type "object"')
  if (!isObject(schema)) return reasons
  for (const keyword of rules.notAtRoot ?? []) {
    if (keyword in schema) refuse(`${keyword} may not stand at the root`)
  }
  const { property } = rules
  const properties = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
  for (const key of property === undefined ? [] : properties) {
    if (property?.test(key) === false) {
      refuse(
        `the property name does not match ${property.source}`,
        `/properties/${key.slice(0, 80)}`,
      )
    }
  }
  if (outside !== undefined)
    refuse(`$ref to ${outside.slice(0, 80)}: references outside are not followed`)
  if (rules.noRecursion === true && loops) refuse('recursive schemas are not supported')
  return reasons
}

function judgeParts(parts: readonly SchemaPart[], rules: ModelRules): ModelReason[] {
  const reasons = parts.flatMap((part) =>
    judgePart(part, rules).map((why): ModelReason => ({
      at: part.at.slice(0, LONGEST_PLACE),
      why,
    })),
  )
  const deepest = Math.max(0, ...parts.map(({ depth }) => depth))
  if (rules.depth !== undefined && deepest > rules.depth) {
    reasons.push({ at: '', why: `${deepest} levels of nesting; at most ${rules.depth}` })
  }
  const properties = parts.reduce((sum, { schema }) => sum + propertiesOf(schema).length, 0)
  if (rules.properties !== undefined && properties > rules.properties) {
    reasons.push({ at: '', why: `${properties} properties; at most ${rules.properties}` })
  }
  return reasons
}

function judgePart(part: SchemaPart, rules: ModelRules): string[] {
  const { schema } = part
  const reasons = Object.keys(schema)
    .filter((key) => rules.keywords?.has(key) === false || rules.without?.has(key) === true)
    .map((key) => `${key.slice(0, 60)} is not supported`)
  const { format, type } = schema
  if (rules.formats !== undefined && typeof format === 'string' && !rules.formats.has(format)) {
    reasons.push(`format "${format.slice(0, 40)}" is not supported`)
  }
  const isObjectType = type === 'object' || (type === undefined && 'properties' in schema)
  if (isObjectType && rules.closed === true && schema['additionalProperties'] !== false) {
    reasons.push('additionalProperties must be false')
  }
  if (isObjectType && rules.allRequired === true) {
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    const left = propertiesOf(schema).filter((key) => !required.includes(key))
    if (left.length > 0) {
      reasons.push(
        `all properties must be required; not so: ${left.slice(0, 5).join(', ').slice(0, 120)}`,
      )
    }
  }
  if (rules.arrayItems === true && type === 'array' && !('items' in schema)) {
    reasons.push('an array must say its items')
  }
  const also = rules.also?.(part)
  return also === undefined ? reasons : [...reasons, also]
}

/** @source the Gemini API's own refusals: "only 'enum' and 'date-time' are supported for STRING type" and its kin. */
function geminiAlso({ schema }: SchemaPart): string | undefined {
  const { type, format, enum: values, required } = schema
  if (Array.isArray(type)) return 'type must be one type, not a list'
  if (type === 'string' && format !== undefined && format !== 'enum' && format !== 'date-time') {
    return `format "${String(format).slice(0, 40)}" of a string: only enum and date-time are supported`
  }
  if (Array.isArray(values)) {
    if (type !== undefined && type !== 'string') return 'enum is for strings only'
    if (values.some((one) => typeof one !== 'string' || one === '')) {
      return 'enum values must be texts that are not empty'
    }
  }
  const properties = propertiesOf(schema)
  if (Array.isArray(required) && required.some((key) => !properties.includes(String(key)))) {
    return 'required names a property that is not there'
  }
  if (properties.length > 0 && type !== undefined && type !== 'object')
    return 'properties are for objects only'
  return undefined
}

function propertiesOf({ properties }: Schema): readonly string[] {
  return isObject(properties) ? Object.keys(properties) : []
}

/** The same reason at many places is told with the first of them. */
function onceEach(reasons: readonly ModelReason[]): readonly ModelReason[] {
  const known = new Set<string>()
  return reasons.filter(({ why }) => !known.has(why) && known.add(why))
}

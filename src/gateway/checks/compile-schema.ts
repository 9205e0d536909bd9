/**
 * A peer's schema to a validator, within bounds of size, depth and time. No reference leaves the schema: what it
 * does not hold itself is a reason to refuse, never a download.
 *
 * One validator instance a dialect, shared by all peers; what a schema registers under its ids is taken out again.
 */
import { createRequire } from 'node:module'
import type * as draft07 from 'ajv'
import type { Ajv, AnySchemaObject, ErrorObject, Options, ValidateFunction } from 'ajv'
import type * as draft2019 from 'ajv/dist/2019.js'
import type * as draft2020 from 'ajv/dist/2020.js'
import type { FormatsPlugin } from 'ajv-formats'
import type { WithDeadline } from './deadline.ts'
import { againWhenStarved, DeadlinePassed } from './deadline.ts'
import { compilePattern } from './pattern.ts'
import { visibleStart } from './visible-text.ts'

const require = createRequire(import.meta.url)

export interface CompiledSchema {
  /** What the errors' schema objects are part of. */
  readonly schema: object
  /** Empty when the value is valid. @throws DeadlinePassed when the check takes too long. */
  validate(value: unknown): readonly ErrorObject[]
}

export type CompileSchema = (
  schema: unknown,
  allErrors: boolean,
) => CompiledSchema | { readonly refused: string; readonly late?: boolean }

const MAX_NODES = 20_000
const MAX_DEPTH = 100
const MAX_TEXT = 512 * 1024
const COMPILE_MS = 1500
const VALIDATE_MS = 250

type Dialect = '2020-12' | '2019-09' | 'draft-07'

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'json-schema.org/draft/2020-12/schema': '2020-12',
  'json-schema.org/draft/2019-09/schema': '2019-09',
  'json-schema.org/draft-07/schema': 'draft-07',
  'json-schema.org/draft-06/schema': 'draft-07',
  'json-schema.org/schema': '2020-12',
}

/** Makes the compiler; instances are made when their dialect is first met. */
export function createCompileSchema(withDeadline: WithDeadline): CompileSchema {
  const instances = new Map<string, SchemaInstance>()
  return (schema, allErrors) => {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      return { refused: 'its schema is not an object' }
    }
    const measured = measure(schema)
    if ('refused' in measured) return measured
    const dialect = dialectOf(schema)
    if (dialect === undefined) {
      const named =
        '$schema' in schema && typeof schema.$schema === 'string'
          ? visibleStart(schema.$schema, 80)
          : 'no dialect that is text'
      return {
        refused: `its schema is in ${named}; expected JSON Schema 2020-12, 2019-09 or draft-07`,
      }
    }
    const key = `${dialect} ${allErrors}`
    const attempt = (): ReturnType<SchemaInstance['compile']> => {
      const instance = instances.get(key) ?? createInstance(dialect, allErrors)
      instances.set(key, instance)
      try {
        return withDeadline(() => instance.compile(schema), COMPILE_MS)
      } catch (error) {
        // An instance that was stopped half-way may hold half a schema.
        if (error instanceof DeadlinePassed) instances.delete(key)
        throw error
      }
    }
    try {
      const compiled = againWhenStarved(attempt)
      const slow = measured.slow || compiled.native
      return {
        schema: compiled.schema,
        validate: (value) => runValidate(compiled.validate, value, slow ? withDeadline : undefined),
      }
    } catch (error) {
      return { refused: sayCompileError(error), late: error instanceof DeadlinePassed }
    }
  }
}

function runValidate(
  validate: ValidateFunction,
  value: unknown,
  withDeadline: WithDeadline | undefined,
): readonly ErrorObject[] {
  const valid =
    withDeadline === undefined
      ? validate(value)
      : againWhenStarved(() => withDeadline(() => validate(value), VALIDATE_MS))
  const errors = validate.errors ?? []
  // The function object lives as long as the cache: it must not keep a caller's arguments.
  validate.errors = null
  return valid === true ? [] : errors
}

interface SchemaInstance {
  compile(schema: AnySchemaObject): {
    readonly schema: object
    readonly validate: ValidateFunction
    readonly native: boolean
  }
}

function createInstance(dialect: Dialect, allErrors: boolean): SchemaInstance {
  let native = false
  const engine = (source: string): { test(text: string): boolean } =>
    compilePattern(source, () => {
      native = true
    })
  const options: Options = {
    allErrors,
    verbose: true,
    strict: false,
    ownProperties: true,
    addUsedSchema: false,
    // Inlining multiplies the code of schemas that refer to one part often.
    inlineRefs: false,
    logger: false,
    code: { regExp: Object.assign(engine, { code: 'comityPattern' }) },
  }
  const ajv = createAjv(dialect, options)
  const formats = require('ajv-formats') as { readonly default: FormatsPlugin }
  formats.default(ajv)
  const own = { refs: { ...ajv.refs }, schemas: { ...ajv.schemas } }
  return {
    compile: (schema) => {
      native = false
      const { $schema: _dialect, ...rest } = schema
      try {
        const validate = ajv.compile(rest)
        return { schema: rest, validate, native }
      } finally {
        ajv.removeSchema(rest)
        // Ids stay registered, and removing a schema that took a meta-schema's id removes that one: put all back.
        restore(ajv.refs, own.refs)
        restore(ajv.schemas, own.schemas)
      }
    },
  }
}

function restore<T>(now: Record<string, T>, before: Readonly<Record<string, T>>): void {
  for (const key of Object.keys(now)) if (!Object.hasOwn(before, key)) delete now[key]
  Object.assign(now, before)
}

/** Loaded when the first schema is compiled: a start has none, and a list needs none. */
function createAjv(dialect: Dialect, options: Options): Ajv {
  switch (dialect) {
    case '2020-12': {
      const { Ajv2020 } = require('ajv/dist/2020.js') as typeof draft2020
      return new Ajv2020(options)
    }
    case '2019-09': {
      const { Ajv2019 } = require('ajv/dist/2019.js') as typeof draft2019
      return new Ajv2019(options)
    }
    case 'draft-07': {
      const { Ajv } = require('ajv') as typeof draft07
      return new Ajv(options)
    }
  }
}

/** @source MCP 2026-07-28, server/tools: without `$schema` the dialect is 2020-12. */
function dialectOf(schema: object): Dialect | undefined {
  if (!('$schema' in schema)) return '2020-12'
  if (typeof schema.$schema !== 'string') return undefined
  const named = schema.$schema.replace(/^https?:\/\//, '').replace(/#$/, '')
  return Object.hasOwn(DIALECTS, named) ? DIALECTS[named] : undefined
}

/** Whether the schema is within bounds, and whether checking by it may take more than linear time. */
function measure(schema: object): { readonly slow: boolean } | { readonly refused: string } {
  let slow = false
  let nodes = 0
  let characters = 0
  const open: { readonly node: object; readonly depth: number }[] = [{ node: schema, depth: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > MAX_DEPTH)
      return { refused: `its schema is nested over ${MAX_DEPTH} levels deep` }
    for (const [key, value] of Object.entries(next.node)) {
      nodes += 1
      characters += key.length + (typeof value === 'string' ? value.length : 0)
      if (key.endsWith('Ref') || key === '$ref' || key === 'uniqueItems') slow = true
      if (typeof value === 'object' && value !== null) {
        open.push({ node: value as object, depth: next.depth + 1 })
      }
    }
    if (nodes > MAX_NODES || characters > MAX_TEXT) {
      return {
        refused: `its schema is too large; expected at most ${MAX_NODES} parts and ${MAX_TEXT} characters`,
      }
    }
  }
  return { slow }
}

function sayCompileError(error: unknown): string {
  if (error instanceof DeadlinePassed) return `its schema took over ${COMPILE_MS} ms to compile`
  if (error instanceof Error && 'missingRef' in error) {
    return `its schema refers to ${visibleStart(String(error.missingRef), 120)}, which it does not hold; comity fetches no schemas`
  }
  const reason = error instanceof Error ? error.message : 'not understood'
  return `its schema is not valid JSON Schema: ${visibleStart(reason, 200)}`
}

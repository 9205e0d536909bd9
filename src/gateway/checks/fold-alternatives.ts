/**
 * A failed `anyOf` or `oneOf` is reported as every branch's errors and then itself; a person or a model wants one line.
 *
 * Which errors belong to which branch is told by the schema objects they name, references followed.
 */
import type { ErrorObject } from 'ajv'
import type { ArgumentFault } from '../../core/ports/checks.ts'

export interface FoldedError {
  readonly error: ErrorObject
  /** Errors of its branches, by branch; undefined when it is no alternative. */
  readonly children?: readonly (readonly ErrorObject[])[]
}

/** Every schema object that a branch is made of. */
export type Branches = (branch: unknown) => ReadonlySet<unknown>

const MAX_FORMS = 4
const MAX_NODES = 20_000

/** @param root where references of the form `#/...` are looked up. */
export function createBranches(root: object): Branches {
  const known = new Map<unknown, ReadonlySet<unknown>>()
  return (branch) => {
    const before = known.get(branch)
    if (before !== undefined) return before
    const made = collect(branch, root)
    known.set(branch, made)
    return made
  }
}

function collect(branch: unknown, root: object): ReadonlySet<unknown> {
  const found = new Set<unknown>()
  const open: unknown[] = [branch]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node !== 'object' || node === null || found.has(node)) continue
    if (found.size >= MAX_NODES) break
    found.add(node)
    open.push(...Object.values(node).filter((value) => typeof value === 'object'))
    if ('$ref' in node && typeof node.$ref === 'string') open.push(lookUp(node.$ref, root))
  }
  return found
}

/** @source RFC 6901, 6: a JSON pointer in a URI fragment */
function lookUp(reference: string, root: object): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  let node: unknown = root
  for (const step of reference.split('/').slice(1)) {
    const key = unescapeStep(step)
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    node = (node as Readonly<Record<string, unknown>>)[key]
  }
  return node
}

function unescapeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

/** Takes the errors of branches out of the list and puts them with their alternative; keeps the order. */
export function foldAlternatives(
  errors: readonly ErrorObject[],
  branches: Branches,
): readonly FoldedError[] {
  const gone = new Set<ErrorObject>()
  const folded = errors.map((error): FoldedError => {
    if (error.keyword === 'if') {
      if (errors.some((other) => isOfConditional(other, error, branches))) gone.add(error)
      return { error }
    }
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') return { error }
    const forms: readonly unknown[] = Array.isArray(error.schema) ? error.schema : []
    const children = forms.map((form) =>
      errors.filter((other) => other !== error && isBelow(other, error, branches(form))),
    )
    for (const child of children.flat()) gone.add(child)
    return { error, children }
  })
  return folded.filter(({ error }) => !gone.has(error))
}

function isBelow(
  error: ErrorObject,
  { instancePath }: ErrorObject,
  form: ReadonlySet<unknown>,
): boolean {
  const inside =
    error.instancePath === instancePath || error.instancePath.startsWith(`${instancePath}/`)
  return inside && form.has(error.parentSchema)
}

/** `if` only says which branch was taken: the branch's own error says more. */
function isOfConditional(
  error: ErrorObject,
  conditional: ErrorObject,
  branches: Branches,
): boolean {
  const schema: unknown = conditional.parentSchema
  if (error === conditional || typeof schema !== 'object' || schema === null) return false
  const taken = [
    'then' in schema ? schema.then : undefined,
    'else' in schema ? schema.else : undefined,
  ]
  return taken.some((branch) => isBelow(error, conditional, branches(branch)))
}

/** One failed alternative in one line: what each form would take, four forms at most. */
export function sayAlternatives(
  error: ErrorObject,
  children: readonly (readonly ErrorObject[])[],
  faultOf: (error: ErrorObject) => ArgumentFault,
): ArgumentFault {
  const path = error.instancePath
  const { passingSchemas } = error.params as { readonly passingSchemas?: unknown }
  if (Array.isArray(passingSchemas)) {
    return { path, expected: 'one of several forms, and not more than one of them' }
  }
  const said = children.filter((form) => form.length > 0)
  const forms = said.slice(0, MAX_FORMS).map((form) =>
    form
      .slice(0, 3)
      .map((child) => {
        const fault = faultOf(child)
        const below = fault.path.slice(path.length)
        return below === '' ? fault.expected : `${below} ${fault.expected}`
      })
      .join(', '),
  )
  if (forms.length === 0) return { path, expected: `one of ${children.length} forms; none fits` }
  const more = children.length > forms.length ? '; or another form' : ''
  return { path, expected: `one of: ${forms.join('; or ')}${more}` }
}

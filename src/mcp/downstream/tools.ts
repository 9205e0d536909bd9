/**
 * `tools/call`: resolves the name, checks mirrored headers and the strictness of arguments, then hands over.
 *
 * @source MCP 2026-07-28, server, tools; transports, Streamable HTTP, custom headers (SEP-2243)
 */
import { parseExact } from '../../core/words/exact-json.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import { mayHold } from '../wire/may-hold.ts'
import { jsonText } from '../wire/native.ts'
import { checkParamHeaders, readParamHeaders, type ParamHeaders } from '../wire/headers.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, sliceOf } from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { badParams, ourError, type Answer } from './answer.ts'
import { delegateTool } from './delegation.ts'
import { asksForTask, callAsTask, noTaskOf } from './legacy-task-call.ts'
import type { Door } from './options.ts'
import { placeCall } from './place-call.ts'
import { callTaskTool, isTaskTool } from './task-tools.ts'
import { stringParam, type Visit } from './visit.ts'

/** @throws JsonFault for arguments of which two readers may disagree. */
export function callTool(door: Door, visit: Visit): Answer | Promise<Answer> {
  const name = stringParam(visit, 'name')
  if (name === undefined) return badParams('tools/call needs params.name, a string')
  const args = readArguments(visit)
  if ('kind' in args) return args
  if (door.ports.delegation?.isListed() === true && isTaskTool(name)) {
    if (asksForTask(door, visit)) return noTaskOf(name)
    return callTaskTool(door, door.ports.delegation, visit, name, exactOf(args))
  }
  const route = door.ports.catalogue.resolve('tool', name, visit.principal)
  if (route instanceof Promise) return callLater(door, visit, name, args, route)
  return callResolved(door, visit, name, args, route)
}

/** An answer's data is handed over, its digits with it. */
function exactOf({ bytes }: JsonText): unknown {
  return parseExact(new TextDecoder().decode(bytes))
}

/** What has to be waited for is known for most calls: a promise less for each of them. */
async function callLater(
  door: Door,
  visit: Visit,
  name: string,
  args: JsonText,
  route: Promise<Route | undefined>,
): Promise<Answer> {
  return callResolved(door, visit, name, args, await route)
}

function callResolved(
  door: Door,
  visit: Visit,
  name: string,
  args: JsonText,
  route: Route | undefined,
): Answer | Promise<Answer> {
  const { delegation } = door.ports
  // Whoever holds a handle may ask about it, listed or not.
  if (route === undefined && delegation !== undefined && isTaskTool(name))
    return callTaskTool(door, delegation, visit, name, exactOf(args))
  if (route === undefined) return badParams(`unknown tool: ${name.slice(0, 200)}`)
  const annotated = annotationsFor(door, visit, route)
  return annotated instanceof Promise
    ? annotated.then((listed) => callRoute(door, visit, route, args, listed))
    : callRoute(door, visit, route, args, annotated)
}

function callRoute(
  door: Door,
  visit: Visit,
  route: Route,
  args: JsonText,
  annotated: ParamHeaders,
): Answer | Promise<Answer> {
  const mismatch = checkArgumentHeaders(annotated, visit, args)
  if (mismatch !== undefined) return ourError(RPC_ERRORS.headerMismatch, mismatch)
  if (visit.era === 'legacy' && asksForTask(door, visit))
    return callAsTask(door, visit, route, args)
  if (route.kind === 'agent' && door.ports.delegation !== undefined) {
    return delegateTool(door, door.ports.delegation, visit, route, args)
  }
  return placeCall(door, visit, route, 'call', args)
}

/** The arguments object, `{}` when absent, strictly checked. */
export function readArguments(visit: Visit): JsonText | Answer {
  const member = findMember(visit.members, 'arguments')
  if (member === undefined) return jsonText(encodeJson({}))
  if (member.type !== 'object') return badParams('params.arguments must be an object')
  checkStrict(visit.params, member.value, VALIDATED)
  return jsonText(sliceOf(visit.params, member.value))
}

const VALIDATED = { validated: true }

/** Header annotations of a definition, read once per definition. */
const annotationsOf = new WeakMap<JsonText, ParamHeaders>()
const ANNOTATION = Buffer.from('"x-mcp-header"')
const NO_HEADERS: ParamHeaders = { ok: true, headers: [] }

/** What `x-mcp-header` annotations this definition has, or why it cannot be called over HTTP. */
export function paramHeadersOf(definition: JsonText): ParamHeaders {
  const { bytes } = definition
  if (!mayHold(bytes, ANNOTATION)) return NO_HEADERS
  const known = annotationsOf.get(definition)
  if (known !== undefined) return known
  const value = definition.value()
  const read = readParamHeaders(isObject(value) ? value['inputSchema'] : undefined)
  annotationsOf.set(definition, read)
  return read
}

/** Re-exporting a tool with annotations over HTTP makes us their validator. @returns what is wrong, if anything. */
function checkArgumentHeaders(
  annotations: ParamHeaders,
  visit: Visit,
  args: JsonText,
): string | undefined {
  if (visit.headers === undefined || !annotations.ok || annotations.headers.length === 0)
    return undefined
  return checkParamHeaders(annotations.headers, args.value(), visit.headers)
}

/** Those of a tool for a caller whose headers repeat its arguments. */
function annotationsFor(
  door: Door,
  visit: Visit,
  route: Route,
): ParamHeaders | Promise<ParamHeaders> {
  if (visit.headers === undefined || visit.era === 'legacy') return NO_HEADERS
  return door.annotations.find(route) ?? listAnnotations(door, route, visit.principal)
}

/** Known by fingerprint, so that a call never waits for a listing twice, nor for peers that are not its own. */
async function listAnnotations(
  door: Door,
  route: Route,
  principal: Principal,
): Promise<ParamHeaders> {
  const { items } = await door.ports.catalogue.list('tool', principal)
  const definition = items.find((item) => item.exposed === route.exposed)?.definition
  if (definition === undefined) return NO_HEADERS
  const read = paramHeadersOf(definition)
  if (door.annotations.find(route) === undefined) door.annotations.keep(route, read)
  return read
}

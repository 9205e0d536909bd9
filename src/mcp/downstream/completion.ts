/**
 * `completion/complete`: a prompt's or a template's argument, completed by the peer that it belongs to.
 *
 * A peer that completes nothing, or cannot be reached, gives no values: one server here stands for many, and whoever types
 * into a form gains nothing from an error. Why stands in `_meta`.
 *
 * @source MCP 2026-07-28, server, utilities, completion: at most 100 values
 */
import type { PeerQuery } from '../../core/ports/peer.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { Route } from '../../core/words/route.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { jsonText } from '../wire/native.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import {
  concat,
  encodeJson,
  findMember,
  scanArray,
  scanObject,
  setMembers,
  sliceOf,
} from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { badParams, ourError, unreadableResult, type Answer } from './answer.ts'
import { MISSING_META } from './lists.ts'
import type { Door } from './options.ts'
import { askPeer, type Asked } from './query-answer.ts'
import { paramBytes, type Visit } from './visit.ts'

const METHOD = 'completion/complete'
const MAX_VALUES = 100

/** @throws JsonFault for params of which two readers may disagree. */
export async function complete(door: Door, visit: Visit): Promise<Answer> {
  const { catalogue } = door.ports
  const { query } = catalogue
  const features = await catalogue.features?.(visit.principal)
  if (query === undefined || features?.completions !== true)
    return ourError(RPC_ERRORS.methodNotFound, `method not found: ${METHOD}`)
  const asked = readReference(visit)
  if ('kind' in asked) return asked
  const route = await findRoute(door, visit, asked)
  if (route === undefined) return badParams(`unknown ${asked.what}: ${asked.name.slice(0, 200)}`)
  const came = await askPeer(visit, route.peer, () =>
    query.call(catalogue, route, queryFor(visit, asked, route), visit.caller.signal),
  )
  switch (came.kind) {
    case 'result':
      return boundedResult(came)
    case 'error':
      return came.error
    case 'missing':
      return {
        kind: 'result',
        bytes: encodeJson({
          completion: { values: [] },
          _meta: { [MISSING_META]: [{ peer: came.peer, reason: came.reason }] },
        }),
      }
  }
}

interface Reference {
  readonly what: 'prompt' | 'resource'
  /** The member of `ref` that holds it. */
  readonly key: 'name' | 'uri'
  readonly name: string
  /** The whole `ref`. */
  readonly bytes: Uint8Array
}

function readReference(visit: Visit): Reference | Answer {
  checkStrict(visit.params)
  const bytes = paramBytes(visit, 'ref')
  const ref = bytes === undefined ? undefined : jsonText(bytes).value()
  const argument = paramBytes(visit, 'argument')
  const given = argument === undefined ? undefined : jsonText(argument).value()
  if (bytes === undefined || !isObject(ref))
    return badParams(`${METHOD} needs params.ref, an object`)
  const sound =
    isObject(given) && typeof given['name'] === 'string' && typeof given['value'] === 'string'
  if (!sound) return badParams(`${METHOD} needs params.argument with name and value, strings`)
  const isPrompt = ref['type'] === 'ref/prompt'
  if (!isPrompt && ref['type'] !== 'ref/resource')
    return badParams('params.ref.type must be ref/prompt or ref/resource')
  const key = isPrompt ? 'name' : 'uri'
  const name = ref[key]
  if (typeof name !== 'string') return badParams(`params.ref.${key} must be a string`)
  return { what: isPrompt ? 'prompt' : 'resource', key, name, bytes }
}

async function findRoute(
  { ports }: Door,
  { principal }: Visit,
  { what, name }: Reference,
): Promise<Route | undefined> {
  const { catalogue } = ports
  if (what === 'prompt') return catalogue.resolve('prompt', name, principal)
  return (
    (await catalogue.resolve('template', name, principal)) ??
    (await catalogue.resolve('resource', name, principal))
  )
}

function queryFor(visit: Visit, { key, bytes }: Reference, { capability }: Route): PeerQuery {
  const ref = setMembers(bytes, undefined, { [key]: encodeJson(capability) })
  return {
    method: METHOD,
    params: jsonText(setMembers(visit.params, undefined, { ref, _meta: undefined })),
  }
}

function boundedResult({ bytes, revision }: Extract<Asked, { kind: 'result' }>): Answer {
  try {
    return { kind: 'result', bytes: boundValues(bytes), revision }
  } catch (fault) {
    // The peer's fault, not the caller's.
    if (fault instanceof JsonFault) return unreadableResult()
    throw fault
  }
}

/** The peer's result with no more values than the protocol allows. */
function boundValues(result: Uint8Array): Uint8Array {
  const completion = findMember(scanObject(result), 'completion')
  if (completion?.type !== 'object') return setMembers(result, undefined, { completion: NO_VALUES })
  const own = sliceOf(result, completion.value)
  const values = findMember(scanObject(own), 'values')
  if (values?.type !== 'array') return setMembers(result, undefined, { completion: NO_VALUES })
  const items = scanArray(own, values.value)
  if (items.length <= MAX_VALUES) return result
  const last = items[MAX_VALUES - 1]
  const kept = own.subarray(values.value.start, last?.end ?? values.value.start + 1)
  const bounded = setMembers(own, undefined, {
    values: concat([kept, Buffer.from(']')]),
    hasMore: encodeJson(true),
  })
  return setMembers(result, undefined, { completion: bounded })
}

const NO_VALUES = encodeJson({ values: [] })

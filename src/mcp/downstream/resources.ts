/**
 * `resources/read`: peers' resources by URI, and artifacts of this principal's tasks as `comity://artifacts/...`.
 *
 * @source MCP 2026-07-28, server, resources: not found is -32602 and never empty contents
 */
import type { Route } from '../../core/words/route.ts'
import { jsonText } from '../wire/native.ts'
import { encodeJson, findMember, readString, scanArray, scanObject, splice } from '../wire/spans.ts'
import { readArtifact } from './artifact-resource.ts'
import { badParams, type Answer } from './answer.ts'
import type { Door } from './options.ts'
import { placeCall } from './place-call.ts'
import { stringParam, type Visit } from './visit.ts'

export async function readResource(door: Door, visit: Visit): Promise<Answer> {
  const uri = stringParam(visit, 'uri')
  if (uri === undefined) return badParams('resources/read needs params.uri, a string')
  const { delegation, catalogue } = door.ports
  const artifact =
    delegation === undefined ? undefined : await readArtifact(delegation, uri, visit.principal)
  if (artifact !== undefined) return artifact
  const route = await catalogue.resolve('resource', uri, visit.principal)
  if (route === undefined) return resourceNotFound(uri)
  const answer = await placeCall(door, visit, route, 'read', jsonText(encodeJson({ uri })))
  return answer.kind === 'result' && route.exposed !== route.capability
    ? { ...answer, bytes: underExposed(answer.bytes, route) }
    : answer
}

/** What was read under a scoped address says so: whoever compares finds the address that was asked for. */
function underExposed(result: Uint8Array, { capability, exposed }: Route): Uint8Array {
  const contents = findMember(scanObject(result, undefined, LOOSE), 'contents')
  if (contents?.type !== 'array') return result
  const edits = scanArray(result, contents.value, { validated: true }).flatMap((item) => {
    if (item.type !== 'object') return []
    const uri = findMember(scanObject(result, item, LOOSE), 'uri')
    const isIts = uri?.type === 'string' && readString(result, uri.value) === capability
    return isIts ? [{ span: uri.value, bytes: encodeJson(exposed) }] : []
  })
  return splice(result, edits)
}

/** Repeated members are judged where the result is encoded. */
const LOOSE = { validated: true, allowDuplicates: true } as const

/** Unknown and hidden alike. */
function resourceNotFound(uri: string): Answer {
  return badParams(`resource not found: ${uri.slice(0, 500)}`, { uri: uri.slice(0, 8192) })
}

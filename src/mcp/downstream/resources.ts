/**
 * `resources/read`: peers' resources by URI, and artifacts of this principal's tasks as `comity://artifacts/...`.
 *
 * @source MCP 2026-07-28, server, resources: not found is -32602 and never empty contents
 */
import { jsonText } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
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
  return placeCall(door, visit, route, 'read', jsonText(encodeJson({ uri })))
}

/** Unknown and hidden alike. */
function resourceNotFound(uri: string): Answer {
  return badParams(`resource not found: ${uri.slice(0, 500)}`, { uri: uri.slice(0, 8192) })
}

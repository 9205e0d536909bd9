/** `prompts/get`: a peer's prompt by its exposed name. @source MCP 2026-07-28, server, prompts */
import { badParams, type Answer } from './answer.ts'
import type { Door } from './options.ts'
import { placeCall } from './place-call.ts'
import { readArguments } from './tools.ts'
import { stringParam, type Visit } from './visit.ts'

/** @throws JsonFault for arguments of which two readers may disagree. */
export async function getPrompt(door: Door, visit: Visit): Promise<Answer> {
  const name = stringParam(visit, 'name')
  if (name === undefined) return badParams('prompts/get needs params.name, a string')
  const args = readArguments(visit)
  if ('kind' in args) return args
  const route = await door.ports.catalogue.resolve('prompt', name, visit.principal)
  if (route === undefined) return badParams(`unknown prompt: ${name.slice(0, 200)}`)
  return placeCall(door, visit, route, 'prompt', args)
}

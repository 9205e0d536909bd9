/** The methods that both eras serve, and the feature each belongs to. One table, so that neither era forgets one. */
import type { Answer } from './answer.ts'
import { listCapabilities } from './lists.ts'
import type { Door, Offer } from './options.ts'
import { getPrompt } from './prompts.ts'
import { readResource } from './resources.ts'
import { callTool } from './tools.ts'
import type { Visit } from './visit.ts'

type Method = (door: Door, visit: Visit) => Promise<Answer>

const METHODS: ReadonlyMap<string, { readonly offer: Offer; readonly serve: Method }> = new Map([
  ['tools/list', { offer: 'tools', serve: (door, visit) => listCapabilities(door, visit, 'tool') }],
  ['tools/call', { offer: 'tools', serve: callTool }],
  [
    'resources/list',
    { offer: 'resources', serve: (door, visit) => listCapabilities(door, visit, 'resource') },
  ],
  [
    'resources/templates/list',
    { offer: 'resources', serve: (door, visit) => listCapabilities(door, visit, 'template') },
  ],
  ['resources/read', { offer: 'resources', serve: readResource }],
  [
    'prompts/list',
    { offer: 'prompts', serve: (door, visit) => listCapabilities(door, visit, 'prompt') },
  ],
  ['prompts/get', { offer: 'prompts', serve: getPrompt }],
])

/** The method of that name; undefined when it is not served here. */
export function findMethod(door: Door, name: string): Method | undefined {
  const method = METHODS.get(name)
  return method !== undefined && door.offers.has(method.offer) ? method.serve : undefined
}

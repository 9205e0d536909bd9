/** The methods that both eras serve, and the feature each belongs to: one table, so that neither era forgets one. And those of one era alone. */
import type { Answer } from './answer.ts'
import { complete } from './completion.ts'
import { discover } from './discover.ts'
import { listen } from './listen.ts'
import {
  cancelLegacyTask,
  getLegacyTask,
  listLegacyTasks,
  servesLegacyTasks,
} from './legacy-tasks.ts'
import { answerLegacyResult } from './legacy-task-result.ts'
import { listCapabilities } from './lists.ts'
import type { Door, Offer } from './options.ts'
import { getPrompt } from './prompts.ts'
import { readResource } from './resources.ts'
import { getSkill, listSkills, readDirectory } from './skills.ts'
import { cancelTask, getTask, updateTask } from './tasks.ts'
import { callTool } from './tools.ts'
import type { Visit } from './visit.ts'

type Method = (door: Door, visit: Visit) => Answer | Promise<Answer>

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
  ['completion/complete', { offer: 'completions', serve: complete }],
])

const MODERN: ReadonlyMap<string, { readonly offer?: Offer; readonly serve: Method }> = new Map<
  string,
  { readonly offer?: Offer; readonly serve: Method }
>([
  ['server/discover', { serve: (door, visit) => discover(door, visit.principal) }],
  ['subscriptions/listen', { serve: listen }],
  ['tasks/get', { offer: 'tools', serve: getTask }],
  ['tasks/update', { offer: 'tools', serve: updateTask }],
  ['tasks/cancel', { offer: 'tools', serve: cancelTask }],
  ['skills/list', { offer: 'resources', serve: listSkills }],
  ['skills/get', { offer: 'resources', serve: getSkill }],
  ['resources/directory/read', { offer: 'resources', serve: readDirectory }],
])

const LEGACY_TASKS: ReadonlyMap<string, Method> = new Map([
  ['tasks/get', getLegacyTask],
  ['tasks/result', answerLegacyResult],
  ['tasks/list', listLegacyTasks],
  ['tasks/cancel', cancelLegacyTask],
])

/** As `findMethod`, with those that only sessions of this revision have. */
export function findLegacyMethod(door: Door, name: string, revision: string): Method | undefined {
  const ofTasks = name.startsWith('tasks/') ? LEGACY_TASKS.get(name) : undefined
  if (ofTasks === undefined) return findMethod(door, name)
  return servesLegacyTasks(door, revision) ? ofTasks : undefined
}

/** As `findMethod`, with those that only 2026-07-28 has. */
export function findModernMethod(door: Door, name: string): Method | undefined {
  const own = MODERN.get(name)
  if (own === undefined) return findMethod(door, name)
  if (name.startsWith('tasks/') && door.ports.delegation === undefined) return undefined
  return own.offer === undefined || door.offers.has(own.offer) ? own.serve : undefined
}

/** The method of that name; undefined when it is not served here. */
export function findMethod(door: Door, name: string): Method | undefined {
  const method = METHODS.get(name)
  return method !== undefined && door.offers.has(method.offer) ? method.serve : undefined
}

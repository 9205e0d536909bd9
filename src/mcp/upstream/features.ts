/** What a server says that it can do, read with care: claims of the other side, never validated before. */
import type { PeerFeatures } from '../../core/ports/peer.ts'
import { isObject } from '../../core/words/is-object.ts'
import { TASKS_EXTENSION } from '../wire/rev-2026-07-28.ts'
import { hasTasks } from './read-task.ts'

type Capabilities = Readonly<Record<string, unknown>>

/** The lists whose changes a server may tell of. */
export const CHANGING_LISTS = ['tools', 'prompts', 'resources'] as const

/** What a peer supports beyond its lists. */
export function featuresOf(capabilities: Capabilities): PeerFeatures {
  return {
    completions: isObject(capabilities.completions),
    subscribe: isDeclared(capabilities, 'resources', 'subscribe'),
    logging: isObject(capabilities.logging),
    ...(hasTasks(capabilities, TASKS_EXTENSION) || isObject(capabilities.tasks)
      ? { tasks: true }
      : {}),
    extensions: isObject(capabilities.extensions) ? capabilities.extensions : {},
  }
}

/** Whether `capabilities[name][flag]` is true. */
export function isDeclared(capabilities: Capabilities, name: string, flag: string): boolean {
  const value = capabilities[name]
  return isObject(value) && value[flag] === true
}

/** Whether the server has the list at all. */
export function hasList(capabilities: Capabilities, list: string): boolean {
  return isObject(capabilities[list])
}

/** Whether each list that the server has is one whose changes it tells of. */
export function tellsOfLists(capabilities: Capabilities): boolean {
  return CHANGING_LISTS.every(
    (list) => !hasList(capabilities, list) || isDeclared(capabilities, list, 'listChanged'),
  )
}

/**
 * Extensions that are carried through: offered while a peer that the caller may know of has them, and declared to peers as
 * the caller declared them. All others are unknown here, their methods too.
 *
 * @source MCP 2026-07-28, extensions; MCP Apps (SEP-1865); Skills (SEP-2640)
 */
import { isObject } from '../../core/words/is-object.ts'

/** MCP Apps: definitions name `ui://` resources, which are read like any other. */
const APPS_EXTENSION = 'io.modelcontextprotocol/ui'

/** Skills: resources with manifests, listed by methods of their own. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

const RELAYED: readonly string[] = [APPS_EXTENSION, SKILLS_EXTENSION]

/** Of the extensions given, those that are carried through, each with its settings. */
export function relayedExtensions(given: unknown): Readonly<Record<string, object>> | undefined {
  if (!isObject(given)) return undefined
  const relayed = RELAYED.flatMap((id) => {
    const settings = Object.hasOwn(given, id) ? given[id] : undefined
    return isObject(settings) ? [[id, settings] as const] : []
  })
  return relayed.length === 0 ? undefined : Object.fromEntries(relayed)
}

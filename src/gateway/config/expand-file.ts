/** Which values of the file are expanded: env, headers, url, auth, card, args and tokens, of peers that are started. */
import type { ExpandFrom } from './expand.ts'
import { expandText } from './expand.ts'
import type { ConfigPath, Mistake } from './mistakes.ts'
import { asMapping } from './plain.ts'

export interface ExpandedFile {
  readonly value: unknown
  /** By section and name of the peer: the values that references of it brought, any of which may be a secret. */
  readonly brought: ReadonlyMap<string, readonly string[]>
  readonly mistakes: readonly Mistake[]
  /** Values that hold a `${...}` of another host's kind and are used as they stand. */
  readonly foreign: readonly ConfigPath[]
}

/** A peer's key in `brought`. */
export function peerKey(section: 'mcpServers' | 'agents', name: string): string {
  return `${section}/${name}`
}

/** Whether a path's text is expanded. */
function isExpanded(path: ConfigPath): boolean {
  const [section, , key] = path
  if (section === 'mcpServers') {
    return ['url', 'args', 'env', 'headers', 'auth'].includes(String(key))
  }
  if (section === 'agents') return key === 'card' || key === 'headers'
  return section === 'tokens' && key === 'token'
}

/** @returns a copy with every reference replaced; a reference that cannot be is left as it stood, with a mistake. */
export function expandFile(value: unknown, from: ExpandFrom): ExpandedFile {
  const mistakes: Mistake[] = []
  const foreign: ConfigPath[] = []
  const brought = new Map<string, readonly string[]>()
  const visit = (node: unknown, path: ConfigPath): unknown => {
    if (typeof node === 'string' && isExpanded(path)) {
      const expanded = expandText(node, from)
      mistakes.push(...expanded.faults.map((message) => ({ path, message })))
      if (expanded.foreign) foreign.push(path)
      const [section, name] = path
      if (expanded.values.length > 0 && (section === 'mcpServers' || section === 'agents')) {
        const key = peerKey(section, String(name))
        brought.set(key, [...(brought.get(key) ?? []), ...expanded.values])
      }
      return expanded.faults.length > 0 ? node : expanded.text
    }
    if (Array.isArray(node)) return node.map((item, index) => visit(item, [...path, index]))
    if (typeof node !== 'object' || node === null) return node
    if (path.length === 2 && isOff(node)) return node
    return Object.fromEntries(
      Object.entries(node).map(([key, item]) => [key, visit(item, [...path, key])]),
    )
  }
  return { value: visit(value, []), brought, mistakes, foreign }
}

/** A peer that is turned off in the file; its secrets need not exist. */
export function isOff(peer: unknown): boolean {
  const { disabled, enabled } = asMapping(peer)
  return disabled === true || enabled === false
}

/** A host's file with some of its servers taken out or put in: only the text of `mcpServers` changes. */
import type { HostState } from './host-files.ts'

export interface ServerChange {
  /** Names that go. */
  readonly remove: readonly string[]
  /** Names that come, each with its JSON text; one that is there already is replaced. */
  readonly put: readonly (readonly [string, string])[]
}

/** @returns the whole new text; every byte outside of `mcpServers` is kept, and the text of entries that stay. */
export function replaceServers(state: HostState, change: ServerChange): string {
  const { servers, text } = state
  if (servers === undefined) return text
  const gone = new Set([...change.remove, ...change.put.map(([name]) => name)])
  const kept = (servers.members ?? [])
    .filter(({ key }) => !gone.has(key))
    .map(({ key, node }) => [key, text.slice(node.start, node.end)] as const)
  const entries = [...kept, ...change.put]
  const base = indentAt(text, servers.start)
  const step = base === '' ? '  ' : base
  const inner = `${base}${step}`
  const lines = entries.map(([name, json]) => `${inner}${JSON.stringify(name)}: ${json}`)
  const value = lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${base}}`
  return text.slice(0, servers.start) + value + text.slice(servers.end)
}

/** The text of each server's value as it stands in the file. */
export function serverTexts(state: HostState): ReadonlyMap<string, string> {
  return new Map(
    (state.servers?.members ?? []).map(({ key, node }) => [
      key,
      state.text.slice(node.start, node.end),
    ]),
  )
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

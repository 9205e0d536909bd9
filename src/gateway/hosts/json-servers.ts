/** Servers in a JSON file of a host: only the text of their list changes. */
import type { JsoncNode } from './jsonc.ts'
import { parseJsonc } from './jsonc.ts'
import type { ServerChange, ServerList } from './server-list.ts'
import { ServerListFault } from './server-list.ts'

/**
 * Reads a file.
 *
 * @param key of the list, at the top.
 * @param options.projects whether projects have lists of their own in the same file.
 * @returns undefined when it has no such key.
 * @throws JsoncFault, ServerListFault
 */
export function readJsonServers(
  text: string,
  key: string,
  options: { readonly projects?: boolean } = {},
): ServerList | undefined {
  const root = parseJsonc(text)
  if (root.members === undefined) throw new ServerListFault('it is no JSON object')
  const found = root.members.filter((member) => member.key === key)
  if (found.length > 1) throw new ServerListFault(`it has ${key} twice`)
  const list = found[0]?.node
  if (list === undefined) return undefined
  const { members } = list
  if (members === undefined) throw new ServerListFault(`its ${key} is no JSON object`)
  return {
    servers: members.map(({ key: name, node }) => ({
      name,
      value: node.value,
      text: text.slice(node.start, node.end),
    })),
    elsewhere: options.projects === true ? serversOfProjects(root) : [],
    replace: (change) => replaceServers(text, list, change),
    write: (_name, entry) => JSON.stringify(entry),
  }
}

function replaceServers(text: string, list: JsoncNode, change: ServerChange): string {
  const gone = new Set([...change.remove, ...change.put.map(([name]) => name)])
  const kept = (list.members ?? [])
    .filter(({ key }) => !gone.has(key))
    .map(({ key, node }) => [key, text.slice(node.start, node.end)] as const)
  const entries = [...kept, ...change.put]
  const base = indentAt(text, list.start)
  const step = base === '' ? '  ' : base
  const inner = `${base}${step}`
  const lines = entries.map(([name, json]) => `${inner}${JSON.stringify(name)}: ${json}`)
  const value = lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${base}}`
  return text.slice(0, list.start) + value + text.slice(list.end)
}

/** Claude Code: servers of one project, by the project's path; comity would give them to all. */
function serversOfProjects(root: JsoncNode): ServerList['elsewhere'] {
  const projects = root.members?.filter(({ key }) => key === 'projects') ?? []
  return projects.flatMap(({ node }) =>
    (node.members ?? []).flatMap((project) =>
      (project.node.members ?? [])
        .filter(({ key }) => key === 'mcpServers')
        .flatMap((list) => list.node.members ?? [])
        .map(({ key }) => ({
          name: key,
          reason: `it is for the project ${project.key} alone; comity would give it to every project`,
        })),
    ),
  )
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

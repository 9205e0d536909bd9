/**
 * The plan of an import: every file that would be written, with its text, and what a person must see before saying yes.
 *
 * Pure: reads what was read, writes nothing. apply-import.ts does it, undo-import.ts takes it back.
 */
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { crossCheck } from '../config/cross-checks.ts'
import { sayPath } from '../config/mistakes.ts'
import { configSchema } from '../config/schema.ts'
import type { HostName, HostState } from './host-files.ts'
import { replaceServers } from './host-text.ts'
import { peerNameFor } from './peer-names.ts'
import type { SecretFile, TakenServer } from './take-over.ts'
import { takeServer } from './take-over.ts'

export interface ImportFrom {
  /** Hosts' files that could be read. */
  readonly hosts: readonly HostState[]
  /** Absolute path of the comity.yaml to write. */
  readonly configFile: string
  /** Absolute paths: a host starts comity without a shell's PATH. */
  readonly node: string
  readonly entry: string
  /** To see whether what a server refers to by `${env:...}` is there. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** ISO string, for the comment in the config. */
  readonly now: string
}

export interface PlannedServer extends TakenServer {
  /** Its name in the host's file. */
  readonly from: string
  readonly host: HostName
}

export interface PlannedHost {
  readonly state: HostState
  /** What the host's file becomes. */
  readonly text: string
  /** Entries that comity.yaml takes, by the host's names. */
  readonly taken: readonly string[]
  /** Entries that stay in the host's file, and why. */
  readonly left: readonly { readonly name: string; readonly reason: string }[]
}

export interface PlannedFile {
  /** Absolute. */
  readonly path: string
  readonly text: string
}

export interface ImportPlan {
  readonly configFile: string
  readonly configText: string
  readonly servers: readonly PlannedServer[]
  /** Each readable by the user alone. */
  readonly secrets: readonly PlannedFile[]
  /** Hosts that have something to take. */
  readonly hosts: readonly PlannedHost[]
  /** The entry that hosts get: how comity is started. */
  readonly hostEntry: HostEntry
}

export interface HostEntry {
  readonly command: string
  readonly args: readonly string[]
}

/** The name of our entry in a host's file. */
export const HOST_ENTRY_NAME = 'comity'

/** @returns a plan without servers when there is nothing to take. */
export function planImport(from: ImportFrom): ImportPlan {
  const hostEntry: HostEntry = {
    command: from.node,
    args: [from.entry, 'mcp', '--standalone', '-c', from.configFile],
  }
  const servers: PlannedServer[] = []
  const hosts: PlannedHost[] = []
  for (const state of from.hosts) {
    const planned = planHost(state, servers, hostEntry, from.env)
    servers.push(...planned.servers)
    if (planned.host.taken.length > 0) hosts.push(planned.host)
  }
  const distinct = servers.filter(
    (server, index) => servers.findIndex(({ name }) => name === server.name) === index,
  )
  const directory = dirname(from.configFile)
  return {
    configFile: from.configFile,
    configText: configText(distinct, hosts, from.now),
    servers,
    secrets: distinct
      .flatMap(({ secrets }) => secrets)
      .map(({ path, value }: SecretFile) => ({ path: join(directory, path), text: `${value}\n` })),
    hosts,
    hostEntry,
  }
}

function planHost(
  state: HostState,
  before: readonly PlannedServer[],
  hostEntry: HostEntry,
  env: ImportFrom['env'],
): { readonly host: PlannedHost; readonly servers: readonly PlannedServer[] } {
  const servers: PlannedServer[] = []
  const left: { readonly name: string; readonly reason: string }[] = []
  for (const { key, node } of state.servers?.members ?? []) {
    if (isOurs(key, node.value)) continue
    const same = before.find(
      (other) => other.from === key && sameServer(other, takeServer(other.name, node.value)),
    )
    const names = new Set([...before, ...servers].map(({ name }) => name))
    const name = same?.name ?? peerNameFor(key, names, state.host)
    const taken = takeServer(name, node.value)
    const reason = 'left' in taken ? taken.left : whyNotLoad(taken, env)
    if (reason !== undefined) left.push({ name: key, reason })
    else if (!('left' in taken)) servers.push({ ...taken, from: key, host: state.host })
  }
  const text = replaceServers(state, {
    remove: servers.map(({ from }) => from),
    put: [[HOST_ENTRY_NAME, JSON.stringify(hostEntry)]],
  })
  return { host: { state, text, taken: servers.map(({ from }) => from), left }, servers }
}

/** A server that would keep the whole config from loading stays where it is. */
function whyNotLoad({ name, entry }: TakenServer, env: ImportFrom['env']): string | undefined {
  const file = { mcpServers: { [name]: entry } }
  const missing = [...JSON.stringify(entry).matchAll(/\$\{env:([^}"]*)\}/g)]
    .map(([, variable = '']) => variable)
    .filter((variable) => env[variable] === undefined)
  if (missing.length > 0) {
    return `it needs ${missing.join(', ')} in the environment, which is not set here`
  }
  const [mistake] = crossCheck(file)
  if (mistake !== undefined) return `${sayPath(mistake.path.slice(2))}: ${mistake.message}`
  return configSchema.safeParse(file).success ? undefined : 'it has not the form that comity takes'
}

/** Two hosts with one server have one peer. */
function sameServer(one: TakenServer, other: TakenServer | { readonly left: string }): boolean {
  return (
    !('left' in other) &&
    JSON.stringify([one.entry, one.secrets]) === JSON.stringify([other.entry, other.secrets])
  )
}

/** An entry of ours from an earlier import: taking it over would make comity its own server. */
function isOurs(key: string, value: unknown): boolean {
  if (key !== HOST_ENTRY_NAME || typeof value !== 'object' || value === null) return false
  const args: unknown = 'args' in value ? value.args : undefined
  return Array.isArray(args) && args.includes('mcp') && args.includes('--standalone')
}

function configText(
  servers: readonly TakenServer[],
  hosts: readonly PlannedHost[],
  now: string,
): string {
  const labels = hosts.map(({ state }) => state.label).join(' and ')
  const head = [
    `# Made by \`comity import\` from ${labels}, ${now.slice(0, 10)}. Yours to change.`,
    '# Values that look like secrets are in files of their own, readable by you alone.',
    '',
  ].join('\n')
  const mcpServers = Object.fromEntries(servers.map(({ name, entry }) => [name, entry]))
  const body = stringify(
    { mcpServers, policy: { preset: 'personal' } },
    { version: '1.2', lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' },
  )
  return `${head}${body}`
}

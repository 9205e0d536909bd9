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
import { translateServer } from './host-dialect.ts'
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
  readonly platform: NodeJS.Platform
  readonly home: string
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
  /** Our entry, as this host wants it. */
  readonly entry: Readonly<Record<string, unknown>>
  /** Entries that comity.yaml takes, by the host's names. */
  readonly taken: readonly string[]
  /** Entries that stay in the host's file, and why. */
  readonly left: readonly LeftServer[]
}

export interface LeftServer {
  readonly name: string
  readonly reason: string
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
  /** What stays in hosts' files, also in those that have nothing to take. */
  readonly left: readonly (LeftServer & { readonly label: string })[]
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
    args: [
      from.entry,
      'mcp',
      // Where there is no socket to share a process by, each host has its own.
      ...(from.platform === 'win32' ? ['--standalone'] : []),
      '-c',
      from.configFile,
    ],
  }
  const servers: PlannedServer[] = []
  const hosts: PlannedHost[] = []
  const left: (LeftServer & { readonly label: string })[] = []
  for (const state of from.hosts) {
    const planned = planHost(state, servers, hostEntry, from)
    servers.push(...planned.servers)
    left.push(...planned.host.left.map((each) => ({ ...each, label: state.label })))
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
    left,
    hostEntry,
  }
}

function planHost(
  state: HostState,
  before: readonly PlannedServer[],
  hostEntry: HostEntry,
  from: ImportFrom,
): { readonly host: PlannedHost; readonly servers: readonly PlannedServer[] } {
  const servers: PlannedServer[] = []
  const left: LeftServer[] = [...(state.servers?.elsewhere ?? [])]
  for (const { name: key, value, fixed } of state.servers?.servers ?? []) {
    if (isOurs(key, value)) continue
    const translated = translateServer(state, value, from)
    const reason = fixed ?? ('left' in translated ? translated.left : undefined)
    if (reason !== undefined || 'left' in translated) {
      left.push({ name: key, reason: reason ?? '' })
      continue
    }
    const same = before.find(
      (other) => other.from === key && sameServer(other, takeServer(other.name, translated.value)),
    )
    const names = new Set([...before, ...servers].map(({ name }) => name))
    const name = same?.name ?? peerNameFor(key, names, state.host)
    const taken = takeServer(name, translated.value)
    const why = 'left' in taken ? taken.left : whyNotLoad(taken, from.env)
    if (why !== undefined) left.push({ name: key, reason: why })
    else if (!('left' in taken)) {
      const notes = [...taken.notes, ...translated.notes]
      servers.push({ ...taken, notes, from: key, host: state.host })
    }
  }
  const entry = entryFor(state.host, hostEntry)
  const taken = servers.map(({ from: name }) => name)
  const text = state.servers?.replace({
    remove: taken,
    put: [[HOST_ENTRY_NAME, state.servers.write(HOST_ENTRY_NAME, entry)]],
  })
  return { host: { state, text: text ?? state.text, entry, taken, left }, servers }
}

/** VS Code wants the transport said. */
function entryFor(host: HostName, entry: HostEntry): Readonly<Record<string, unknown>> {
  const isVsCode = host === 'vscode' || host === 'vscode-workspace'
  return { ...(isVsCode ? { type: 'stdio' } : {}), ...entry }
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
  return Array.isArray(args) && args.includes('mcp') && args.includes('-c')
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

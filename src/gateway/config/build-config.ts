/** From the checked file to the `Config` that the gateway reads: defaults, absolute paths, the order of the file. */
import { dirname, resolve } from 'node:path'
import type { AcceptanceRule } from '../../core/words/acceptance.ts'
import type { AuthConfig } from '../auth/words.ts'
import type { PolicyRule, PolicySection } from '../policy/section.ts'
import { DEFAULT_POLICY } from '../policy/section.ts'
import { hasAuthorization, keepsTokens } from './check-auth.ts'
import type {
  AgentConfig,
  Config,
  Ignored,
  McpServerConfig,
  PublishedAgent,
  ServerTimeouts,
  TaskTimes,
  TokenConfig,
} from './config.ts'
import { parseDuration } from './duration.ts'
import { type ExpandedFile, isOff, peerKey } from './expand-file.ts'
import { foreignKeyReason } from './foreign-keys.ts'
import { STABLE_REVISION } from './check-canary.ts'
import type { ConfigPath } from './mistakes.ts'
import { sayPath } from './mistakes.ts'
import type { YamlText } from './read-yaml.ts'
import type { ConfigFile } from './schema.ts'
import { parseShare } from './share.ts'
import { storeFile } from './store-file.ts'

export interface BuildFrom {
  readonly realFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly brought: ExpandedFile['brought']
  /** Values with another host's `${...}`. */
  readonly foreign: readonly ConfigPath[]
}

type ServerEntry = NonNullable<ConfigFile['mcpServers']>[string]
type RuleEntry = NonNullable<NonNullable<ConfigFile['policy']>['rules']>[number]

const DEFAULT_LISTEN = { host: '127.0.0.1', port: 7878 }

/** @param file checked: every entry is well formed and fits the others. */
export function buildConfig(file: ConfigFile, yaml: YamlText, from: BuildFrom): Config {
  const directory = dirname(from.realFile)
  const tokens = buildTokens(file.tokens)
  return {
    file: from.realFile,
    mcpServers: inOrder(file.mcpServers, yaml, ['mcpServers']).map(([name, entry]) =>
      buildServer(name, entry, { ...from, directory }),
    ),
    agents: inOrder(file.agents, yaml, ['agents']).map(([name, entry]) => ({
      name,
      card: entry.card,
      headers: entry.headers ?? {},
      allowHosts: entry.allowHosts ?? [],
      disabled: entry.disabled ?? false,
      brought: from.brought.get(peerKey('agents', name)) ?? [],
    })) satisfies AgentConfig[],
    peers: yaml
      .keysOf([])
      .filter((section) => section === 'mcpServers' || section === 'agents')
      .flatMap((section) => yaml.keysOf([section])),
    policy: buildPolicy(file.policy),
    acceptance: new Map(
      Object.entries(file.acceptance ?? {}).map(([name, rule]) => [
        name,
        present(rule) satisfies AcceptanceRule,
      ]),
    ),
    publish: inOrder(file.publish, yaml, ['publish']).map(([name, entry]) => ({
      name,
      description: entry.description,
      skills: inOrder(entry.skills, yaml, ['publish', name, 'skills']).map(([id, skill]) => ({
        ...present({ description: skill.description, text: skill.text }),
        id,
        route: splitRoute(skill.route),
      })),
    })) satisfies PublishedAgent[],
    names: file.names ?? 'prefixed',
    lists: file.lists ?? 'partial',
    tasks: buildTasks(file.tasks),
    ...(tokens === undefined ? {} : { tokens }),
    listen: {
      host: file.listen?.host ?? DEFAULT_LISTEN.host,
      port: file.listen?.port ?? DEFAULT_LISTEN.port,
      ...(file.listen?.url === undefined
        ? {}
        : { url: new URL(file.listen.url).href.replace(/\/+$/u, '') }),
      hosts: file.listen?.hosts ?? [],
    },
    store: storeFile(file.store, from),
    ...present({ tokenKey: from.env['COMITY_TOKEN_KEY'] || undefined }),
    ignored: buildIgnored(file, yaml, from),
  }
}

function buildServer(
  name: string,
  entry: ServerEntry,
  { brought, directory }: Pick<BuildFrom, 'brought'> & { readonly directory: string },
): McpServerConfig {
  const common = {
    name,
    trust: entry.trust ?? 'all',
    capabilities: present(entry.capabilities ?? {}),
    stateless: entry.stateless ?? false,
    timeouts: buildTimeouts(entry.timeouts),
    disabled: isOff(entry),
    brought: [...(brought.get(peerKey('mcpServers', name)) ?? []), ...secretsOf(entry.auth)],
    ...buildRevision(entry),
  }
  if (entry.command === undefined) {
    const { url = '', headers = {} } = entry
    const auth = buildAuth(entry)
    return { ...common, transport: 'http', url, headers, ...present({ auth }) }
  }
  return {
    ...common,
    transport: 'stdio',
    command: entry.command,
    args: entry.args ?? [],
    env: entry.env ?? {},
    cwd: resolve(directory, entry.cwd ?? '.'),
  }
}

/** Beside a canary of 2026-07-28 everyone else is served by the newest revision with sessions, unless the file names another. */
function buildRevision({
  revision,
  canary,
}: ServerEntry): Pick<McpServerConfig, 'revision' | 'canary'> {
  if (canary === undefined) return present({ revision })
  const share = parseShare(canary.share) ?? 0
  return {
    revision: revision ?? STABLE_REVISION,
    canary: { revision: canary.revision, share },
  }
}

/** A server that wants a login gets one without a word in the file, unless its credentials are there or would be overheard. */
function buildAuth({ auth, url = '', headers }: ServerEntry): AuthConfig | undefined {
  if (auth === undefined && (hasAuthorization(headers) || !keepsTokens(url))) return undefined
  const { grant, scopes, client, identity, ...rest } = auth ?? {}
  return {
    grant: grant ?? 'authorization_code',
    scopes: scopes ?? [],
    ...present(rest),
    ...(client === undefined ? {} : { client: { ...present(client), id: client.id } }),
    ...(identity === undefined ? {} : { identity: buildIdentity(identity) }),
  }
}

type IdentityEntry = NonNullable<NonNullable<ServerEntry['auth']>['identity']>

function buildIdentity({
  issuer,
  idToken,
  client,
}: IdentityEntry): NonNullable<AuthConfig['identity']> {
  const known = client === undefined ? {} : { client: { ...present(client), id: client.id } }
  return { issuer, idToken, ...known }
}

function secretsOf(auth: ServerEntry['auth']): readonly string[] {
  const { client, assertion, identity } = auth ?? {}
  return [
    client?.secret,
    client?.privateKey,
    assertion,
    identity?.idToken,
    identity?.client?.secret,
  ].filter((text) => text !== undefined)
}

function buildTimeouts({ start, idle, call }: ServerEntry['timeouts'] = {}): ServerTimeouts {
  return present({
    startMs: start === undefined ? undefined : parseDuration(start),
    idleMs: idle === undefined ? undefined : parseDuration(idle),
    callMs: call === undefined ? undefined : parseDuration(call),
  })
}

function buildTasks({ after, ttl, poll, limit }: ConfigFile['tasks'] = {}): TaskTimes {
  const ms = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : parseDuration(text)
  return present({ afterMs: ms(after), ttlMs: ms(ttl), pollMs: ms(poll), limitMs: ms(limit) })
}

function buildPolicy(policy: ConfigFile['policy']): PolicySection {
  if (policy === undefined) return DEFAULT_POLICY
  return {
    preset: policy.preset ?? DEFAULT_POLICY.preset,
    shadow: policy.shadow ?? DEFAULT_POLICY.shadow,
    rules: (policy.rules ?? []).map(buildRule),
  }
}

function buildRule(rule: RuleEntry): PolicyRule {
  return {
    match: asList(rule.match) ?? [],
    ...present({
      except: asList(rule.except),
      kind: asList(rule.kind),
      principal: asList(rule.principal),
      groups: asList(rule.groups),
      risk: rule.risk,
      effect: rule.effect,
      when: rule.when,
      ttlMs: rule.ttl === undefined ? undefined : parseDuration(rule.ttl),
      approver: rule.approver,
    }),
  }
}

function buildTokens(tokens: ConfigFile['tokens']): readonly TokenConfig[] | undefined {
  if (tokens === undefined) return undefined
  return Object.entries(tokens).map(([principal, { token, groups }]) => ({
    principal,
    token,
    groups: groups ?? [],
  }))
}

function buildIgnored(file: ConfigFile, yaml: YamlText, from: BuildFrom): readonly Ignored[] {
  const ignored: { readonly path: ConfigPath; readonly reason: string }[] = []
  for (const [name, entry] of inOrder(file.mcpServers, yaml, ['mcpServers'])) {
    for (const key of yaml.keysOf(['mcpServers', name])) {
      const reason = foreignKeyReason(key)
      if (reason !== undefined) ignored.push({ path: ['mcpServers', name, key], reason })
    }
    if (isOff(entry)) {
      ignored.push({ path: ['mcpServers', name], reason: 'turned off in the file: not started' })
    }
  }
  for (const [name, entry] of inOrder(file.agents, yaml, ['agents'])) {
    if (isOff(entry)) {
      ignored.push({ path: ['agents', name], reason: 'turned off in the file: not reached' })
    }
  }
  for (const path of from.foreign) {
    const reason =
      'its ${...} is passed on as it stands; comity expands ${env:NAME} and ${file:path}'
    ignored.push({ path, reason })
  }
  return ignored.map(({ path, reason }) => {
    const line = yaml.lineOf(path)
    return { path: sayPath(path), reason, ...(line === undefined ? {} : { line }) }
  })
}

/** Entries as the file has them; a plain object would put keys that look like numbers first. */
function inOrder<T>(
  mapping: Readonly<Record<string, T>> | undefined,
  yaml: YamlText,
  path: ConfigPath,
): (readonly [string, T])[] {
  if (mapping === undefined) return []
  return yaml.keysOf(path).flatMap((key) => {
    const entry = mapping[key]
    return entry === undefined ? [] : [[key, entry] as const]
  })
}

function splitRoute(route: string): { readonly peer: string; readonly capability: string } {
  const slash = route.indexOf('/')
  return { peer: route.slice(0, slash), capability: route.slice(slash + 1) }
}

function asList<T>(value: T | readonly T[] | undefined): readonly T[] | undefined {
  if (value === undefined) return undefined
  return Array.isArray(value) ? value : [value as T]
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the keys that are undefined. */
function present<T extends object>(value: T): Present<T> {
  return Object.fromEntries(
    Object.entries(value).filter(([, item]) => item !== undefined),
  ) as Present<T>
}

/**
 * The probe as a command of this gateway: what an address, a command or a configured peer is, seen with what that peer has and with
 * nothing else. Owns no store and starts nothing but what it probes.
 */
import {
  probeServer,
  type ProbeDeps,
  type ProbeOptions,
  type ProbeTarget,
} from '../../mcp/probe/probe-server.ts'
import type { ProbeReport as ServerReport } from '../../mcp/probe/report.ts'
import { createCompileSchema } from '../checks/compile-schema.ts'
import { createDeadline } from '../checks/deadline.ts'
import { maskFor } from '../compose/mask-peer.ts'
import { openPeerLogins } from '../compose/peer-logins.ts'
import { packageVersion } from '../compose/version.ts'
import type { Config, McpServerConfig } from '../config/config.ts'
import { ComityError } from './errors.ts'
import { learnAuth } from './probe-auth.ts'
import { type CardFacts, type CardPlace, learnCard, looksLikeCard } from './probe-card.ts'

/** Of a server; of an agent there is its card in its place. */
export type ProbeReport = ServerReport & { readonly card?: CardFacts }

/** What is to be probed. */
export type ProbeWanted =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'command'; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: 'peer'; readonly name: string; readonly config: Config }

/** Words of the compiler for what it does not try. */
const TOO_LARGE = /^its schema is (?:nested over|too large)/

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Probes it.
 *
 * @param environment what a command's minimal environment is chosen from.
 * @throws ComityError `usage` for an address with a password in it, `not_found` for a peer that nobody configured.
 */
export async function probe(
  wanted: ProbeWanted,
  environment: Environment,
  signal: AbortSignal,
  options: ProbeOptions = {},
): Promise<ProbeReport> {
  switch (wanted.kind) {
    case 'url':
      return probeUrl(wanted.url, environment, signal, options)
    case 'command': {
      const { command, args } = wanted
      const target = { transport: 'stdio' as const, command, args, env: {} }
      const shown = { transport: 'stdio' as const, at: [command, ...args].join(' ') }
      return probeServer(target, shown, depsOf(environment), signal, options)
    }
    case 'peer':
      return probePeer(wanted, environment, signal, options)
  }
}

/** An address as it can be shown: its query may hold a secret. */
function showUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

async function probeUrl(
  url: string,
  environment: Environment,
  signal: AbortSignal,
  options: ProbeOptions,
): Promise<ProbeReport> {
  const { username, password } = new URL(url)
  if (username !== '' || password !== '')
    throw new ComityError(
      'usage',
      'the address has a user name or password in it: configure the server as a peer and probe that',
    )
  const shown = { transport: 'http' as const, at: showUrl(url) }
  if (looksLikeCard(url)) {
    return probeAgent({ url, headers: {}, allowedOrigins: [] }, shown, signal)
  }
  const target = { transport: 'http' as const, url, headers: {} }
  return probeServer(target, shown, depsOf(environment, url), signal, options)
}

async function probePeer(
  { name, config }: Extract<ProbeWanted, { kind: 'peer' }>,
  environment: Environment,
  signal: AbortSignal,
  options: ProbeOptions,
): Promise<ProbeReport> {
  const agent = config.agents.find((one) => one.name === name)
  if (agent !== undefined) {
    const { card: url, headers, allowHosts, brought } = agent
    const allowedOrigins = allowHosts.flatMap((host) => [`https://${host}`, `http://${host}`])
    const shown = { transport: 'http' as const, at: showUrl(url), peer: name }
    const report = await probeAgent({ url, headers, allowedOrigins }, shown, signal)
    return masked(report, maskFor({ url, headers, brought }))
  }
  const server = serverOf(config, name)
  if (server.transport === 'stdio') {
    const { command, args, env, cwd } = server
    const folder = cwd === undefined ? {} : { cwd }
    const target: ProbeTarget = { transport: 'stdio', command, args, env, ...folder }
    const shown = { transport: 'stdio' as const, at: [command, ...args].join(' '), peer: name }
    const report = await probeServer(target, shown, depsOf(environment), signal, options)
    return masked(report, maskFor(server))
  }
  const { url, headers, auth } = server
  const { store, tokenKey } = config
  const key = tokenKey === undefined ? {} : { tokenKey }
  const logins =
    auth === undefined ? undefined : await openPeerLogins({ store, ...key, now: Date.now })
  const login = auth === undefined ? undefined : logins?.of({ name, url, auth })
  try {
    const bears = login === undefined ? {} : { credentials: login.credentials }
    const target: ProbeTarget = { transport: 'http', url, headers, ...bears }
    const shown = { transport: 'http' as const, at: showUrl(url), peer: name }
    const report = await probeServer(target, shown, depsOf(environment, url), signal, options)
    const mask = maskFor(server)
    return masked(report, (text) => login?.mask(mask(text)) ?? mask(text))
  } finally {
    logins?.close()
  }
}

/** An agent shows itself by its card: that is all that is looked at. */
async function probeAgent(
  place: CardPlace,
  target: ProbeReport['target'],
  signal: AbortSignal,
): Promise<ProbeReport> {
  const since = performance.now()
  const card = await learnCard(place, signal)
  return {
    target,
    reached: card.usable || card.findings.length > 0,
    ...(card.detail === undefined ? {} : { unreachable: card.detail }),
    card,
    revisions: [],
    callsItself: {},
    capabilities: {},
    extensions: {},
    lists: [],
    findings: [],
    more: {},
    models: { summary: [], verdicts: [] },
    skipped: [],
    tookMs: Math.round(performance.now() - since),
  }
}

function serverOf(config: Config, name: string): McpServerConfig {
  const server = config.mcpServers.find((one) => one.name === name)
  if (server !== undefined) return server
  throw new ComityError(
    'not_found',
    `no peer is called ${name}; configured: ${config.peers.join(', ') || 'none'}`,
  )
}

function depsOf(environment: Environment, url?: string): ProbeDeps {
  const compile = createCompileSchema(createDeadline())
  return {
    clientInfo: { name: 'comity', version: packageVersion() },
    environment,
    judgeSchema(schema) {
      const compiled = compile(schema, false)
      if (!('refused' in compiled)) return undefined
      const { refused: why, late } = compiled
      const isLarge = late === true || TOO_LARGE.test(why)
      return { rule: isLarge ? 'tool.schema-large' : 'tool.schema-invalid', why }
    },
    learnAuth: (challenges, signal) => learnAuth(url ?? '', challenges, signal),
  }
}

/** Every text of the report without the peer's secrets: it repeats what the server said. */
function masked(report: ProbeReport, mask: (text: string) => string): ProbeReport {
  return maskValue(report, mask) as ProbeReport
}

function maskValue(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return mask(value)
  if (Array.isArray(value)) return value.map((one) => maskValue(one, mask))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [mask(key), maskValue(one, mask)]),
  )
}

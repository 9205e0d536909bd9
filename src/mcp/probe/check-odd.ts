/**
 * Requests that no sound client sends, none of which can act: methods, revisions and names that nobody has. How they are refused shows
 * whether a server reads what it is sent.
 */
import { isObject } from '../../core/words/is-object.ts'
import { objectOf } from '../upstream/facts.ts'
import { LEGACY_ERRORS } from '../wire/rev-2025-11-25.ts'
import { MODERN_META, MODERN_NOTIFICATIONS, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { Spoken } from './discovery.ts'
import type { Findings } from './findings.ts'
import { modernMeta, sayReply, type Asking, type ClientInfo, type RawWire } from './raw.ts'

/** Names that nobody gives to anything. */
export const NOBODY = {
  method: 'comity/probe-no-such-method',
  tool: 'comity_probe_no_such_tool',
  otherTool: 'comity_probe_no_such_tool_either',
  uri: 'comity-probe://no-such-resource',
  revision: '2099-12-31',
} as const

type Capabilities = Readonly<Record<string, unknown>>

const LISTEN_MS = 5_000

/** What holds in every revision. */
export async function checkUnknown(
  asking: Asking,
  capabilities: Capabilities,
  findings: Findings,
): Promise<void> {
  const { era, transport, revision } = asking
  const method = await asking.ask(NOBODY.method)
  if (method.kind !== 'error' || method.code !== RPC_ERRORS.methodNotFound) {
    findings.add('method.unknown', sayReply(method), revision)
  } else if (era === 'modern' && transport === 'http' && method.status !== 404) {
    findings.add('method.unknown-status', `HTTP ${method.status}`, revision)
  }
  if (isObject(capabilities['tools'])) await checkUnknownTool(asking, findings)
  if (isObject(capabilities['prompts'])) {
    const reply = await asking.ask('prompts/get', { name: NOBODY.tool })
    const refused = reply.kind === 'error' && reply.code === RPC_ERRORS.invalidParams
    if (!refused) findings.add('prompt.unknown', sayReply(reply), revision)
  }
  if (isObject(capabilities['resources'])) {
    const reply = await asking.ask('resources/read', { uri: NOBODY.uri })
    const wrongCode =
      reply.kind === 'error' && era === 'modern' && reply.code === LEGACY_ERRORS.resourceNotFound
    if (reply.kind !== 'error' || wrongCode)
      findings.add('resource.unknown', sayReply(reply), revision)
  }
}

async function checkUnknownTool(asking: Asking, findings: Findings): Promise<void> {
  const reply = await asking.ask('tools/call', { name: NOBODY.tool, arguments: {} })
  const { revision } = asking
  if (reply.kind === 'error') {
    if (reply.code !== RPC_ERRORS.invalidParams) {
      findings.add('tool.unknown-form', sayReply(reply), revision)
    }
    return
  }
  const isError = reply.kind === 'result' && reply.result['isError'] === true
  if (isError) findings.add('tool.unknown-form', 'a result with isError', revision)
  else findings.add('tool.unknown', sayReply(reply), revision)
}

/** What 2026-07-28 asks of every request. @param spoken of that revision, with a wire. */
export async function checkModern(
  { wire, opened, stranger }: Spoken & { readonly wire: RawWire },
  asking: Asking,
  clientInfo: ClientInfo,
  findings: Findings,
): Promise<void> {
  const ping = await asking.ask('ping')
  if (ping.kind !== 'error' || ping.code !== RPC_ERRORS.methodNotFound) {
    findings.add('method.removed', sayReply(ping))
  }
  const nameless = { _meta: modernMeta(undefined) }
  const anonymous = await wire.ask({ method: 'server/discover', params: nameless })
  const served = Object.keys(opened).length > 0
  if (served && anonymous.kind !== 'result') {
    findings.add('meta.client-info-demanded', sayReply(anonymous))
  }
  await checkListen(asking, opened, findings)
  await checkVersion(wire, stranger, clientInfo, findings)
}

/** A revision that nobody speaks: as the first thing that is said, and after something sound. */
async function checkVersion(
  wire: RawWire,
  stranger: Spoken['stranger'],
  clientInfo: ClientInfo,
  findings: Findings,
): Promise<void> {
  const params = { _meta: modernMeta(clientInfo, NOBODY.revision) }
  const odd = { method: 'server/discover', params }
  if (stranger !== undefined) {
    const later = await wire.ask(odd)
    if (later.kind === 'result') findings.add('version.carried', sayReply(later))
  }
  const reply = await (stranger?.(odd) ?? wire.ask(odd))
  if (reply.kind !== 'error' || reply.code !== RPC_ERRORS.unsupportedProtocolVersion) {
    findings.add('version.unknown', sayReply(reply))
  } else {
    if (wire.transport === 'http' && reply.status !== 400) {
      findings.add('version.unknown-status', `HTTP ${reply.status}`)
    }
    if (!Array.isArray(objectOf(reply.data)['supported'])) {
      findings.add('version.unknown', 'error -32022 without data.supported')
    }
  }
}

/** A subscription is opened, and closed with its first message. */
async function checkListen(
  asking: Asking,
  { capabilities: said }: Readonly<Record<string, unknown>>,
  findings: Findings,
): Promise<void> {
  const capabilities = objectOf(said)
  const flag = (list: string, name: string): boolean => objectOf(capabilities[list])[name] === true
  const notifications = {
    ...(flag('tools', 'listChanged') ? { toolsListChanged: true } : {}),
    ...(flag('prompts', 'listChanged') ? { promptsListChanged: true } : {}),
    ...(flag('resources', 'listChanged') ? { resourcesListChanged: true } : {}),
    ...(flag('resources', 'subscribe') ? { resourceSubscriptions: [] } : {}),
  }
  if (Object.keys(notifications).length === 0) return
  const until = MODERN_NOTIFICATIONS.acknowledged
  const more = { until, ms: LISTEN_MS }
  const reply = await asking.ask('subscriptions/listen', { notifications }, more)
  if (reply.kind === 'error') return findings.add('listen.refused', sayReply(reply))
  const first = reply.told[0]
  const id = objectOf(first?.params['_meta'])[MODERN_META.subscriptionId]
  if (reply.kind !== 'told') findings.add('listen.acknowledged', sayReply(reply))
  else if (first?.method !== until) findings.add('listen.acknowledged', `first ${first?.method}`)
  else if (id === undefined) findings.add('listen.acknowledged', 'no subscriptionId in its _meta')
}

/**
 * What belongs to HTTP alone: headers that contradict the body, methods other than POST, foreign pages, sessions.
 *
 * DELETE goes only to what was seen to speak 2026-07-28 and to keep no sessions, or ends a session of the probe's own.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP.
 */
import { isObject } from '../../core/words/is-object.ts'
import { objectOf } from '../upstream/facts.ts'
import { MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { NOBODY } from './check-odd.ts'
import type { Spoken } from './discovery.ts'
import type { Findings } from './findings.ts'
import { modernMeta, sayReply, type ClientInfo, type RawRequest } from './raw.ts'
import type { RuleId } from './rules.ts'
import type { RawHttp } from './wire-http.ts'

/** A page that is nobody's. */
const FOREIGN_ORIGIN = 'https://comity-probe.invalid'
const NO_SESSION = 'comity-probe-no-such-session'

/** Headers that do not fit the body, each of which must be refused. */
export async function checkHeaders(
  wire: RawHttp,
  modern: Spoken,
  clientInfo: ClientInfo,
  findings: Findings,
): Promise<void> {
  const _meta = modernMeta(clientInfo)
  const discover = { method: 'server/discover', params: { _meta } }
  const refuses = async (rule: RuleId, request: RawRequest): Promise<void> => {
    const reply = await wire.ask(request)
    const refused = reply.kind === 'error' && reply.code === RPC_ERRORS.headerMismatch
    if (!refused) findings.add(rule, sayReply(reply))
    else if (reply.status !== 400) findings.add(rule, `HTTP ${reply.status} with error -32020`)
  }
  await refuses('header.method-mismatch', { ...discover, headers: { 'mcp-method': 'tools/list' } })
  const other = { 'mcp-protocol-version': '2025-11-25' }
  await refuses('header.version-mismatch', { ...discover, headers: other })
  await refuses('header.missing', { ...discover, headers: { 'mcp-method': undefined } })
  const named = nobodyOf(objectOf(modern.opened['capabilities']))
  if (named === undefined) {
    findings.skip('Mcp-Name was not tried: it offers no tools, prompts or resources')
  } else {
    const params = { ...named.params, _meta }
    const headers = { 'mcp-name': NOBODY.otherTool }
    await refuses('header.name-mismatch', { method: named.method, params, headers })
  }
  const bare = { 'mcp-protocol-version': MODERN_REVISION, 'mcp-method': 'server/discover' }
  const unlabelled = await wire.ask({ method: 'server/discover', headers: bare })
  if (unlabelled.kind === 'result') findings.add('meta.missing', sayReply(unlabelled))
}

/** A request by a name that nobody has. */
function nobodyOf(capabilities: Readonly<Record<string, unknown>>) {
  if (isObject(capabilities['tools'])) {
    return { method: 'tools/call', params: { name: NOBODY.tool, arguments: {} } }
  }
  if (isObject(capabilities['prompts'])) {
    return { method: 'prompts/get', params: { name: NOBODY.tool } }
  }
  if (!isObject(capabilities['resources'])) return undefined
  return { method: 'resources/read', params: { uri: NOBODY.uri } }
}

/** Of an endpoint without sessions: it takes POST alone. */
export async function checkMethods(wire: RawHttp, findings: Findings): Promise<void> {
  for (const method of ['GET', 'DELETE'] as const) {
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN_REVISION,
    }
    const status = await wire.visit(method, headers)
    if (status !== 405) findings.add('http.get-delete', say(status), method)
  }
}

/** Of a server on this machine: a page of somebody else's may not use it. */
export async function checkOrigin(
  wire: RawHttp,
  spoken: Spoken,
  clientInfo: ClientInfo,
  findings: Findings,
): Promise<void> {
  const { hostname } = new URL(wire.url())
  if (!/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) {
    findings.skip('Origin was not tried: the server is not on this machine')
    return
  }
  const headers = { origin: FOREIGN_ORIGIN }
  const { era } = spoken.asking
  const reply =
    era === 'modern'
      ? await wire.ask({
          method: 'server/discover',
          params: { _meta: modernMeta(clientInfo) },
          headers,
        })
      : await spoken.asking.ask('ping', {}, { headers })
  if (reply.status !== undefined && reply.status < 400) {
    findings.add('http.origin', `HTTP ${reply.status} to Origin ${FOREIGN_ORIGIN}`)
  }
}

/** Of the session revisions: whose session it is, and in which revision. */
export async function checkSession({ asking, session }: Spoken, findings: Findings): Promise<void> {
  if (asking.transport !== 'http') return
  const status = async (headers: RawRequest['headers']): Promise<number | undefined> =>
    (await asking.ask('ping', {}, headers === undefined ? {} : { headers })).status
  if (session !== undefined) {
    const unknown = await status({ 'mcp-session-id': NO_SESSION })
    if (unknown !== undefined && unknown !== 404) findings.add('session.unknown', say(unknown))
    const missing = await status({ 'mcp-session-id': undefined })
    if (missing !== undefined && missing !== 400) findings.add('session.missing', say(missing))
  }
  if (asking.revision === '2025-03-26') return
  const odd = await status({ 'mcp-protocol-version': NOBODY.revision })
  if (odd !== undefined && odd !== 400) findings.add('session.version-header', say(odd))
}

function say(status: number | undefined): string {
  return status === undefined ? 'no answer' : `HTTP ${status}`
}

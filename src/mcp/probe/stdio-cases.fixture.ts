/** For each rule that shows on standard streams a server that breaks it. Its handlers are written in the words of `inlineServer`. */
import type { RuleId } from './rules.ts'

/** A sound session server, to be changed: `over` are handlers, what stands `before` runs first. */
export function soundLines(over = '', before = ''): string {
  return `${before}
const closed = { type: 'object', properties: {} }
process.stdin.on('end', () => { if (!globalThis.stays) process.exit(0) })
serve({
  initialize: (m) => answer(m, {
    protocolVersion: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'].includes(m.params.protocolVersion) ? m.params.protocolVersion : '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'lines', version: '1' },
  }),
  'tools/list': (m) => m.params?.cursor === undefined
    ? answer(m, { tools: [{ name: 'pay', description: 'Pays.', inputSchema: closed }] })
    : refuse(m, -32602),
  'tools/call': (m) => refuse(m, -32602),
  ${over}
})`
}

const INITIALIZED = (method: string): string =>
  `'notifications/initialized': () => send({ id: 'q', method: '${method}', params: {} }),`

/** Source by rule. */
export const STDIO: Partial<Record<RuleId, string>> = {
  'stdio.noise': soundLines('', "raw('listening on nothing\\n')"),
  'stdio.stays': soundLines('', 'globalThis.stays = true; setInterval(() => {}, 1000)'),
  'stdio.flood': soundLines(
    `'prompts/list': () => { const line = 'x'.repeat(65536) + '\\n'; for (let i = 0; i < 64; i += 1) raw(line) },`,
  ),
  'server.ended': soundLines("'comity/probe-no-such-method': () => process.exit(3),"),
  'ask.undeclared': soundLines(INITIALIZED('elicitation/create')),
  'deprecated.roots': soundLines(INITIALIZED('roots/list')),
  'deprecated.sampling': soundLines(INITIALIZED('sampling/createMessage')),
}

/** Rules that are broken along with it. */
export const ALSO: Partial<Record<RuleId, readonly RuleId[]>> = {
  'stdio.flood': ['server.ended', 'stdio.noise'],
  'deprecated.sampling': ['ask.undeclared'],
}

/** A sound server of 2026-07-28 alone. @param looks how it finds the revision of a request `m`; `first` is that of the first. */
export function modernLines(looks = 'version(m)'): string {
  return `
const version = (m) => m.params?._meta?.['io.modelcontextprotocol/protocolVersion']
const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'lines', version: '1' } }
const done = (m, result) => answer(m, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta, ...result })
let first
createInterface({ input: process.stdin }).on('line', (line) => {
  const m = JSON.parse(line)
  if (m.id === undefined) return
  first ??= version(m)
  if ((${looks}) !== '2026-07-28') return refuse(m, -32022, 'no', { supported: ['2026-07-28'] })
  if (m.method === 'server/discover') return done(m, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
  if (m.method === 'tools/list' && m.params.cursor === undefined) return done(m, { tools: [] })
  refuse(m, m.method.startsWith('tools/') ? -32602 : -32601)
})`
}

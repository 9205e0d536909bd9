/**
 * Pages of MCP Apps: the `ui://` resource that a tool names must be the one that is read under that address here.
 *
 * A page that its peer lists has its place in the table, one that is only named gets one; where another peer has the plain
 * address, the tool names the scoped one. Both change together, or the page of one peer would be shown for another's tool.
 *
 * @source MCP Apps (SEP-1865), `_meta.ui.resourceUri`; earlier `_meta["ui/resourceUri"]`
 */
import type { Peer } from '../../core/ports/peer.ts'
import { scopedUri } from '../../core/words/exposed-name.ts'
import type { JsonText } from '../../core/words/native.ts'
import { mayHold } from '../../mcp/wire/may-hold.ts'
import { jsonText } from '../../mcp/wire/native.ts'
import { encodeJson, findMember, scanObject, setMembers, sliceOf } from '../../mcp/wire/spans.ts'
import type { Offer, Row } from './route-table.ts'

/** Whose page it is, and its own address there, by the address that callers know. */
export type AppPages = ReadonlyMap<string, { readonly peer: Peer; readonly uri: string }>

const FLAT_KEY = 'ui/resourceUri'
const MARK = Buffer.from('resourceUri')

/** Rewrites what tools name, in place. @returns the pages that nobody lists. */
export function exposeAppPages(
  offers: readonly Offer[],
  table: { readonly tool: Map<string, Row>; readonly resource: ReadonlyMap<string, Row> },
): AppPages {
  const pages = new Map<string, { readonly peer: Peer; readonly uri: string }>()
  const listed = new Map<string, string>()
  for (const [exposed, { route }] of table.resource)
    listed.set(`${route.peer} ${route.capability}`, exposed)
  for (const [name, row] of table.tool) {
    const uri = pageOf(row.definition)
    const peer = offers.find((offer) => offer.peer.name === row.route.peer)?.peer
    if (uri === undefined || peer === undefined) continue
    const exposed = listed.get(`${peer.name} ${uri}`) ?? place(pages, table.resource, peer, uri)
    if (exposed === uri) continue
    table.tool.set(name, { ...row, definition: withPage(row.definition, exposed) })
  }
  return pages
}

function place(
  pages: Map<string, { readonly peer: Peer; readonly uri: string }>,
  resources: ReadonlyMap<string, Row>,
  peer: Peer,
  uri: string,
): string {
  const held = pages.get(uri)?.peer ?? peer
  const isFree = !resources.has(uri) && held === peer && !/^comity:/iu.test(uri)
  const exposed = isFree ? uri : scopedUri(peer.name, uri)
  pages.set(exposed, { peer, uri })
  return exposed
}

/** The page that a tool names, if any. */
function pageOf(definition: JsonText): string | undefined {
  const { bytes } = definition
  // Most tools name none, and are not parsed to learn that.
  if (!mayHold(bytes, MARK)) return undefined
  const meta = memberOf(definition.value(), '_meta')
  const uri = memberOf(memberOf(meta, 'ui'), 'resourceUri') ?? memberOf(meta, FLAT_KEY)
  return typeof uri === 'string' && uri !== '' ? uri : undefined
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined
}

function withPage({ bytes }: JsonText, exposed: string): JsonText {
  const meta = findMember(scanObject(bytes), '_meta')
  if (meta?.type !== 'object') return jsonText(bytes)
  const own = sliceOf(bytes, meta.value)
  const members = scanObject(own)
  const ui = findMember(members, 'ui')
  const uri = encodeJson(exposed)
  const changed = setMembers(own, undefined, {
    ...(ui?.type === 'object'
      ? { ui: setMembers(sliceOf(own, ui.value), undefined, { resourceUri: uri }) }
      : {}),
    ...(findMember(members, FLAT_KEY) === undefined ? {} : { [FLAT_KEY]: uri }),
  })
  return jsonText(setMembers(bytes, undefined, { _meta: changed }))
}

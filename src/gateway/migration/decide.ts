/** `promote` and `rollback`: a person's decision about a peer between two revisions, on record before it takes effect. */
import type { Migrating, RevisionDecision, RevisionMove } from '../../core/ports/migration.ts'
import { ComityError } from '../../core/words/errors.ts'
import { OPERATOR } from '../../core/words/principal.ts'
import type { HostParts } from '../admin/parts.ts'
import type { McpServerConfig } from '../config/config.ts'
import { WHOLE } from '../config/share.ts'
import type { MigrationChange } from './words.ts'

/** @throws ComityError `not_found`, `usage` where nothing can be decided, `store_unwritable`. */
export async function decideRevision(
  parts: HostParts,
  peer: string,
  decided: RevisionDecision['decided'],
): Promise<MigrationChange> {
  const server = serverOf(parts, peer)
  const migrating = parts.peers.find(({ name }) => name === peer)?.migration
  const move = migrating?.move ?? (await moveOf(parts, server))
  const before = parts.store.revisions.find(move)
  const already = before?.decided === decided
  const made =
    already && before !== undefined
      ? before
      : await parts.store.revisions.decide({ ...move, decided, by: OPERATOR.id })
  if (!already) migrating?.apply(made)
  return {
    peer,
    decided,
    already,
    at: made.at,
    by: made.by,
    from: move.from,
    to: move.to,
    share: { before: shareOf(before, move, migrating), after: decided === 'promoted' ? WHOLE : 0 },
    permanent: {
      file: parts.config.file,
      revision: decided === 'promoted' ? move.to : move.from,
    },
  }
}

/** @throws ComityError `not_found` for names that are no MCP server's. */
export function serverOf({ config }: Pick<HostParts, 'config'>, peer: string): McpServerConfig {
  const server = config.mcpServers.find(({ name }) => name === peer)
  if (server !== undefined) return server
  const names = config.mcpServers.map(({ name }) => name).join(', ') || 'none'
  throw new ComityError(
    'not_found',
    config.agents.some(({ name }) => name === peer)
      ? `${peer} is an agent: revisions are of MCP servers (${names})`
      : `no MCP server is called ${peer}; configured: ${names}`,
  )
}

/** Without a connection: what it would be for the server as it is configured. */
async function moveOf(parts: HostParts, server: McpServerConfig): Promise<RevisionMove> {
  const { name, revision, canary } = server
  if (canary === undefined || revision === undefined)
    throw new ComityError(
      'usage',
      `${name} is not between two revisions: its configuration has no canary:, such as canary: { revision: "2026-07-28", share: 5% }. Setting revision: alone moves all of its callers at once`,
    )
  const looked = parts.lockedAt(name, revision)
  if (looked === undefined) throw new ComityError('internal', `${name} cannot be made`)
  const { endpoint } = looked.peer
  await looked.peer.close()
  return { peer: name, endpoint, from: revision, to: canary.revision, share: canary.share }
}

/** As callers were divided until now. */
function shareOf(
  before: RevisionDecision | undefined,
  { share }: RevisionMove,
  migrating: Migrating | undefined,
): number {
  if (before !== undefined) return before.decided === 'promoted' ? WHOLE : 0
  return migrating?.report().suspended === undefined ? share : 0
}

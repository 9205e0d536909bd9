/** `server/discover` and what `initialize` says alike: who we are, what is served. @source MCP 2026-07-28, basic, discovery */
import type { Principal } from '../../core/words/principal.ts'
import { LEGACY_REVISIONS } from '../wire/rev-2025-11-25.ts'
import { MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Answer } from './answer.ts'
import type { Door } from './options.ts'

/** Every revision served here, newest first; the legacy ones through `initialize`. */
export const SERVED_REVISIONS: readonly string[] = [MODERN_REVISION, ...LEGACY_REVISIONS]

/** How long a discovery may be kept, milliseconds: what it says changes with the configuration only. */
const DISCOVER_TTL_MS = 60_000

/** ServerCapabilities: an offer without its notifications, which come with subscriptions. */
export function capabilitiesOf(door: Door): Readonly<Record<string, object>> {
  return Object.fromEntries([...door.offers].map((offer) => [offer, {}]))
}

export async function discover(door: Door, principal: Principal): Promise<Answer> {
  const instructions = await door.ports.catalogue.instructions(principal)
  const result = {
    supportedVersions: SERVED_REVISIONS,
    capabilities: capabilitiesOf(door),
    ...(instructions === undefined ? {} : { instructions }),
  }
  return { kind: 'result', bytes: encodeJson(result), ttlMs: DISCOVER_TTL_MS }
}

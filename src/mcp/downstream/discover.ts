/** `server/discover` and what `initialize` says alike: who we are, what is served. @source MCP 2026-07-28, basic, discovery */
import type { Principal } from '../../core/words/principal.ts'
import { LEGACY_REVISIONS } from '../wire/rev-2025-11-25.ts'
import { MODERN_REVISION, TASKS_EXTENSION } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Answer } from './answer.ts'
import { relayedExtensions } from './extensions.ts'
import type { Door } from './options.ts'

const TASKS = { [TASKS_EXTENSION]: {} }

/** Every revision served here, newest first; the legacy ones through `initialize`. */
export const SERVED_REVISIONS: readonly string[] = [MODERN_REVISION, ...LEGACY_REVISIONS]

/** How long a discovery may be kept, milliseconds: what it says changes with the configuration and with peers. */
const DISCOVER_TTL_MS = 60_000

/** ServerCapabilities, by what the peers that this caller may know of have. */
export async function serverCapabilities(
  { ports, offers }: Door,
  principal: Principal,
): Promise<Readonly<Record<string, object>>> {
  const { catalogue } = ports
  const features = await catalogue.features?.(principal)
  const listed = { listChanged: true }
  const subscribe = catalogue.watch !== undefined && features?.subscribe === true
  const completes =
    offers.has('completions') && catalogue.query !== undefined && features?.completions === true
  const relayed = relayedExtensions(features?.extensions)
  const extensions = ports.delegation === undefined ? relayed : { ...relayed, ...TASKS }
  return {
    ...(offers.has('tools') ? { tools: listed } : {}),
    ...(offers.has('resources')
      ? { resources: { ...listed, ...(subscribe ? { subscribe: true } : {}) } }
      : {}),
    ...(offers.has('prompts') ? { prompts: listed } : {}),
    ...(offers.has('logging') ? { logging: {} } : {}),
    ...(completes ? { completions: {} } : {}),
    ...(extensions === undefined ? {} : { extensions }),
  }
}

export async function discover(door: Door, principal: Principal): Promise<Answer> {
  const { catalogue } = door.ports
  const [instructions, capabilities, listing] = await Promise.all([
    catalogue.instructions(principal),
    serverCapabilities(door, principal),
    // What it says of peers stands no longer than their lists do.
    catalogue.list('prompt', principal),
  ])
  const result = {
    supportedVersions: SERVED_REVISIONS,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
  }
  const ttlMs = Math.min(DISCOVER_TTL_MS, Math.max(0, Math.trunc(listing.ttlMs)))
  return { kind: 'result', bytes: encodeJson(result), ttlMs }
}

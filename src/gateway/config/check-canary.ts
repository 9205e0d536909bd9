/** What `canary:` of a server means beside its `revision:`. */
import { type ConfigPath, type Mistake, sayValue } from './mistakes.ts'
import { asMapping, asText } from './plain.ts'
import { parseShare } from './share.ts'

/** What callers outside of a canary of 2026-07-28 are served by, where the file names nothing. */
export const STABLE_REVISION = '2025-11-25'
const NEWEST_REVISION = '2026-07-28'

/** @param path of the server. */
export function checkCanary(
  path: ConfigPath,
  server: Readonly<Record<string, unknown>>,
): Mistake[] {
  if (server['canary'] === undefined) return []
  const canary = asMapping(server['canary'])
  return [
    ...checkRevisions([...path, 'canary'], server, asText(canary['revision'])),
    ...checkShare([...path, 'canary', 'share'], canary['share']),
  ]
}

function checkRevisions(
  path: ConfigPath,
  server: Readonly<Record<string, unknown>>,
  revision: string | undefined,
): Mistake[] {
  const stable = asText(server['revision'])
  if (revision === undefined) return []
  if (stable === revision) {
    const message = `expected another revision than the server's own, ${revision}: a canary is what some callers get instead of it`
    return [{ path: [...path, 'revision'], message }]
  }
  if (server['revision'] !== undefined || revision === NEWEST_REVISION) return []
  const message = `expected revision: beside canary:, which says what everyone else is served by, such as revision: "${STABLE_REVISION}"`
  return [{ path, message }]
}

function checkShare(path: ConfigPath, value: unknown): Mistake[] {
  if (value === undefined) return []
  const text = asText(value)
  if (text !== undefined && parseShare(text) !== undefined) return []
  // Wrong types are told by the form.
  if (text === undefined || text === '') return []
  const message = `expected a share of callers from 0% to 100%, such as 5% or 0.5%; got ${sayValue(text, path)}`
  return [{ path, message }]
}

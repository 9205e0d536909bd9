/**
 * Acceptance: is what the agent handed back what was asked for?
 *
 * Pure: reads artifact records, never bytes and never the network. Citations and the host's own judges are the Judge port's;
 * what happens after a refusal is a person's decision. Completed and accepted are two judgments.
 */
import type { ArtifactRecord } from './artifact.ts'

/** What the caller asked for. A field left out is a check not made. */
export interface AcceptanceRule {
  /** Exact types or `type/*`, lower case, no parameters. An empty list allows none. */
  readonly mediaTypes?: readonly string[]
  /** Upper bound per artifact, in decoded bytes. */
  readonly maxBytes?: number
  /** Artifact names that must be present, in any order. */
  readonly required?: readonly string[]
  /** Every citation found in the artifacts must resolve through this capability, `peer/tool`, to the same bytes. */
  readonly citations?: { readonly resolveWith: string }
}

export type Verdict =
  | { readonly state: 'accepted'; readonly judgedAt: string; readonly checks: readonly string[] }
  | { readonly state: 'refused'; readonly judgedAt: string; readonly reasons: readonly string[] }
  | { readonly state: 'pending' }
  | { readonly state: 'not_judged' }

export type Refusal =
  | { readonly reason: 'missing'; readonly name: string }
  | { readonly reason: 'empty'; readonly name: string }
  | { readonly reason: 'headless'; readonly name: string }
  | { readonly reason: 'media_type'; readonly name: string; readonly got: string }
  | {
      readonly reason: 'too_large'
      readonly name: string
      readonly bytes: number
      readonly limit: number
    }

/**
 * Judges one finished delivery by its records.
 *
 * @returns all refusals, empty when nothing is wrong: told once, not once per round trip.
 * @source A2A 1.0, 4.1.7 Artifact and 4.2.2 TaskArtifactUpdateEvent
 */
export function judgeRecords(
  delivery: readonly ArtifactRecord[],
  rule: AcceptanceRule,
): readonly Refusal[] {
  const names = new Set(delivery.map((artifact) => artifact.name ?? artifact.artifactId))
  const missing = (rule.required ?? []).filter((name) => !names.has(name))
  return [
    ...missing.map((name): Refusal => ({ reason: 'missing', name })),
    ...delivery.flatMap((artifact) => judgeRecord(artifact, rule)),
  ]
}

/** A refusal in a sentence. */
export function sayRefusal(refusal: Refusal): string {
  switch (refusal.reason) {
    case 'missing':
      return `${refusal.name}: required, not delivered`
    case 'empty':
      return `${refusal.name}: delivered empty`
    case 'headless':
      return `${refusal.name}: its first chunk never came, the beginning may be missing`
    case 'media_type':
      return `${refusal.name}: media type ${refusal.got} is not among those asked for`
    case 'too_large':
      return `${refusal.name}: ${refusal.bytes} bytes, at most ${refusal.limit} were asked for`
  }
}

function judgeRecord(artifact: ArtifactRecord, rule: AcceptanceRule): Refusal[] {
  const name = artifact.name ?? artifact.artifactId
  const refusals: Refusal[] = []
  if (artifact.bytes === 0) refusals.push({ reason: 'empty', name })
  if (artifact.headless) refusals.push({ reason: 'headless', name })
  const got = artifact.mediaType ?? 'none'
  if (
    rule.mediaTypes !== undefined &&
    !rule.mediaTypes.some((allowed) => matchesMediaType(allowed, got))
  ) {
    refusals.push({ reason: 'media_type', name, got })
  }
  if (rule.maxBytes !== undefined && artifact.bytes > rule.maxBytes) {
    refusals.push({ reason: 'too_large', name, bytes: artifact.bytes, limit: rule.maxBytes })
  }
  return refusals
}

function matchesMediaType(allowed: string, stated: string): boolean {
  const actual = (stated.split(';')[0] ?? '').trim().toLowerCase()
  // Keep the slash: `text/*` must not admit `texture/png`.
  return allowed.endsWith('/*') ? actual.startsWith(allowed.slice(0, -1)) : allowed === actual
}

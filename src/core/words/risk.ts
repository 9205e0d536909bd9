/** How much a call can change. Decides the preset's effect, durability of `open`, and whether twins exist. */
import type { CapabilityHints, CapabilityKind } from './capability.ts'

export type Risk = 'read' | 'write' | 'destructive'

const ORDER: Readonly<Record<Risk, number>> = { read: 0, write: 1, destructive: 2 }

/**
 * Risk of a capability from what its peer says.
 *
 * Reading a resource or fetching a prompt is read. A tool is read when it says `readOnlyHint: true`, destructive when it
 * says `destructiveHint: true` outright (the specification's default of true would make every unmarked tool ask), else write.
 *
 * @param trusted false when the operator set `trust: none`: hints may then only tighten, so `readOnlyHint` is not believed.
 * @source MCP 2026-07-28, server/tools, annotations
 */
export function riskOf(kind: CapabilityKind, hints: CapabilityHints, trusted: boolean): Risk {
  if (kind === 'resource' || kind === 'template' || kind === 'prompt') return 'read'
  if (hints.destructive === true) return 'destructive'
  if (hints.readOnly === true && trusted) return 'read'
  return 'write'
}

/** The graver of two. */
export function graver(left: Risk, right: Risk): Risk {
  return ORDER[left] >= ORDER[right] ? left : right
}

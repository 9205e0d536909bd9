/** Uses of deprecated features at several connections, as of one peer. */
import type { DeprecatedUse } from '../../core/ports/migration.ts'

/** One line a feature: counts added, the newest sight kept. */
export function addUses(uses: readonly DeprecatedUse[]): readonly DeprecatedUse[] {
  const sums = new Map<string, DeprecatedUse>()
  for (const use of uses) {
    const before = sums.get(use.feature)
    const newest = before === undefined || before.lastAt < use.lastAt ? use : before
    sums.set(use.feature, { ...newest, count: use.count + (before?.count ?? 0) })
  }
  return [...sums.values()]
}

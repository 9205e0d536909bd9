/** Every revision and transport, each way: no cell fails, and the guide says what the run says. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Cell } from './cells.ts'
import { runDoors } from './doors.ts'
import { sayGuide } from './guide.ts'
import { runPairs } from './pairs.ts'
import { runPeers } from './peers.ts'
import { CALLERS, PEERS } from './revisions.ts'

const GUIDE = join(import.meta.dirname, '../../docs/guides/compatibility.md')
const LONG = 300_000

function faultsOf(cells: readonly Cell[]): readonly string[] {
  return cells
    .filter(({ finding }) => finding.startsWith('FAILS'))
    .map(({ row, column, finding }) => `${row}, ${column}: ${finding}`)
}

test(
  'every feature at every door and peer, and every pair of them; the guide says the same',
  async () => {
    const doors = await runDoors()
    const peers = await runPeers()
    const pairs = await runPairs()
    const { call, elicitation, cancel, task, deny } = pairs
    const all = [...doors, ...peers, ...call, ...elicitation, ...cancel, ...task, ...deny]
    expect(faultsOf(all)).toEqual([])
    expect(all).toHaveLength(
      17 * (CALLERS.length + PEERS.length) + 5 * CALLERS.length * PEERS.length,
    )
    expect(readFileSync(GUIDE, 'utf8')).toContain(sayGuide({ doors, peers, pairs }))
  },
  LONG,
)

/** `npm run compatibility`: runs every pair and writes `docs/guides/compatibility.md`; says what fails, and then writes nothing. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runDoors } from '../test/compatibility/doors.ts'
import { makePage } from '../test/compatibility/guide.ts'
import { runPairs } from '../test/compatibility/pairs.ts'
import { runPeers } from '../test/compatibility/peers.ts'

const doors = await runDoors()
const peers = await runPeers()
const pairs = await runPairs()
const all = [...doors, ...peers, ...Object.values(pairs).flat()]
const failed = all.filter(({ finding }) => finding.startsWith('FAILS'))
for (const { row, column, finding } of failed) console.log(`${row}, ${column}: ${finding}`)
if (failed.length === 0) {
  const page = join(import.meta.dirname, '../docs/guides/compatibility.md')
  writeFileSync(page, makePage({ doors, peers, pairs }, new Date().toISOString().slice(0, 10)))
  console.log(`docs/guides/compatibility.md written`)
}
console.log(`${all.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 ? 0 : 1

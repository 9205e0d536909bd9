/** A process for tests: a house that asks and tells behind the stdio door. Its lists change when `change` is called. */
import { serveStdio } from '../stdio.ts'
import { asks } from './questions.ts'
import { completed, type Scripted } from './scripted-house.ts'
import { LOCAL, TEST_KEY } from './test-door.ts'
import { createToldHouse, type ToldHouse } from './told-house.ts'

const acts: readonly (readonly [string, (house: ToldHouse) => void])[] = [
  ['change', (told) => told.change('tool')],
  ['update', (told) => told.update('note://one')],
]

const tools = acts.map(([exposed, act]): Scripted => ({
  kind: 'tool',
  exposed,
  run: () => {
    act(house)
    return completed({ content: [] })
  },
}))

const house = createToldHouse([
  ...tools,
  asks('form'),
  asks('sampling'),
  asks('roots'),
  { kind: 'resource', exposed: 'note://one' },
])

const { done } = serveStdio(house, {
  input: process.stdin,
  output: process.stdout,
  principal: LOCAL,
  serverInfo: { name: 'scripted', version: '1.0.0' },
  sealingKey: TEST_KEY,
  clock: { now: Date.now },
  limits: { drainMs: 500, coalesceMs: 5, maxBatch: 4 },
})
await done
process.exit(0)

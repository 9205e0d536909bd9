/**
 * The statistics server as a process: `node main.ts --data <file> --state <file> [--port 0] [--step 15000]`.
 *
 * Prints its address as its first line. A step is a month of data; forty of 15 seconds are ten minutes.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { Analysis } from './analysis.ts'
import { TaskStore } from './store.ts'
import { createWire } from './wire.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    state: { type: 'string' },
    port: { type: 'string', default: '0' },
    step: { type: 'string', default: '15000' },
  },
})
if (values.data === undefined || values.state === undefined)
  throw new Error('expected --data <file> and --state <file>')
const stepMs = Number(values.step)
const store = new TaskStore(values.state)
const server = createWire(new Analysis(values.data, store, stepMs), store, Math.max(100, stepMs))
server.listen(Number(values.port), '127.0.0.1')
await once(server, 'listening')
console.log(`statistics ready on http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)

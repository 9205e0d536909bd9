/** A process for tests: a scripted house behind the stdio door of its own standard streams. */
import { LEGACY_REVISION } from '../../wire/rev-2025-11-25.ts'
import { serveStdio } from '../stdio.ts'
import { completed, createScriptedHouse } from './scripted-house.ts'
import { mcpNative } from '../visit.ts'

const PROGRESS = mcpNative(
  new TextEncoder().encode('{"progressToken":1,"progress":1}'),
  LEGACY_REVISION,
)

const house = createScriptedHouse([
  {
    kind: 'tool',
    exposed: 'desk_echo',
    definition: { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
    run: (call) => {
      const { text } = call.arguments.value() as { text: string }
      // Pretty-printed on purpose: raw line ends must not reach a line-framed output.
      return completed(JSON.stringify({ content: [{ type: 'text', text }] }, null, 2))
    },
  },
  {
    kind: 'tool',
    exposed: 'desk_late',
    // A peer that goes on talking after it has answered.
    run: (_call, exchange) => {
      setTimeout(() => {
        void exchange.emit({ kind: 'progress', native: PROGRESS })
        process.stderr.write('said too late\n')
      }, 10)
      return completed({ content: [] })
    },
  },
  {
    kind: 'tool',
    exposed: 'desk_sleep',
    run: async (call, exchange) => {
      const { ms } = call.arguments.value() as { ms: number }
      const stopped = new Promise<boolean>((resolve) => {
        setTimeout(resolve, ms, false)
        exchange.signal.addEventListener('abort', () => resolve(true), { once: true })
      })
      await exchange.emit({ kind: 'progress', native: PROGRESS })
      const text = (await stopped) ? `stopped: ${exchange.stopReason()}` : 'slept'
      process.stderr.write(`${text}\n`)
      return completed({ content: [{ type: 'text', text }] })
    },
  },
])

const { done } = serveStdio(house, {
  input: process.stdin,
  output: process.stdout,
  principal: { id: 'local', groups: [], via: 'local' },
  serverInfo: { name: 'scripted', version: '1.0.0' },
  sealingKey: new Uint8Array(32).fill(7),
  clock: { now: Date.now },
  limits: { maxMessageBytes: 64 * 1024, drainMs: 500 },
})
await done
process.exit(0)

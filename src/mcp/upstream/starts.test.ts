import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/mcp/upstream-peer.ts'
import { createStarts, type Starts } from './starts.ts'
import { startServer, type ServerProcess } from './supervise.ts'

/** Starts real processes through the places, and notes which of them run. */
function starting(starts: Starts) {
  const begun: ServerProcess[] = []
  const begin = (source: string, command = process.execPath): Promise<ServerProcess> =>
    starts.begin(
      async () => {
        const server = await startServer({ command, args: ['-e', source], env: {} }, process.env)
        begun.push(server)
        onTestFinished(() => server.stop())
        return server
      },
      (server) => {
        server.output.on('data', () => {})
        return server
      },
    )
  return { begun, begin }
}

/** Speaks when it is spoken to. */
const MUTE = 'process.stdin.once("data", () => console.log("here"))'

test('so many start at once; the next begins when one of them speaks, ends, or cannot be started', async () => {
  const { begun, begin } = starting(createStarts({ most: 2, holdMs: 60_000 }))
  const all = [
    begin(MUTE),
    begin('process.stdin.once("data", () => process.exit(1))'),
    begin(MUTE),
    begin(MUTE, 'no-such-command-here'),
    begin(MUTE),
  ].map((one) => one.catch((error: Error) => error))
  await until('two run', () => begun.length === 2)
  begun[0]!.input.write('x')
  await until('a third begins', () => begun.length === 3)
  begun[1]!.input.write('x')
  // The fourth is none, and keeps nobody waiting.
  await until('the last begins', () => begun.length === 4)
  expect(await all[3]).toBeInstanceOf(Error)
  expect(await all[4]).toBe(begun[3])
})

test('one that never speaks holds its place no longer than a moment', async () => {
  const { begun, begin } = starting(createStarts({ most: 1, holdMs: 100 }))
  const began = performance.now()
  await Promise.all([begin(MUTE), begin(MUTE), begin(MUTE)])
  expect(begun).toHaveLength(3)
  expect(performance.now() - began).toBeGreaterThan(190)
})

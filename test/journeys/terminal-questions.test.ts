/** A person at a terminal is asked what a 2025 peer wants to know in mid-call, in the command's own process and over its socket. */
import { expect, onTestFinished, test } from 'vitest'
import { comityJson, createHome, openTerminal, startUp, until } from './comity-process.fixture.ts'

const ASKING = new URL('./asking-peer.fixture.ts', import.meta.url).pathname

const NO_TERMINAL = 'neither script(1) nor Python is here to make a terminal'

function home() {
  const made = createHome()
  made.configure({
    mcpServers: { asking: { command: process.execPath, args: [ASKING] } },
    store: `sqlite:${made.path('comity.db')}`,
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  onTestFinished(made.remove)
  return made
}

test.for(['in its own process', 'of comity up'])('%s', async (where, { skip }) => {
  const at = home()
  if (where === 'of comity up') {
    const up = await startUp(at)
    onTestFinished(async () => void (await up.stop()))
  }
  const terminal = await openTerminal(at, ['call', 'asking/ask_language'])
  if (terminal === undefined) return skip(NO_TERMINAL)
  onTestFinished(async () => void (await terminal.stop('SIGKILL')))
  await until('the question is shown', () => /language \(zh \| en\)/u.exec(terminal.stdout())?.[0])
  expect(terminal.stdout()).toContain('  | Which language?')
  terminal.type('zh\n')
  const { code, stdout } = await terminal.ended
  expect(stdout).toContain('{"action":"accept","content":{"language":"zh"}}')
  expect(code).toBe(0)
})

test('who answers nothing declines, and the peer goes on', async ({ skip }) => {
  const terminal = await openTerminal(home(), ['call', 'asking/ask_language'])
  if (terminal === undefined) return skip(NO_TERMINAL)
  onTestFinished(async () => void (await terminal.stop('SIGKILL')))
  await until('the question is shown', () => /language \(zh \| en\)/u.exec(terminal.stdout())?.[0])
  terminal.type('\n')
  const { stdout } = await terminal.ended
  expect(stdout).toContain('{"action":"decline"}')
})

test('when comity up ends meanwhile, the peer hears cancel and its word is on record', async ({
  skip,
}) => {
  const at = home()
  const up = await startUp(at)
  const terminal = await openTerminal(at, ['call', 'asking/ask_language'])
  if (terminal === undefined) return skip(NO_TERMINAL)
  onTestFinished(async () => void (await terminal.stop('SIGKILL')))
  await until('the question is shown', () => /language \(zh \| en\)/u.exec(terminal.stdout())?.[0])
  await up.stop()
  const { entries } = (await comityJson(at, 'ledger')) as { entries: { facts: object }[] }
  expect(entries.at(-1)).toMatchObject({ kind: 'settled', facts: { state: 'completed' } })
})

/**
 * A server moved from one revision to the next as an operator does it: looked at, tried with some callers, promoted while the
 * process serves, kept over a restart, taken back.
 */
import { expect, onTestFinished, test } from 'vitest'
import { serveHttp } from '../../src/testkit/conforming-peer/http.ts'
import {
  comity,
  comityJson,
  createHome,
  type Home,
  startUp,
  until,
} from './comity-process.fixture.ts'

const STABLE = '2025-11-25'
const NEWER = '2026-07-28'

async function homeWith(era: 'dual' | 'legacy', share: string): Promise<Home> {
  const served = await serveHttp(0, era)
  const home = createHome()
  onTestFinished(async () => {
    await served.close()
    home.remove()
  })
  home.configure({
    mcpServers: { docs: { url: served.url, canary: { revision: NEWER, share } } },
    store: `sqlite:${home.path('comity.db')}`,
  })
  return home
}

/** By which revision the call went, as its record says. */
async function revisionOfCall(home: Home): Promise<string | undefined> {
  const { callId } = await comityJson(home, 'call', 'docs/test_simple_text')
  const { entries } = (await comityJson(home, 'explain', String(callId))) as {
    readonly entries?: readonly { kind: string; facts: { revision?: string } }[]
  }
  return entries?.find(({ kind }) => kind === 'dispatched')?.facts.revision
}

async function migrationOf(home: Home): Promise<unknown> {
  const { peers } = (await comityJson(home, 'status')) as {
    readonly peers?: readonly { readonly migration?: unknown }[]
  }
  return peers?.[0]?.migration
}

test('R186: compat, promote, restart, rollback: each takes effect at once, and the record says what was in force', async () => {
  const home = await homeWith('dual', '0%')
  const first = await startUp(home)
  onTestFinished(() => void first.stop())
  expect(await revisionOfCall(home)).toBe(STABLE)
  await comity(home, 'read', 'test://static-text')

  const compared = await comity(home, 'compat', 'docs')
  expect([compared.code, compared.stderr.includes('progress 2/2')]).toEqual([0, true])
  expect(compared.stdout).toContain(`docs: ${STABLE} beside ${NEWER}`)
  expect(compared.stdout).toMatch(/offers +\d+ the same\n/u)
  expect(compared.stdout).toContain('2 of 2 recorded reads made on both: 2 the same')

  const promoted = await comity(home, 'promote', 'docs')
  expect(promoted.code).toBe(0)
  expect(promoted.stdout).toContain(`was for 0% of its callers, from now on it is for 100%`)
  expect(promoted.stdout).toContain(`mcpServers.docs: revision: "${NEWER}" and no canary:`)
  expect(await revisionOfCall(home)).toBe(NEWER)
  expect(await migrationOf(home)).toMatchObject({
    decision: { decided: 'promoted', by: 'operator' },
    from: { revision: STABLE, share: 0, calls: 2 },
    to: { revision: NEWER, share: 1, calls: 1, errors: 0 },
  })
  expect((await comity(home, 'doctor')).stdout).toContain(`write revision: "${NEWER}" in place of`)
  await first.stop()

  const second = await startUp(home)
  onTestFinished(() => void second.stop())
  expect(await revisionOfCall(home)).toBe(NEWER)
  expect(await comityJson(home, 'rollback', 'docs')).toMatchObject({
    exit: 0,
    decided: 'rolled_back',
    already: false,
    share: { before: 10_000, after: 0 },
    permanent: { revision: STABLE },
  })
  expect(await revisionOfCall(home)).toBe(STABLE)
  await second.stop()

  // Without a process it is on record, and holds when the next one is up.
  expect(await comityJson(home, 'rollback', 'docs')).toMatchObject({ already: true })
  expect(await comityJson(home, 'promote', 'docs')).toMatchObject({ exit: 0, already: false })
  expect(await revisionOfCall(home)).toBe(NEWER)
  const { entries, verified } = (await comityJson(home, 'ledger', '--verify', '-n', '200')) as {
    readonly entries?: readonly { kind: string; facts: Record<string, unknown> }[]
    readonly verified?: unknown
  }
  const decisions = entries?.filter(({ kind }) => kind === 'revision_decided') ?? []
  expect(decisions.map(({ facts }) => facts['decided'])).toEqual([
    'promoted',
    'rolled_back',
    'promoted',
  ])
  expect(verified).toMatchObject({ ok: true })
}, 180_000)

test('a canary that cannot be reached is suspended, told by status and doctor, and everyone is served', async () => {
  const home = await homeWith('legacy', '100%')
  const up = await startUp(home)
  onTestFinished(() => void up.stop())
  expect(await revisionOfCall(home)).toBe(STABLE)
  const status = await until(
    'the canary is suspended',
    async () => {
      const { stdout } = await comity(home, 'status')
      return stdout.includes('is suspended') ? stdout : undefined
    },
    90_000,
  )
  expect(status).toContain(`${NEWER} is suspended, everyone is served by ${STABLE}`)
  expect(status).toContain('comity rollback docs gives it up')
  expect(await revisionOfCall(home)).toBe(STABLE)
  const doctor = await comity(home, 'doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.stdout).toContain(`✗ docs: its canary of ${NEWER} is suspended`)
  expect(doctor.stdout).toContain('! docs: uses sessions (Mcp-Session-Id)')
  expect((await comity(home, 'compat', 'docs')).code).toBe(2)
}, 180_000)

/** Which revision a call goes by is no part of what is allowed: the same rules say the same of the same call. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createHost } from '../create-host.ts'
import { NEWER, serveTwoFaced, STABLE } from './two-revisions.fixture.ts'

const LIVE = { signal: new AbortController().signal, event: () => undefined }
const inputSchema = {
  type: 'object',
  properties: { amount: { type: 'integer', maximum: 10 } },
}
const TOOLS = [
  { name: 'look', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'pay', inputSchema },
  { name: 'wipe', inputSchema, annotations: { destructiveHint: true } },
  { name: 'hidden', inputSchema },
  { name: 'asked', inputSchema },
  { name: 'small', inputSchema },
]
const RULES = [
  { match: 'docs/hidden', effect: 'deny' },
  { match: 'docs/asked', effect: 'ask' },
  { match: 'docs/small', when: 'arguments.amount > 5', effect: 'deny' },
]
const CALLS = [
  ...TOOLS.map(({ name }) => [name, 1] as const),
  ['small', 7] as const,
  ['pay', 99] as const,
]

/** What became of every call, by which rule, and by which revision what was sent went. */
async function walk(server: Readonly<Record<string, unknown>>, promote = false) {
  const { url, seen } = await serveTwoFaced({ tools: { stable: TOOLS, newer: TOOLS } })
  const folder = mkdtempSync(join(tmpdir(), 'comity-rules-'))
  const file = join(folder, 'comity.yaml')
  const store = `sqlite:${join(folder, 'comity.db')}`
  const mcpServers = { docs: { url, ...server } }
  writeFileSync(file, JSON.stringify({ store, mcpServers, policy: { rules: RULES } }))
  const environment = { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder }
  const { operator, close } = await createHost({ config: file, environment })
  onTestFinished(async () => {
    await close()
    rmSync(folder, { recursive: true, force: true })
  })
  if (promote) await operator.promote({ peer: 'docs' }, LIVE)
  const decided: unknown[] = []
  for (const [name, amount] of CALLS) {
    const argumentsText = JSON.stringify({ amount })
    const { callId, outcome } = await operator.call({ target: `docs/${name}`, argumentsText }, LIVE)
    const { call } = await operator.explain({ id: callId }, LIVE)
    const { effect, risk, rule } =
      (call as { facts: { decision?: Record<string, unknown> } }).facts.decision ?? {}
    decided.push([name, amount, outcome.state, outcome.code, effect, risk, rule])
  }
  const faces = seen.filter((one) => one.endsWith('tools/call')).map((one) => one.split(' ')[0])
  return { decided, faces: [...new Set(faces)] }
}

test('R185, R188: a lock holds although the server offers more, and no revision changes what is allowed', async () => {
  const locked = await walk({ revision: STABLE })
  expect(locked.faces).toEqual(['stable'])
  expect(locked.decided.map((one) => (one as unknown[]).slice(2, 4))).toEqual([
    ['completed', undefined],
    ['completed', undefined],
    ['failed', 'approval_required'],
    ['failed', 'denied'],
    ['failed', 'approval_required'],
    ['completed', undefined],
    ['failed', 'denied'],
    ['failed', 'bad_arguments'],
  ])
  for (const [server, promote] of [
    [{ revision: NEWER }, false],
    [{ canary: { revision: NEWER, share: '100%' } }, false],
    [{ canary: { revision: NEWER, share: '0%' } }, true],
  ] as const) {
    const { decided, faces } = await walk(server, promote)
    expect(decided).toEqual(locked.decided)
    expect(faces).toEqual(['newer'])
  }
})

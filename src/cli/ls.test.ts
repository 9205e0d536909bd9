import { expect, test } from 'vitest'
import type { PeerLine } from '../gateway/admin/operator.ts'
import { headline } from './ls.ts'

const tool = { kind: 'tool', name: 'a', exposed: 'docs_a', risk: 'read', effect: 'allow' } as const
const line = (storedAt?: number): PeerLine => ({
  peer: 'docs',
  protocol: 'mcp',
  state: 'starting',
  transport: 'stdio',
  capabilities: [{ ...tool, fingerprint: 'f', endpoint: 'e', withdrawn: false }],
  leftOut: [],
  ...(storedAt === undefined ? {} : { storedAt: new Date(storedAt).toISOString() }),
})

test.each([
  [undefined, ''],
  [12.5 * 60_000, '; stored, 12 min old: 1 tool'],
  [3.5 * 3_600_000, '; stored, 3 h old: 1 tool'],
  [49 * 3_600_000, '; stored, 2 days old: 1 tool'],
  [-60_000, '; stored, 0 min old: 1 tool'],
])('a peer that is still starting is shown with what is stored of it (%s ms ago)', (ago, said) => {
  const at = ago === undefined ? undefined : Date.now() - ago
  expect(headline(line(at))).toBe(`… docs: still starting (stdio)${said}`)
})

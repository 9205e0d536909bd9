import { expect, test } from 'vitest'
import type { Principal } from '../../core/words/principal.ts'
import { createPolicy } from '../policy/policy.ts'
import type { PolicySection } from '../policy/section.ts'
import { type OpenCatalogue, createCatalogue } from './catalogue.ts'
import { type ScriptedPeer, capabilityOf, scriptedPeer } from './scripted-peer.fixture.ts'
import { digest } from './world.ts'

const bob: Principal = { id: 'bob', groups: [], via: 'token' }
const local: Principal = { id: 'local', groups: [], via: 'local' }

/** Under preset team bob may use docs, and nothing else. */
const TEAM: PolicySection = {
  preset: 'team',
  shadow: false,
  rules: [
    { match: ['docs/*'], principal: ['bob'], effect: 'allow' },
    { match: ['*/*'], principal: ['local'], effect: 'allow' },
  ],
}

function open(peers: readonly ScriptedPeer[], policy: PolicySection = TEAM): OpenCatalogue {
  return createCatalogue(
    {
      peers,
      naming: {
        peers: peers.map((peer) => peer.name),
        names: 'prefixed',
        digest: (text) => digest.text(text),
      },
      policy: createPolicy(policy),
      sight: () => Promise.resolve(),
      pinState: () => 'accepted',
    },
    { patienceMs: 50, firstMs: 2_000 },
  )
}

const offer = (peer: string, instructions: string) => ({
  capabilities: [capabilityOf(peer, 'tool', 'go')],
  leftOut: [{ peer, kind: 'tool', name: 'odd', reason: `odd at ${peer}` } as const],
  instructions,
})

test('instructions of peers that policy hides are not given, nor their names', async () => {
  const catalogue = open([
    scriptedPeer('docs', offer('docs', 'read me')),
    scriptedPeer('payroll', offer('payroll', 'pay them')),
  ])
  expect(await catalogue.instructions(bob)).toBe('## docs (its own words)\nread me')
  expect(await catalogue.instructions(local)).toContain('pay them')
  expect(await catalogue.instructions({ ...bob, id: 'eve' })).toBeUndefined()
})

test('what is missing at a hidden peer is not told: left out, failed, or still starting', async () => {
  const catalogue = open([
    scriptedPeer('docs', offer('docs', '')),
    scriptedPeer('payroll', offer('payroll', '')),
    scriptedPeer('vault', new Error('exit 1: usage: vault --token hunter2')),
    scriptedPeer('slow', new Promise(() => undefined)),
  ])
  expect((await catalogue.list('tool', bob)).missing).toEqual([
    { peer: 'docs', reason: 'odd: odd at docs' },
  ])
  expect((await catalogue.list('tool', local)).missing).toEqual([
    { peer: 'docs', reason: 'odd: odd at docs' },
    { peer: 'payroll', reason: 'odd: odd at payroll' },
    { peer: 'vault', reason: 'exit 1: usage: vault --token hunter2' },
    { peer: 'slow', reason: 'still starting' },
  ])
})

test('a peer that was listed and then failed stays hidden from whom it was hidden', async () => {
  const payroll = scriptedPeer('payroll', offer('payroll', ''))
  const catalogue = open([scriptedPeer('docs', offer('docs', '')), payroll])
  await catalogue.list('tool', bob)
  payroll.offer(new Error('gone'))
  await catalogue.view(2_000)
  expect(JSON.stringify((await catalogue.list('tool', bob)).missing)).not.toContain('payroll')
})

test('callers with a token learn that a peer of theirs is not reached, not what it printed', async () => {
  const listing = await open([
    scriptedPeer('docs', new Error('exit 1: usage: docs --token hunter2')),
  ]).list('tool', bob)
  expect(listing).toMatchObject({
    allFailed: true,
    missing: [{ peer: 'docs', reason: 'not reached' }],
  })
})

test('all failed counts the peers that the principal may know of', async () => {
  const peers = (): ScriptedPeer[] => [
    scriptedPeer('docs', new Error('down')),
    scriptedPeer('payroll', offer('payroll', '')),
  ]
  expect((await open(peers()).list('tool', bob)).allFailed).toBe(true)
  const hidden = await open([scriptedPeer('vault', new Error('down'))]).list('tool', bob)
  expect(hidden).toMatchObject({ allFailed: false, missing: [] })
})

test('a clash is told to whom its capability is visible, without naming who holds the name', async () => {
  const twice = {
    capabilities: ['x', 'x'].map((name) => capabilityOf('docs', 'tool', name)),
    leftOut: [],
  }
  const catalogue = open([scriptedPeer('docs', twice)])
  expect((await catalogue.list('tool', bob)).missing).toEqual([
    { peer: 'docs', reason: 'x: its exposed name is taken' },
  ])
  expect((await catalogue.list('tool', local)).missing).toEqual([
    { peer: 'docs', reason: 'x: its exposed name docs_x is taken by docs/x' },
  ])
  expect((await catalogue.list('resource', local)).missing).toEqual([])
})

/** Peers that want a login: as a question with an address, in words, and for a scope that is missing. */
import type { Outcome } from '../../src/core/words/outcome.ts'
import type { McpPeer } from '../../src/mcp/upstream/client.ts'
import { expectThat, type Finding } from './cells.ts'
import {
  createKeyring,
  guard,
  GUARDED_TOOL,
  LOGIN_COMMAND,
  LOGIN_URL,
  type Keyring,
} from './guard.ts'
import type { Json } from './peer.ts'
import { servePeer } from './peer-http.ts'
import type { End } from './revisions.ts'

/** Makes one call, by a caller that opens addresses or by one that does not. */
export type CallOnce = (peer: McpPeer, name: string, opens: boolean) => Promise<Outcome>
export type OpenAt = (url: string, credentials: Keyring) => McpPeer

type LoginCheck = (peer: McpPeer, keys: Keyring, call: CallOnce) => Promise<void>

/** Each in a session of its own with a server that lets nobody in. */
export const LOGIN_CHECKS: Readonly<Record<string, LoginCheck>> = {
  async '401 as url question'(peer, keys, call) {
    expectQuestion(await call(peer, 'echo', true), keys, 401)
    keys.take('narrow')
    expectRan(await call(peer, 'echo', true))
  },
  async '401 as words'(peer, keys, call) {
    expectWords(await call(peer, 'echo', false))
    keys.take('narrow')
    expectRan(await call(peer, 'echo', false))
  },
  async 'step-up'(peer, keys, call) {
    keys.take('narrow')
    expectRan(await call(peer, 'echo', true))
    expectQuestion(await call(peer, GUARDED_TOOL, true), keys, 403)
    expectWords(await call(peer, GUARDED_TOOL, false))
    // What the old scopes suffice for goes on.
    expectRan(await call(peer, 'echo', true))
    keys.take('wide')
    expectRan(await call(peer, GUARDED_TOOL, true))
  },
}

/** Runs one of them at a peer of this revision. */
export async function checkLogin(
  { revision, transport }: End,
  check: LoginCheck,
  open: OpenAt,
  call: CallOnce,
): Promise<Finding> {
  if (transport === 'stdio')
    return 'impossible because a server that comity starts has no login: its credentials stand in its environment'
  const served = await servePeer(revision, transport, guard)
  const keys = createKeyring()
  const peer = open(served.url, keys)
  try {
    await check(peer, keys, call)
    return 'works'
  } finally {
    await peer.close()
    await served.close()
  }
}

function expectQuestion(outcome: Outcome, { refusals }: Keyring, status: 401 | 403): void {
  expectThat(outcome.state === 'failed' && outcome.ran === 'no', JSON.stringify(outcome))
  const error = outcome.state === 'failed' ? (outcome.native?.value() as Json) : undefined
  const { elicitations } = (error?.['data'] ?? {}) as { elicitations?: readonly Json[] }
  expectThat(error?.['code'] === -32_042, `its error is ${JSON.stringify(error)}`)
  expectThat(elicitations?.[0]?.['url'] === LOGIN_URL, `it asks ${JSON.stringify(elicitations)}`)
  const last = refusals.at(-1)
  const scope = status === 403 ? 'scope="wide"' : 'scope="narrow"'
  expectThat(
    last?.status === status && last.challenges.join().includes(scope),
    `the last refusal was ${JSON.stringify(last)}`,
  )
}

function expectWords(outcome: Outcome): void {
  const said = outcome.state === 'failed' ? outcome.detail : outcome.state
  expectThat(said.includes(LOGIN_COMMAND), `it said ${said}`)
  expectThat(outcome.state === 'failed' && outcome.code === 'credentials_missing', outcome.state)
  expectThat(outcome.state === 'failed' && outcome.native === undefined, 'it asked nevertheless')
}

function expectRan(outcome: Outcome): void {
  const said = 'detail' in outcome ? `: ${outcome.detail}` : ''
  expectThat(outcome.state === 'completed', `it ended ${outcome.state}${said}`)
}

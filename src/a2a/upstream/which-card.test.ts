import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { CLOCK, delegation, exchangeOf } from '../../../test/a2a/calls.ts'
import {
  openRawPeer,
  replyError,
  replyJson,
  replyResult,
  type Script,
} from '../../../test/a2a/raw-peer.ts'
import { cardOf, taskOf } from '../../../test/a2a/scripted-agent.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { openConnections } from '../bindings/http.ts'
import { createA2aPeer } from './peer.ts'

const connections = openConnections()
afterAll(() => connections.close())

type Card = Readonly<Record<string, unknown>>
const { cards } = (
  JSON.parse(
    readFileSync(
      new URL('../../../test/cases/C70-card-03-10-hybrid-and-lying-version.json', import.meta.url),
      'utf8',
    ),
  ) as { readonly given: { readonly cards: Readonly<Record<string, Card>> } }
).given

const answering: Script = (request, response) =>
  replyResult(request, response, { task: taskOf('COMPLETED') })

/** The case's card at a real agent: its hosts become this one, and what a card must have besides is filled in. */
async function meet(name: string, script: Script = answering) {
  await using agent = await openRawPeer((request, response) => {
    if (!request.path.startsWith('/.well-known/')) return script(request, response)
    const text = JSON.stringify(cards[name]).replaceAll(/https:\/\/[a-z.]+(?=[/"])/gu, agent.origin)
    const { supportedInterfaces: _ours, ...filling } = cardOf(agent.origin)
    const { skills: _none, capabilities: _theirs, ...card } = JSON.parse(text) as Card
    replyJson(response, 200, { ...filling, ...card })
  })
  const peer = createA2aPeer(
    { connections, clock: CLOCK },
    { name: 'agent', card: { url: `${agent.origin}/` }, trusted: false },
  )
  const call: OutboundCall | Error = await delegation(peer, 'go').catch(
    (error: unknown) => error as Error,
  )
  const sends = (): typeof agent.seen => agent.seen.filter(({ json }) => json.method !== undefined)
  if (call instanceof Error) return { fault: call.message, sends: sends(), report: peer.report() }
  const exchange = exchangeOf()
  const outcome = await peer.upstream.call(call, exchange, exchange.dispatched)
  return { outcome, sends: sends(), report: peer.report() }
}

describe('C70: which revision a card is, and what is done with it', () => {
  it.each([
    ['new', '/rpc'],
    ['hybrid', '/v10'],
  ])('%s: the interface of 1.0 is used, and each request says so', async (name, path) => {
    const met = await meet(name)
    expect(met.outcome).toMatchObject({ state: 'completed' })
    expect(
      met.sends.map(({ json, headers, path: at }) => [json.method, headers['a2a-version'], at]),
    ).toEqual([['SendMessage', '1.0', path]])
    expect(met.report).toMatchObject({ state: 'ready', revision: '1.0' })
  })

  it('noversion: tried as 1.0, which alone has such cards, and the choice is shown', async () => {
    const met = await meet('noversion')
    expect(met.outcome).toMatchObject({ state: 'completed' })
    expect(met.sends.map(({ headers }) => headers['a2a-version'])).toEqual(['1.0'])
    expect(met.report.detail).toMatch(/supportedInterfaces\[0\].*no protocolVersion.*1\.0/u)
  })

  it('old: one clear error before any call, and nothing is sent', async () => {
    const met = await meet('old')
    expect(met.fault).toContain('0.3 card')
    expect(met.sends).toEqual([])
    expect(met.report).toMatchObject({ state: 'failed', detail: met.fault })
  })

  it('future: the error names what was offered and what is expected', async () => {
    const met = await meet('future')
    expect(met.fault).toMatch(/"WEBSOCKET".*"GRPC".*JSONRPC, version 1\.0/su)
    expect(met.sends).toEqual([])
  })

  it('liar: a card of 1.0 whose agent knows no SendMessage: nothing ran, and it is asked once', async () => {
    const met = await meet('new', (request, response) => replyError(request, response, -32601))
    expect(met.outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'unsupported' })
    expect(met.sends).toHaveLength(1)
  })
})

/**
 * Every caller against every peer, through a whole gateway with its store: a call, a question, a cancellation, long work, a
 * refusal by the rules.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Host } from '../../src/gateway/compose/host.ts'
import { openHost } from '../../src/gateway/compose/open-host.ts'
import { loadConfig } from '../../src/gateway/config/load-config.ts'
import { serveGateway } from '../../src/gateway/http.ts'
import { serveHostOverStdio } from '../../src/gateway/serve-stdio.ts'
import { createHttpWire } from './caller-http.ts'
import { createLineWire } from './caller-lines.ts'
import { CAN, openCaller, type Caller, type Message } from './caller.ts'
import {
  expectText,
  expectThat,
  findCell,
  textOf,
  until,
  type Cell,
  type Finding,
} from './cells.ts'
import { CAN_TASKS } from './door-tasks.ts'
import { checkPairTask } from './pair-tasks.ts'
import type { Json } from './peer.ts'
import { servePeer, type ServedPeer } from './peer-http.ts'
import { CALLERS, hasQuestion, isModern, nameOf, PEERS, type End } from './revisions.ts'

export interface PairTables {
  readonly call: readonly Cell[]
  readonly elicitation: readonly Cell[]
  readonly cancel: readonly Cell[]
  readonly task: readonly Cell[]
  readonly deny: readonly Cell[]
}

/** Runs them; nothing is left running. @param callers which; all by default. */
export async function runPairs(callers: readonly End[] = CALLERS): Promise<PairTables> {
  const folder = mkdtempSync(join(tmpdir(), 'comity-pairs-'))
  const served: ServedPeer[] = []
  const closers: (() => Promise<unknown>)[] = []
  try {
    const mcpServers = Object.fromEntries(
      await Promise.all(
        PEERS.map(async (peer) => [peerName(peer), await launchOf(peer, served)] as const),
      ),
    )
    const file = join(folder, 'comity.yaml')
    const policy = { rules: [{ match: '*/broken', effect: 'deny' }] }
    const tasks = { after: '100ms' }
    writeFileSync(file, JSON.stringify({ mcpServers, policy, tasks, store: 'sqlite:./comity.db' }))
    const host = await openHost({
      config: loadConfig(file, process.env),
      peers: 'all',
      parentEnvironment: process.env,
    })
    closers.push(() => host.close())
    await until(() => host.isReady(), 'every peer is ready')
    const gateway = await serveGateway(host, { host: '127.0.0.1', port: 0 })
    closers.push(() => gateway.close())
    const tables = { call: [], elicitation: [], cancel: [], task: [], deny: [] } satisfies Record<
      string,
      Cell[]
    >
    for (const end of callers) await runCaller(host, gateway.url, end, tables)
    return tables
  } finally {
    for (const close of closers.reverse()) await close()
    await Promise.all(served.map((peer) => peer.close()))
    rmSync(folder, { recursive: true, force: true })
  }
}

function peerName({ revision, transport }: End): string {
  return `p${revision.replaceAll('-', '')}${transport.replace('http+', '')}`
}

async function launchOf({ revision, transport }: End, served: ServedPeer[]): Promise<Json> {
  if (transport === 'stdio') {
    const args = [join(import.meta.dirname, 'peer-lines.ts'), revision]
    return { command: process.execPath, args }
  }
  const peer = await servePeer(revision, transport)
  served.push(peer)
  return { url: peer.url }
}

async function runCaller(
  host: Host,
  url: string,
  end: End,
  tables: Record<keyof PairTables, Cell[]>,
): Promise<void> {
  const caller = await openEnd(host, url, end)
  const lasting = await openEnd(host, url, end, isModern(end.revision) ? CAN_TASKS : CAN)
  try {
    for (const peer of PEERS) {
      const row = `caller ${nameOf(end)}`
      const column = `peer ${nameOf(peer)}`
      const on = (tool: string): string => `${peerName(peer)}_${tool}`
      tables.call.push(await findCell(row, column, () => checkCall(caller, on)))
      tables.elicitation.push(
        await findCell(row, column, () => checkQuestion(caller, on, end, peer)),
      )
      tables.cancel.push(await findCell(row, column, () => checkCancel(caller, on, row)))
      tables.deny.push(await findCell(row, column, () => checkDeny(caller, on)))
    }
    // All at once: each only waits.
    const task = PEERS.map((peer) =>
      findCell(`caller ${nameOf(end)}`, `peer ${nameOf(peer)}`, () =>
        checkPairTask(lasting, `${peerName(peer)}_long`, peer),
      ),
    )
    tables.task.push(...(await Promise.all(task)))
  } finally {
    await Promise.all([caller.close(), lasting.close()])
  }
}

async function openEnd(
  host: Host,
  url: string,
  { revision, transport }: End,
  can: Json = CAN,
): Promise<Caller> {
  if (transport !== 'stdio') return openCaller(revision, createHttpWire(`${url}/mcp`), can)
  const toHost = new PassThrough()
  const fromHost = new PassThrough()
  const door = serveHostOverStdio(host, toHost, fromHost)
  const caller = await openCaller(revision, createLineWire(fromHost, toHost), can)
  return {
    ...caller,
    close: async () => {
      await caller.close()
      await door.done
    },
  }
}

type On = (tool: string) => string

async function checkCall(caller: Caller, on: On): Promise<Finding> {
  expectText(await caller.call(on('echo'), { text: 'hé 👋' }), 'hé 👋')
  return 'works'
}

async function checkQuestion(caller: Caller, on: On, end: End, peer: End): Promise<Finding> {
  const message = await caller.call(on('ask_form'))
  if (hasQuestion(end.revision, 'form') && hasQuestion(peer.revision, 'form')) {
    expectText(message, 'accept Ada')
    return 'works'
  }
  // The call ends all the same, and the peer learns that nobody was asked.
  expectThat(textOf(message).startsWith('not answered'), `it said ${textOf(message)}`)
  const old = hasQuestion(peer.revision, 'form')
    ? `a caller of ${end.revision}`
    : `a peer of ${peer.revision}`
  return `impossible because ${old} has no elicitation in its revision; the peer is told that nobody can be asked`
}

async function checkCancel(caller: Caller, on: On, by: string): Promise<Finding> {
  const stopped = async (): Promise<number> => Number(textOf(await caller.call(on('stopped'))))
  const before = await stopped()
  const progress: Message[] = []
  const started = until(() => progress.length > 0, 'the peer is at work')
  // What was told to stop may have run: the same act of another caller would be its twin.
  const call = caller.call(on('wait'), { by }, { progress, until: started })
  call.catch(() => undefined)
  await started
  await until(async () => (await stopped()) === before + 1, 'the peer was told to stop')
  return 'works'
}

async function checkDeny(caller: Caller, on: On): Promise<Finding> {
  const message = await caller.call(on('broken'))
  // What no rule could let through is not shown: its name is as unknown as any other.
  expectThat(
    message.error?.['code'] === -32_602,
    `it said ${JSON.stringify(message).slice(0, 300)}`,
  )
  return 'works'
}

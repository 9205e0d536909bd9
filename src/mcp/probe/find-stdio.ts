/**
 * Which revisions a command speaks: a process of its own for each, since what is said first binds the rest. The newest of each era
 * stays for what is asked next; how the others end is seen on the way.
 *
 * @source MCP 2026-07-28, basic, versioning, and transports, stdio.
 */
import { startServer, type ServerCommand } from '../upstream/supervise.ts'
import { LEGACY_REVISIONS } from '../wire/rev-2025-11-25.ts'
import type { Budget } from './budget.ts'
import {
  judgeInitialize,
  judgeRefused,
  openModern,
  type Discovery,
  type Spoken,
} from './discovery.ts'
import type { Findings } from './findings.ts'
import type { Asking, ClientInfo, RawRequest, Reply } from './raw.ts'
import type { RevisionTried } from './report.ts'
import { DECLARED } from './server-asks.ts'
import { createRawStdio, type RawStdio } from './wire-stdio.ts'

export interface StdioSearch {
  readonly server: ServerCommand
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly budget: Budget
  readonly maxBytes: number
  /** How long the first start may take, milliseconds: it may have to download itself. */
  readonly startMs: number
  readonly clientInfo: ClientInfo
  readonly findings: Findings
}

/** Newest first, with the oldest, which is the same on this transport. */
const REVISIONS = [...LEGACY_REVISIONS, '2024-11-05']
/** How long a process may take to end after its input closed, milliseconds. */
const END_MS = 4_000

/** Looks for all of them. */
export async function findOverStdio(search: StdioSearch): Promise<Discovery> {
  return new StdioDiscovery(search).find()
}

class StdioDiscovery {
  readonly #search: StdioSearch
  readonly #revisions: RevisionTried[] = []
  readonly #open: RawStdio[] = []
  readonly #all: RawStdio[] = []
  #stays = false

  constructor(search: StdioSearch) {
    this.#search = search
  }

  async find(): Promise<Discovery> {
    try {
      return await this.#find()
    } catch (error) {
      // Whatever happens, no process stays.
      await this.#close()
      throw error
    }
  }

  async #find(): Promise<Discovery> {
    const { startMs, clientInfo, findings, budget } = this.#search
    const [newest = '', ...older] = REVISIONS
    // Nearly everything answers this one, be it with a refusal: it is what a slow start is waited for with.
    const first = await this.#initialize(newest, startMs)
    if (typeof first === 'string') return this.#nothing(first)
    const modernWire = await this.#start()
    const modern = await openModern(modernWire, clientInfo, findings)
    this.#revisions.unshift(modern.tried)
    if (modern.spoken === undefined) await this.#end(modernWire)
    let legacy = first.spoken
    for (const revision of older) {
      const next = await this.#initialize(revision)
      if (typeof next === 'string' || next.spoken === undefined) continue
      if (legacy === undefined) legacy = next.spoken
      else await this.#end(next.wire)
    }
    if (budget.request() === 0) findings.skip('not all revisions were tried: no time was left')
    judgeRefused(this.#revisions, findings)
    if (modern.spoken === undefined && legacy === undefined) return this.#nothing(this.#silence())
    return {
      revisions: this.#revisions,
      ...(modern.spoken === undefined
        ? {}
        : { modern: { ...modern.spoken, stranger: (request) => this.#stranger(request) } }),
      ...(legacy === undefined ? {} : { legacy }),
      asked: () => this.#all.flatMap(({ asks }) => asks.methods()),
      close: () => this.#close(),
    }
  }

  async #initialize(
    revision: string,
    ms?: number,
  ): Promise<{ readonly wire: RawStdio; readonly spoken?: Spoken } | string> {
    const { clientInfo, findings } = this.#search
    let wire: RawStdio
    try {
      wire = await this.#start()
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    const params = { protocolVersion: revision, capabilities: DECLARED, clientInfo }
    const asked = { method: 'initialize', params }
    const reply = await wire.ask(ms === undefined ? asked : { ...asked, ms })
    const tried = judgeInitialize(reply, revision, 'stdio', findings)
    this.#revisions.push(tried)
    if (reply.kind !== 'result' || !tried.spoken) {
      await this.#end(wire)
      return { wire }
    }
    await wire.tell('notifications/initialized')
    const asking: Asking = {
      revision,
      era: 'legacy',
      transport: 'stdio',
      ask: (method, given = {}, more = {}) => wire.ask({ ...more, method, params: given }),
    }
    return { wire, spoken: { asking, wire, opened: reply.result } }
  }

  async #stranger(request: RawRequest): Promise<Reply> {
    const wire = await this.#start()
    const reply = await wire.ask(request)
    await this.#end(wire)
    return reply
  }

  async #start(): Promise<RawStdio> {
    const { server, environment, budget, maxBytes } = this.#search
    const process = await startServer(server, environment)
    const wire = createRawStdio({ server: process, budget, maxBytes })
    this.#all.push(wire)
    this.#open.push(wire)
    return wire
  }

  /** Ends it, and sees whether it ends by itself; that is waited for once. */
  async #end(wire: RawStdio): Promise<void> {
    const { findings } = this.#search
    this.#open.splice(this.#open.indexOf(wire), 1)
    const byItself = await wire.end(this.#stays ? 0 : END_MS)
    if (!byItself && !wire.flooded()) {
      this.#stays = true
      findings.add('stdio.stays', `it was still there ${END_MS} ms later`)
    }
    for (const line of wire.noise().slice(0, 1)) findings.add('stdio.noise', line)
    if (wire.flooded()) findings.add('stdio.flood')
  }

  async #close(): Promise<void> {
    const open = this.#open.slice()
    for (const wire of open) await this.#end(wire)
  }

  async #nothing(why: string): Promise<Discovery> {
    const printed = this.#all
      .map((wire) => wire.complaints())
      .find((text) => text !== '')
      ?.slice(-600)
    await this.#close()
    return {
      revisions: this.#revisions,
      unreachable: printed === undefined ? why : `${why}; it printed: ${printed}`,
      asked: () => [],
      close: () => Promise.resolve(),
    }
  }

  #silence(): string {
    const said = this.#revisions.map(({ revision, detail = '' }) => `${revision}: ${detail}`)
    return `it speaks no revision of MCP (${said.join('; ').slice(0, 600)})`
  }
}

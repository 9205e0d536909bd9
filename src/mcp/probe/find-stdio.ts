/**
 * Which revisions a command speaks: a process of its own for each, since what is said first binds the rest, and one at a time. How
 * they end is seen on the way.
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
import type { Asking, ClientInfo, RawRequest, RawWire, Reply } from './raw.ts'
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
  readonly #complaints: string[] = []
  readonly #asked = new Set<string>()
  /** One at a time: two of a server that holds something for itself alone would keep each other from it. */
  #running: RawStdio | undefined
  #stays = false

  constructor(search: StdioSearch) {
    this.#search = search
  }

  async find(): Promise<Discovery> {
    try {
      return await this.#find()
    } catch (error) {
      // Whatever happens, no process stays.
      await this.#end()
      throw error
    }
  }

  async #find(): Promise<Discovery> {
    const { startMs, clientInfo, findings, budget } = this.#search
    const spoken: Spoken[] = []
    for (const [index, revision] of REVISIONS.entries()) {
      // Nearly everything answers the first, be it with a refusal: it is what a slow start is waited for with.
      const opened = await this.#initialize(revision, index === 0 ? startMs : undefined)
      if (typeof opened === 'string') return this.#nothing(opened)
      if (opened !== undefined) spoken.push(this.#spoken(revision, opened))
    }
    const wire = this.#lazy(() => this.#start())
    const modern = await openModern(wire, clientInfo, findings)
    this.#revisions.unshift(modern.tried)
    if (budget.request() === 0) findings.skip('not all revisions were tried: no time was left')
    judgeRefused(this.#revisions, findings)
    const [legacy] = spoken
    if (modern.spoken === undefined && legacy === undefined) return this.#nothing(this.#silence())
    const stranger = (request: RawRequest): Promise<Reply> =>
      this.#lazy(() => this.#start()).ask(request)
    return {
      revisions: this.#revisions,
      ...(modern.spoken === undefined ? {} : { modern: { ...modern.spoken, stranger } }),
      ...(legacy === undefined ? {} : { legacy }),
      asked: () => [...this.#asked, ...(this.#running?.asks.methods() ?? [])],
      close: () => this.#end(),
    }
  }

  /** @returns the result, when it is of that revision; why it cannot even be started, in words. */
  async #initialize(
    revision: string,
    ms?: number,
  ): Promise<Readonly<Record<string, unknown>> | string | undefined> {
    let wire: RawStdio
    try {
      wire = await this.#start()
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    const reply = await wire.ask({
      ...this.#greeting(revision),
      ...(ms === undefined ? {} : { ms }),
    })
    const tried = judgeInitialize(reply, revision, 'stdio', this.#search.findings)
    this.#revisions.push(tried)
    return reply.kind === 'result' && tried.spoken ? reply.result : undefined
  }

  #greeting(revision: string): RawRequest {
    const { clientInfo } = this.#search
    const params = { protocolVersion: revision, capabilities: DECLARED, clientInfo }
    return { method: 'initialize', params }
  }

  /** A session of a process of its own, begun when something is asked in it. */
  #spoken(revision: string, opened: Readonly<Record<string, unknown>>): Spoken {
    const wire = this.#lazy(async () => {
      const begun = await this.#start()
      await begun.ask(this.#greeting(revision))
      await begun.tell('notifications/initialized')
      return begun
    })
    const asking: Asking = {
      revision,
      era: 'legacy',
      transport: 'stdio',
      ask: (method, params = {}, more = {}) => wire.ask({ ...more, method, params }),
    }
    return { asking, wire, opened }
  }

  /** A wire whose process is started when it is used, and again when another had its turn meanwhile. */
  #lazy(begin: () => Promise<RawStdio>): RawWire {
    let own: RawStdio | undefined
    let gone: ((method: string, why: string) => void) | undefined
    const wire = async (): Promise<RawStdio> => {
      if (own !== undefined && own === this.#running) return own
      own = await begin()
      if (gone !== undefined) own.whenGone(gone)
      return own
    }
    return {
      transport: 'stdio',
      async ask(request) {
        try {
          return await (await wire()).ask(request)
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error)
          gone?.(request.method, why)
          return { kind: 'nothing', why, headers: {}, told: [] }
        }
      },
      tell: async (method, params) => (await wire()).tell(method, params),
      whenGone(listener) {
        gone = listener
        own?.whenGone(listener)
      },
    }
  }

  async #start(): Promise<RawStdio> {
    await this.#end()
    const { server, environment, budget, maxBytes } = this.#search
    const process = await startServer(server, environment)
    this.#running = createRawStdio({ server: process, budget, maxBytes })
    return this.#running
  }

  /** Ends what runs, and sees whether it ends by itself; that is waited for once. */
  async #end(): Promise<void> {
    const { findings } = this.#search
    const wire = this.#running
    if (wire === undefined) return
    this.#running = undefined
    const byItself = await wire.end(this.#stays ? 0 : END_MS)
    if (!byItself && !wire.flooded()) {
      this.#stays = true
      findings.add('stdio.stays', `it was still there ${END_MS} ms later`)
    }
    for (const line of wire.noise().slice(0, 1)) findings.add('stdio.noise', line)
    if (wire.flooded()) findings.add('stdio.flood')
    for (const method of wire.asks.methods()) this.#asked.add(method)
    const printed = wire.complaints()
    if (printed !== '') this.#complaints.push(printed.slice(-600))
  }

  async #nothing(why: string): Promise<Discovery> {
    await this.#end()
    const [printed] = this.#complaints
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

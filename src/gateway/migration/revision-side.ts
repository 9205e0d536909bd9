/**
 * One revision of a peer: its connection, and what is counted of its calls.
 *
 * A side that is left is closed when its last call has ended; it is made anew when somebody needs it after all.
 */
import type { Exchange, WireFacts } from '../../core/ports/upstream.ts'
import type { RevisionCounts } from '../../core/ports/migration.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { McpPeer } from '../../mcp/upstream/client.ts'
import { isError } from './judge-outcome.ts'
import { medianOf } from './median.ts'
import { markTask } from './revision-work.ts'

export interface SideDeps {
  readonly revision: string
  /** Starts and sends nothing until it is first used. */
  make(revision: string): McpPeer
  /** What it offers may have changed. */
  onChanged(): void
  monotonic(): number
}

/** Times that the median is taken of. */
const TIMES_KEPT = 256

/** See above. */
export class RevisionSide {
  readonly revision: string
  readonly #deps: SideDeps
  readonly #times: number[] = []
  #peer: McpPeer
  #stopListening: () => void = () => undefined
  #running = 0
  #isLeft = false
  #calls = 0
  #errors = 0
  #toolErrors = 0

  constructor(deps: SideDeps) {
    this.revision = deps.revision
    this.#deps = deps
    this.#peer = this.#make()
  }

  get peer(): McpPeer {
    return this.#peer
  }

  /** Anything that is not to be broken off when the side is left. */
  async using<T>(run: (peer: McpPeer) => Promise<T>): Promise<T> {
    this.#running += 1
    try {
      return await run(this.#peer)
    } finally {
      this.#running -= 1
      if (this.#isLeft) this.#closeWhenIdle()
    }
  }

  /** One call on this side, counted. */
  async call(
    call: OutboundCall,
    exchange: Exchange,
    dispatched: (facts: WireFacts) => void,
    late: ((outcome: Outcome) => void) | undefined,
  ): Promise<Outcome> {
    let sentAt: number | undefined
    const outcome = await this.using(({ upstream }) =>
      upstream.call(
        call,
        exchange,
        (facts) => {
          sentAt = this.#deps.monotonic()
          dispatched(facts)
        },
        late,
      ),
    )
    if (sentAt !== undefined) this.#count(outcome, this.#deps.monotonic() - sentAt)
    return markTask(outcome, this.revision)
  }

  counts(share: number): RevisionCounts {
    const medianMs = medianOf(this.#times)
    return {
      revision: this.revision,
      share,
      calls: this.#calls,
      errors: this.#errors,
      toolErrors: this.#toolErrors,
      ...(medianMs === undefined ? {} : { medianMs }),
    }
  }

  /** Whether its connection is not to be kept beyond its last call. */
  leave(isLeft: boolean): void {
    this.#isLeft = isLeft
    if (isLeft) this.#closeWhenIdle()
  }

  async close(): Promise<void> {
    this.#stopListening()
    await this.#peer.close()
  }

  #make(): McpPeer {
    const peer = this.#deps.make(this.revision)
    this.#stopListening = peer.onChanged(() => this.#deps.onChanged())
    return peer
  }

  #closeWhenIdle(): void {
    if (this.#running > 0) return
    const before = this.#peer
    this.#stopListening()
    this.#peer = this.#make()
    void before.close().catch(() => undefined)
  }

  #count(outcome: Outcome, ms: number): void {
    this.#calls += 1
    if (isError(outcome)) this.#errors += 1
    else if (outcome.state === 'completed' && outcome.toolError) this.#toolErrors += 1
    if (outcome.state !== 'completed' && outcome.state !== 'input_required') return
    this.#times.push(ms)
    if (this.#times.length > TIMES_KEPT) this.#times.shift()
  }
}

/** A request under way, as the operations see it. */
import type { Principal } from '../../core/words/principal.ts'
import type { PublishedAgent } from './options.ts'
import type { RpcRequest } from './rpc.ts'

/** One request at one agent. */
export interface Visit {
  readonly agent: PublishedAgent
  readonly principal: Principal
  readonly request: RpcRequest
  /** Fires when the caller's connection closes before the answer. */
  readonly gone: AbortSignal
}

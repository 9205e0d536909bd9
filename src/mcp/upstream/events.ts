/**
 * The events of one call on their way to its caller: in order, one at a time, none after the
 * outcome. A slow caller holds back the peer only when many events wait.
 */
import type { Exchange } from '../../core/ports/upstream.ts'
import type { RpcNotification } from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { sliceOf } from '../wire/spans.ts'

export interface EventQueue {
  /** @returns a promise when the peer should be read no further until it settles. */
  push(notification: RpcNotification, revision: string): Promise<void> | undefined
  /** Waits for what was pushed, at most until the signal; takes nothing more. */
  close(signal: AbortSignal): Promise<void>
}

/** Events that may wait before the peer is held back: other calls may share its line. */
const MAX_WAITING = 64

/** Makes the queue of one call. */
export function createEventQueue(exchange: Exchange): EventQueue {
  let chain: Promise<void> = Promise.resolve()
  let waiting = 0
  let closed = false
  return {
    push({ method, bytes, params }, revision) {
      if (closed || params === undefined) return undefined
      const kind = method === 'notifications/progress' ? 'progress' : 'log'
      const native = mcpNative(sliceOf(bytes, params), revision)
      waiting += 1
      chain = chain
        .then(() => (closed ? undefined : exchange.emit({ kind, native })))
        // A caller that cannot be told must not change what happened.
        .catch(() => {})
        .finally(() => {
          waiting -= 1
        })
      return waiting > MAX_WAITING ? chain : undefined
    },
    async close(signal) {
      if (waiting > 0 && !signal.aborted) {
        let stop: () => void = () => {}
        const stopped = new Promise<void>((resolve) => {
          stop = resolve
        })
        signal.addEventListener('abort', stop, { once: true })
        await Promise.race([chain, stopped])
        signal.removeEventListener('abort', stop)
      }
      closed = true
    },
  }
}

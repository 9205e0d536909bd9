/**
 * The events of one call on their way to its caller: in order, one at a time, none after the
 * outcome.
 *
 * A slow caller slows only what is its own. A connection shared with other calls is read on for
 * them; what then waits for this caller is bounded, and the oldest gives way to the newest.
 */
import type { CallEvent, Exchange } from '../../core/ports/upstream.ts'
import type { RpcNotification } from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { sliceOf } from '../wire/spans.ts'
import { ONCE, type CancelSignal } from './cancel.ts'

export interface EventQueue {
  /** @returns a promise when the peer should be read no further for this call until it settles. */
  push(notification: RpcNotification, revision: string): Promise<void> | undefined
  /** Waits for what was pushed, at most until the signal; takes nothing more. */
  close(signal: CancelSignal): Promise<void>
}

/** From here on a connection that is this call's alone is held back. */
const HOLD_BACK = { events: 64, bytes: 256 * 1024 }
/** What may wait at all; the newest always may. A burst that a caller is a moment behind with fits. */
const MOST_WAITING = { events: 1024, bytes: 1024 * 1024 }

interface Waiting {
  readonly event: CallEvent
  readonly size: number
}

/** Makes the queue of one call. @param onDropped told of each event its caller was too slow for. */
export function createEventQueue(exchange: Exchange, onDropped: () => void): EventQueue {
  const waiting: Waiting[] = []
  let bytes = 0
  let telling: Promise<void> | undefined
  let closed = false

  const remove = (index: number): CallEvent | undefined => {
    const [removed] = waiting.splice(index, 1)
    bytes -= removed?.size ?? 0
    return removed?.event
  }
  const tell = async (): Promise<void> => {
    for (let event = remove(0); event !== undefined; event = remove(0)) {
      try {
        await exchange.emit(event)
      } catch {
        // A caller that cannot be told must not change what happened.
      }
    }
    telling = undefined
  }
  const isAbove = (limit: typeof HOLD_BACK): boolean =>
    waiting.length > limit.events || bytes > limit.bytes
  const makeRoom = (): void => {
    while (waiting.length > 1 && isAbove(MOST_WAITING)) {
      // Each progress says where the work stands now; a log may not be said again.
      const oldest = waiting.findIndex(({ event }) => event.kind === 'progress')
      remove(oldest === -1 || oldest === waiting.length - 1 ? 0 : oldest)
      onDropped()
    }
  }

  return {
    push(notification, revision) {
      if (closed || notification.params === undefined) return undefined
      const params = sliceOf(notification.bytes, notification.params)
      const kind = notification.method === 'notifications/progress' ? 'progress' : 'log'
      waiting.push({ event: { kind, native: mcpNative(params, revision) }, size: params.length })
      bytes += params.length
      makeRoom()
      telling ??= Promise.resolve().then(tell)
      return isAbove(HOLD_BACK) ? telling : undefined
    },
    async close(signal) {
      if (telling !== undefined && !signal.aborted) {
        let stop: () => void = () => {}
        const stopped = new Promise<void>((resolve) => {
          stop = resolve
        })
        signal.addEventListener('abort', stop, ONCE)
        await Promise.race([telling, stopped])
        signal.removeEventListener('abort', stop)
      }
      closed = true
      waiting.length = 0
    },
  }
}

/** Requests of a server to its client, in session revisions: made, and matched to what comes back. */
import type { Json } from './peer.ts'

export interface SessionAsks {
  /** @param send puts the request with this id on the wire. */
  ask(send: (id: string) => void): Promise<Json>
  take(response: {
    readonly id?: string | number
    readonly result?: Json
    readonly error?: Json
  }): void
}

export function createSessionAsks(): SessionAsks {
  const open = new Map<string, PromiseWithResolvers<Json>>()
  let last = 0
  return {
    ask(send) {
      const id = `ask-${(last += 1)}`
      const asked = Promise.withResolvers<Json>()
      open.set(id, asked)
      send(id)
      return asked.promise
    },
    take({ id, result, error }) {
      const asked = open.get(String(id))
      open.delete(String(id))
      if (error !== undefined) asked?.reject(new Error(String(error['message'])))
      else asked?.resolve(result ?? {})
    },
  }
}

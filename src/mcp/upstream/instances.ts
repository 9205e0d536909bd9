/**
 * Which process or session of a server serves whom: two principals never share one, unless the server
 * keeps no state of its callers.
 *
 * Bounded: the one that was idle longest gives way, and where all are busy the call is refused, unsent.
 */
import type { Instance } from './instance.ts'
import { LinkFailure } from './link.ts'

export interface InstancesOptions {
  /** Beside the shared one. */
  readonly most: number
  /** One without calls for so long is ended, milliseconds. */
  readonly idleMs: number
}

export interface Instances {
  /** Lists, housekeeping, and the calls of whoever needs none of their own. */
  readonly shared: Instance
  /** The principal's own, made if there is none; kept until it is released. @throws LinkFailure `congested` */
  take(principal: string): { readonly instance: Instance; release(): void }
  all(): readonly Instance[]
  /** Ends all but the shared one; they are made anew when they are next used. */
  drop(): Promise<void>
  close(): Promise<void>
}

interface Own {
  readonly instance: Instance
  calls: number
  timer: NodeJS.Timeout | undefined
}

/** @param make makes one, the principal's own or the shared one; starts nothing yet. */
export function createInstances(
  peer: string,
  make: (principal?: string) => Instance,
  { most, idleMs }: InstancesOptions,
): Instances {
  const shared = make()
  /** The one used last comes last. */
  const own = new Map<string, Own>()
  const ending = new Set<Promise<void>>()
  let newest: string | undefined

  const end = (principal: string, one: Own): void => {
    own.delete(principal)
    if (newest === principal) newest = undefined
    clearTimeout(one.timer)
    const ended = one.instance.close().catch(() => {})
    ending.add(ended)
    void ended.finally(() => ending.delete(ended))
  }
  const makeRoom = (): void => {
    if (own.size < most) return
    const idle = [...own].find(([, { calls }]) => calls === 0)
    if (idle === undefined) {
      const what = `all ${most} processes or sessions of ${peer} are busy for other principals; nothing was sent. Try again later, or set \`stateless: true\` if it keeps no state of its callers`
      throw new LinkFailure('congested', false, what)
    }
    end(...idle)
  }
  const drop = async (): Promise<void> => {
    for (const [principal, one] of own) end(principal, one)
    await Promise.all(ending)
  }

  return {
    shared,
    take(principal) {
      let one = own.get(principal)
      if (one === undefined) {
        makeRoom()
        one = { instance: make(principal), calls: 0, timer: undefined }
      }
      const taken = one
      if (newest !== principal) {
        own.delete(principal)
        own.set(principal, taken)
        newest = principal
      }
      clearTimeout(taken.timer)
      taken.calls += 1
      return {
        instance: taken.instance,
        release() {
          taken.calls -= 1
          if (taken.calls > 0 || own.get(principal) !== taken) return
          taken.timer = setTimeout(() => end(principal, taken), idleMs)
          taken.timer.unref()
        },
      }
    },
    all: () => [shared, ...[...own.values()].map(({ instance }) => instance)],
    drop,
    async close() {
      await Promise.all([drop(), shared.close()])
    },
  }
}

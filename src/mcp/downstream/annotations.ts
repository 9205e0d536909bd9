/** Header annotations of tools that were called, so that a call never waits for a listing twice. */
import type { Route } from '../../core/words/route.ts'
import type { ParamHeaders } from '../wire/headers.ts'

/** Definitions that are remembered; beyond, all are read again. */
const MAX_REMEMBERED = 10_000

interface Known {
  readonly endpoint: string
  readonly fingerprint: string
  readonly headers: ParamHeaders
}

/** By name, endpoint and fingerprint: of one name there are few. */
export class Annotations {
  readonly #known = new Map<string, Known[]>()
  #size = 0

  find({ exposed, endpoint, fingerprint }: Route): ParamHeaders | undefined {
    const known = this.#known.get(exposed)
    if (known === undefined) return undefined
    for (const one of known)
      if (one.fingerprint === fingerprint && one.endpoint === endpoint) return one.headers
    return undefined
  }

  keep({ exposed, endpoint, fingerprint }: Route, headers: ParamHeaders): void {
    if (this.#size >= MAX_REMEMBERED) {
      this.#known.clear()
      this.#size = 0
    }
    this.#size += 1
    const one: Known = { endpoint, fingerprint, headers }
    this.#known.set(exposed, [...(this.#known.get(exposed) ?? []), one])
  }
}

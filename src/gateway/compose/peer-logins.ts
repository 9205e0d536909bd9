/**
 * Logging in to peers, as the host has it: nothing of it is loaded, and no token is opened, before there is a token or a peer
 * that wants one.
 */
import { existsSync } from 'node:fs'
import type { Credentials } from '../../mcp/upstream/credentials.ts'
import { tokenFileOf } from '../../store/tokens.ts'
import type { PeerCredentials } from '../auth/credentials.ts'
import type { LoginDesk, LoginDeskOptions } from '../auth/login-desk.ts'
import type { AuthPeer } from '../auth/oauth.ts'

/** What a peer's messages bear, and what must not be said of it. */
export interface PeerLogin {
  readonly credentials: Credentials
  mask(text: string): string
}

export interface PeerLogins {
  of(peer: AuthPeer): PeerLogin
  /** Calls back when somebody logged in or out, here or in another process. @returns the way to stop. */
  watch(listener: () => void): () => void
  close(): void
}

/** Makes the logins of one host; the tokens that are there already are opened at once. */
export async function openPeerLogins(options: LoginDeskOptions): Promise<PeerLogins> {
  const logins = new LazyLogins(options)
  if (existsSync(tokenFileOf(options.store))) await logins.desk()
  return logins
}

const NOTHING = {}

class LazyLogins implements PeerLogins {
  readonly #options: LoginDeskOptions
  readonly #watching = new Map<() => void, () => void>()
  #loading: Promise<LoginDesk> | undefined
  #desk: LoginDesk | undefined
  #closed = false

  constructor(options: LoginDeskOptions) {
    this.#options = options
  }

  of(peer: AuthPeer): PeerLogin {
    let own: PeerCredentials | undefined
    const now = (): PeerCredentials | undefined => (own ??= this.#desk?.credentialsOf(peer))
    return {
      credentials: {
        headersFor: (bearing) => now()?.headersFor(bearing) ?? NOTHING,
        afterRefusal: async (refusal, signal) =>
          (await this.desk()).credentialsOf(peer).afterRefusal(refusal, signal),
      },
      mask: (text) => own?.mask(text) ?? text,
    }
  }

  watch(listener: () => void): () => void {
    this.#watching.set(listener, this.#desk?.watch(listener) ?? nothing)
    return () => {
      this.#watching.get(listener)?.()
      this.#watching.delete(listener)
    }
  }

  close(): void {
    this.#closed = true
    for (const stop of this.#watching.values()) stop()
    this.#watching.clear()
    this.#desk?.close()
  }

  desk(): Promise<LoginDesk> {
    return (this.#loading ??= this.#load())
  }

  async #load(): Promise<LoginDesk> {
    const { createLoginDesk } = await import('../auth/login-desk.ts')
    const desk = createLoginDesk(this.#options)
    if (this.#closed) desk.close()
    for (const listener of this.#watching.keys()) this.#watching.set(listener, desk.watch(listener))
    return (this.#desk = desk)
  }
}

function nothing(): void {
  // There is nothing to watch yet.
}

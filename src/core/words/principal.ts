/** On whose behalf a call is made. Made by a door from a credential, never from anything a message says. */
export interface Principal {
  readonly id: string
  readonly groups: readonly string[]
  readonly via: 'local' | 'token' | 'operator'
}

/** Who the command line, the library and callers on loopback are. */
export const LOCAL: Principal = { id: 'local', groups: [], via: 'local' }

/** Who settles, approves and sees every task. */
export const OPERATOR: Principal = { id: 'operator', groups: [], via: 'operator' }

/** On whose behalf a call is made. Made by a door from a credential, never from anything a message says. */
export interface Principal {
  readonly id: string
  readonly groups: readonly string[]
  readonly via: 'local' | 'token' | 'operator'
}

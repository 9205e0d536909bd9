/** This process as the owner of a store: how it came to be, what it is busy with, how it is asked to end. */
import type { OwnerKind, StopInput } from './operator.ts'

/** What the one who opens a host says of the process. */
export interface OwnerOptions {
  readonly kind: OwnerKind
  /** Ends this process. Left out where it ends by itself only. */
  readonly stop?: (input: StopInput) => void
}

/** As the verbs and the idle watch see it. */
export interface Owner extends OwnerOptions {
  /** Milliseconds since the epoch. */
  readonly since: number
  readonly socket?: string
  readonly recovered: number
  pipes(): number
  /** Calls and delegations whose outcome is still to come. */
  acts(): number
  configChanged(): boolean
}

/** How each kind is called in a sentence. */
export const OWNER_WORDS = {
  up: 'comity up',
  shared: 'the background process of stdio hosts',
  standalone: 'comity mcp --standalone, for one host alone',
  library: 'a program that embeds comity',
  command: 'a command that ends by itself',
} as const satisfies Record<OwnerKind, string>

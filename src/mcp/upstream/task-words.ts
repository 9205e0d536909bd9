/** What is said of a server's tasks, and how often they are looked at, whichever form they have. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Outcome } from '../../core/words/outcome.ts'
import type { RpcError } from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'

/** One request about a task, milliseconds. */
export const ASK_MS = 30_000
/** Answers that make no sense, in a row, before it is said that nobody knows. */
export const MOST_FAULTS = 5

const DEFAULT_POLL_MS = 1_000
const SHORTEST_POLL_MS = 50
const LONGEST_POLL_MS = 60_000

/** Nobody knows what became of it: its server does not tell. */
export function unclear(peer: string, what: string): Outcome {
  return { state: 'unknown', because: 'peer_unclear', detail: `${peer}: ${what}` }
}

/** The server does not know the task. */
export function isGone({ code }: RpcError): boolean {
  return code === RPC_ERRORS.invalidParams || code === RPC_ERRORS.methodNotFound
}

export function sayError({ code, message }: RpcError): string {
  return `error ${code}: ${message.slice(0, 500)}`
}

/** Equal for news that say nothing new. */
export function sayOf(outcome: Outcome): string {
  if (outcome.state === 'working') return `working ${outcome.text ?? ''}`
  if (outcome.state !== 'input_required') return outcome.state
  return `asks ${outcome.questions.map(({ key }) => JSON.stringify(key)).join()}`
}

/** How long until the next look, milliseconds. @param pollMs as the server wants it. */
export function pauseOf(pollMs: number = DEFAULT_POLL_MS): number {
  return Math.min(Math.max(pollMs, SHORTEST_POLL_MS), LONGEST_POLL_MS)
}

/** Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.min(ms, LONGEST_POLL_MS), undefined, { signal }).catch(() => undefined)
}

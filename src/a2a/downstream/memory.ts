/**
 * What the door remembers of its tasks, a principal each, in memory and bounded: a restart forgets it. Which message made
 * which call does outlive it, in the record (`NewCall.idempotency`); this only spares the way there.
 *
 * Which message made which task (a repeated messageId is the same task), tasks without a row in the store (a question which
 * skill is meant, a refusal before anything ran), and what is known of a call beyond its row. Rows themselves outlive this.
 * The oldest goes first; what is still running stays.
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import type { RpcFault } from './errors.ts'
import type { SkillOffer } from './skills.ts'

/** Work of this process behind a task. */
export interface Work {
  readonly running: () => boolean
  /** Resolves, never rejects, when the reply is on record. */
  readonly done: Promise<void>
  /** What came of it, once it has. */
  readonly dispatched: () => Dispatched | undefined
  /** Asks the peer to stop, in its hop's form. */
  readonly cancel: () => void
  /** The one who waited for it is gone; the work goes on. */
  readonly callerGone: () => void
}

/** Where a remembered task stands. */
export type Stand =
  | {
      readonly kind: 'asking'
      readonly why: string
      readonly offers: readonly SkillOffer[]
      /** Text of the messages so far, for a skill that takes it. */
      readonly text: string
    }
  /** A skill was chosen; the call is being opened. */
  | { readonly kind: 'placing' }
  | { readonly kind: 'placed'; readonly task: TaskRecord; readonly work: Work }
  | { readonly kind: 'refused'; readonly dispatched: Dispatched }
  | { readonly kind: 'no_skill' }
  | { readonly kind: 'canceled' }

/** A task as this door remembers it. */
export interface HeldTask {
  /** As the caller knows it; that of the row, when the first message made one. */
  readonly id: string
  readonly agent: string
  readonly contextId: string
  /** The caller's last message as received, when it was small. */
  message: string | undefined
  stand: Stand
  /** ISO string of the last change of `stand`. */
  since: string
}

/** What a message made: a task, or the fault it was refused with. */
export type Begun = { readonly kind: 'held'; readonly task: HeldTask } | RpcFault

/** One message that was taken. */
export interface Taken {
  /** Of the message's canonical form. */
  readonly digest: string
  readonly begun: Promise<Begun>
}

/** One principal's part. */
export interface Memory {
  taken(agent: string, messageId: string): Taken | undefined
  /** Remembers a message before its work begins; one that made no task is forgotten again. */
  take(agent: string, messageId: string, digest: string, begin: () => Promise<Begun>): Taken
  task(agent: string, id: string): HeldTask | undefined
  keep(task: HeldTask): void
  /** Every place is taken by running work. */
  isFull(): boolean
}

/** All principals' memories. */
export interface Memories {
  of(principal: Principal): Memory
}

/** Opens empty memories. */
export function createMemories(maxHeld: number, maxPrincipals: number): Memories {
  const memories = new Map<string, Memory & { readonly isBusy: () => boolean }>()
  return {
    of: (principal) => {
      const known = memories.get(principal.id)
      if (known !== undefined) {
        // Used last stands last: the first in the map is the first to go.
        memories.delete(principal.id)
        memories.set(principal.id, known)
        return known
      }
      trim(memories, maxPrincipals - 1, (memory) => memory.isBusy())
      const fresh = createMemory(maxHeld)
      memories.set(principal.id, fresh)
      return fresh
    },
  }
}

function createMemory(max: number): Memory & { readonly isBusy: () => boolean } {
  const messages = new Map<string, Taken & { open: boolean; task?: HeldTask }>()
  const tasks = new Map<string, HeldTask>()
  const isOpen = ({ open, task }: { open: boolean; task?: HeldTask }): boolean =>
    open || (task !== undefined && isRunning(task))
  const openMessages = (): number => [...messages.values()].filter(isOpen).length
  const busyTasks = (): number => [...tasks.values()].filter(isRunning).length
  return {
    taken: (agent, messageId) => messages.get(keyOf(agent, messageId)),
    take: (agent, messageId, digest, begin) => {
      trim(messages, max - 1, isOpen)
      const key = keyOf(agent, messageId)
      const taken: Taken & { open: boolean; task?: HeldTask } = {
        digest,
        open: true,
        begun: begin(),
      }
      messages.set(key, taken)
      const forget = (): void => void messages.delete(key)
      taken.begun.then((begun) => {
        taken.open = false
        if (begun.kind === 'held') taken.task = begun.task
        else forget()
      }, forget)
      return taken
    },
    task: (agent, id) => tasks.get(keyOf(agent, id)),
    keep: (task) => {
      trim(tasks, max - 1, isRunning)
      tasks.set(keyOf(task.agent, task.id), task)
    },
    isFull: () =>
      (tasks.size >= max && busyTasks() >= max) || (messages.size >= max && openMessages() >= max),
    isBusy: () => openMessages() > 0 || busyTasks() > 0,
  }
}

function isRunning({ stand }: HeldTask): boolean {
  return stand.kind === 'placing' || (stand.kind === 'placed' && stand.work.running())
}

/** Drops the oldest that may go until at most `size` are left. */
function trim<T>(map: Map<string, T>, size: number, stays: (value: T) => boolean): void {
  if (map.size <= size) return
  for (const [key, value] of map) {
    if (map.size <= size) return
    if (!stays(value)) map.delete(key)
  }
}

function keyOf(agent: string, id: string): string {
  return JSON.stringify([agent, id])
}

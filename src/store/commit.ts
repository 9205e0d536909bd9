/**
 * Group commit, the side that the main thread sees: a batch is whatever queued while the last commit ran, and where several
 * wait at a time, what comes within a moment after. A commit costs as much as ten of the writes in it.
 *
 * Writes that nobody waits for may lie up to 40 ms, those about a read under way twice that: told whole it costs a third. Those
 * that the disk refuses are kept, in order, and tried again; those that somebody waits for are refused. Nothing that was queued is dropped silently: past the bound it is counted.
 */
import { Worker } from 'node:worker_threads'

import type { Clock } from '../core/ports/world.ts'
import { ComityError, type ComityErrorCode } from '../core/words/errors.ts'
import type { CheckpointPace } from './checkpoint-keeper.ts'
import { type BatchForm, BatchWriter } from './batch-form.ts'
import {
  type Applied,
  type BatchDone,
  type ChainHead,
  type Command,
  type CommitTask,
  type Intent,
  type PayloadBytes,
  plainAnswer,
} from './commands.ts'
import { SharedTexts } from './shared-texts.ts'

/** How long a write that nobody waits for may lie. */
const LAZY_MS = 40
/** How long those who wait are held for others to join them, once so many were there at a time. */
const GATHER_MS = 2
const CROWD = 4
/** How soon kept writes are tried again. */
const RETRY_MS = 1000
/** Most commands in one transaction. */
const MAX_BATCH = 512
/** Most commands that may wait, and most bytes of payloads and parts in them. */
const MAX_QUEUED = 10_000
const MAX_QUEUED_BYTES = 536_870_912

export interface WorkerStart {
  readonly file: string
  /** Names this owner; random. */
  readonly run: string
  /** The clock's word at opening, epoch milliseconds. */
  readonly now: number
  readonly maxBytes?: number
  readonly checkpoints?: CheckpointPace
}

export type ToWorker =
  | { readonly do: 'commit'; readonly batch: BatchForm }
  | { readonly do: 'close' }

export type FromWorker =
  | { readonly did: 'open'; readonly head: ChainHead }
  | { readonly did: 'refuse'; readonly code: ComityErrorCode; readonly message: string }
  | ({ readonly did: 'commit' } & BatchDone)
  /** Something that nobody waits for went wrong. */
  | { readonly did: 'fault'; readonly code: ComityErrorCode; readonly message: string }
  | { readonly did: 'closed' }

/** A command on its way. */
export interface Queued {
  readonly command: Command
  bytes: number
  /** True words about what happened: tried again when the disk refused them. */
  readonly keep: boolean
  readonly done?: (applied: Applied) => void
  /** Since when it may lie until the end of its call is said by it, too (`performance.now`). */
  lies?: number | undefined
  isSent?: boolean
}

export interface CommitOptions {
  readonly clock: Clock
  /** Told of faults that no caller waits for. */
  readonly onFault: (fault: ComityError) => void
  readonly onTouched: (taskIds: readonly string[]) => void
}

export class Committer {
  /** What entries share. */
  readonly texts = new SharedTexts()
  readonly #worker: Worker
  readonly #options: CommitOptions
  readonly #writer = new BatchWriter()
  #queue: Queued[] = []
  /** Of all that waits or flies. */
  #bytes = 0
  #flying: readonly Queued[] | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #scheduled = false
  /** Of those in the queue, how many somebody waits for. */
  #waiting = 0
  #gathering: ReturnType<typeof setTimeout> | undefined
  /** How many waited for the last batch, or came while it ran. */
  #crowd = 0
  #batches = 0
  #unrecorded = 0
  #unwritable = false
  /** What the disk refused and is kept fills the next batch alone: what comes behind it is not even tried. */
  #isStuck = false
  #dead: ComityError | undefined
  #idle: (() => void)[] = []
  #closed: (() => void) | undefined

  /** @param worker one that has answered `open`. */
  constructor(worker: Worker, options: CommitOptions) {
    this.#worker = worker
    this.#options = options
    worker.on('message', (message: FromWorker) => this.#receive(message))
    worker.on('error', (error: unknown) => this.#die(error))
    worker.on('exit', () => this.#die(undefined))
    worker.unref()
  }

  /** Counts up as batches are sent: what was queued before may be on its way. */
  get batches(): number {
    return this.#batches
  }

  /** The clock's word for what is being said. */
  now(): number {
    return this.#options.clock.now()
  }

  /** Writes and waits. @throws ComityError as the command's answer says; `store_unwritable` when the disk refuses. */
  submit(intent: Intent, options?: { readonly keep?: boolean }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const done = (applied: Applied): void => {
        if (applied.ok) resolve(applied.value)
        else reject(new ComityError(applied.code, applied.message))
      }
      const refusal = this.#refusal()
      if (refusal === undefined && this.#isStuck) {
        // Kept as if the disk had refused it: whoever waits is not to wait for those before it.
        if (options?.keep === true) this.#push(intent, true, undefined)
        done(this.#behind())
      } else if (refusal === undefined) {
        this.#waiting += 1
        this.#push(intent, options?.keep === true, done)
        this.#sendSoon()
      } else {
        if (options?.keep === true) this.#unrecorded += 1
        done(refusal)
      }
    })
  }

  /**
   * Writes with the next commit; nobody waits.
   *
   * @param lies the next one may go without it, while the end of its call is not said.
   * @returns undefined when it is only counted.
   */
  enqueue(intent: Intent, lies = false): Queued | undefined {
    if (this.#refusal() !== undefined) {
      this.#unrecorded += 1
      return undefined
    }
    const queued = this.#push(intent, true, undefined)
    if (lies) queued.lies = performance.now()
    if (this.#flying === undefined) this.#sendLater()
    return queued
  }

  /** More is said by a command that is queued still. @returns false when it is only counted. */
  extend(queued: Queued, bytes: number): boolean {
    if (this.#refusal() !== undefined) {
      this.#unrecorded += 1
      return false
    }
    queued.bytes += bytes
    this.#bytes += bytes
    return true
  }

  /** Resolves when everything queued so far has had its try. */
  async flush(): Promise<void> {
    // What waits goes out in several batches; the next may be under way before this one is told of the last.
    for (let tried = false; this.#dead === undefined && !(tried && this.#unwritable);) {
      if (this.#flying === undefined) {
        if (this.#queue.length === 0) return
        this.#send(true)
        tried = true
      }
      await new Promise<void>((idle) => this.#idle.push(idle))
    }
  }

  /** Flushes and ends the worker. */
  async close(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
    if (this.#dead !== undefined) return
    const left = this.#queue.length + this.#unrecorded
    if (left > 0) {
      this.#options.onFault(
        new ComityError('store_unwritable', `${left} records could not be written before the end`),
      )
    }
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve
    })
    this.#worker.ref()
    this.#dead = new ComityError('store_unwritable', 'the store is closed')
    this.#worker.postMessage({ do: 'close' } satisfies ToWorker)
    await closed
  }

  #push(intent: Intent, keep: boolean, done: Queued['done']): Queued {
    const bytes = weigh(intent)
    this.#bytes += bytes
    const command = intent.do === 'call' ? intent : { ...intent, now: this.now() }
    const queued = done === undefined ? { command, bytes, keep } : { command, bytes, keep, done }
    this.#queue.push(queued)
    return queued
  }

  #refusal(): Applied | undefined {
    if (this.#dead !== undefined) {
      return { ok: false, unwritable: true, code: this.#dead.code, message: this.#dead.message }
    }
    if (this.#queue.length < MAX_QUEUED && this.#bytes < MAX_QUEUED_BYTES) return undefined
    return this.#behind()
  }

  #behind(): Applied & { readonly ok: false } {
    return {
      ok: false,
      unwritable: true,
      code: 'store_unwritable',
      message: `the record is ${this.#queue.length} writes behind its disk: try again when it has caught up`,
    }
  }

  #arm(delayMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#send()
    }, delayMs)
  }

  /** For what nobody waits for. What fills a batch has no more to wait for either, while the disk takes it. */
  #sendLater(): void {
    if (this.#unwritable) this.#arm(RETRY_MS)
    else if (this.#queue.length >= MAX_BATCH) this.#sendNext()
    else this.#arm(LAZY_MS)
  }

  #sendSoon(): void {
    if (this.#scheduled || this.#flying !== undefined) return
    if (!this.#gather()) this.#sendNext()
  }

  /** @returns false when there is nobody to wait for. */
  #gather(): boolean {
    if (this.#crowd < CROWD || this.#waiting >= this.#crowd) return false
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#send()
    }, GATHER_MS)
    return true
  }

  #sendNext(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // Calls that came in the same turn of the loop share the barrier, each on a connection of its own.
    setImmediate(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  #send(everything = false): void {
    if (this.#flying !== undefined || this.#queue.length === 0 || this.#dead !== undefined) return
    clearTimeout(this.#timer)
    clearTimeout(this.#gathering)
    this.#timer = this.#gathering = undefined
    const flying = this.#takeBatch(everything)
    if (flying.length === 0) {
      this.#arm(LAZY_MS)
      return
    }
    this.#flying = flying
    this.#batches += 1
    this.#crowd = flying.filter(isAwaited).length
    this.#waiting -= this.#crowd
    this.#worker.ref()
    const form = this.#writer.write(flying.map((queued) => queued.command))
    const texts = this.texts.take()
    const batch = texts.length === 0 ? form : { ...form, texts }
    this.#worker.postMessage({ do: 'commit', batch } satisfies ToWorker)
  }

  /** Takes out of the queue, in order, what flies next. */
  #takeBatch(everything: boolean): readonly Queued[] {
    const mayLie = !everything && this.#queue.length < MAX_BATCH
    const since = performance.now() - LAZY_MS
    const flying: Queued[] = []
    const left: Queued[] = []
    for (const queued of this.#queue) {
      if (flying.length < MAX_BATCH && !(mayLie && isUnderWay(queued, since))) {
        queued.isSent = true
        flying.push(queued)
      } else left.push(queued)
    }
    this.#queue = left
    return flying
  }

  #receive(message: FromWorker): void {
    if (message.did === 'closed') this.#closed?.()
    if (message.did === 'fault')
      this.#options.onFault(new ComityError(message.code, message.message))
    if (message.did !== 'commit') return
    const flown = this.#flying ?? []
    this.#flying = undefined
    this.#worker.unref()
    this.#crowd += this.#waiting
    const told = new Map(message.applied)
    const again: Queued[] = []
    let refused: ComityError | undefined
    let place = 0
    for (const queued of flown) {
      const applied = told.get(place++) ?? { ok: true, value: plainAnswer(queued.command) }
      queued.done?.(applied)
      if (!applied.ok && applied.unwritable && queued.keep) {
        again.push({ command: queued.command, bytes: queued.bytes, keep: true })
      } else this.#bytes -= queued.bytes
      if (applied.ok) continue
      const fault = new ComityError(applied.code, applied.message)
      if (applied.unwritable) refused = fault
      else if (queued.done === undefined) this.#options.onFault(fault)
    }
    if (again.length > 0) this.#queue = [...again, ...this.#queue]
    this.#judgeDisk(refused)
    this.#isStuck = again.length >= MAX_BATCH
    if (this.#isStuck) this.#refuseBehind()
    if (message.touched.length > 0) this.#options.onTouched(message.touched)
    this.#next()
  }

  /** Those who wait behind what fills the next batch. */
  #refuseBehind(): void {
    const behind = this.#queue.slice(MAX_BATCH)
    const refusal = this.#behind()
    const left = this.#queue.slice(0, MAX_BATCH)
    for (const queued of behind) {
      const { command, bytes, keep, done } = queued
      if (done === undefined) left.push(queued)
      else {
        this.#waiting -= 1
        done(refusal)
        if (keep) left.push({ command, bytes, keep })
        else this.#bytes -= bytes
      }
    }
    this.#queue = left
  }

  #judgeDisk(refused: ComityError | undefined): void {
    if (refused !== undefined && !this.#unwritable) this.#options.onFault(refused)
    this.#unwritable = refused !== undefined
    if (!this.#unwritable && this.#unrecorded > 0) {
      const count = this.#unrecorded
      this.#unrecorded = 0
      this.enqueue({ do: 'unrecorded', count })
    }
  }

  #next(): void {
    for (const idle of this.#idle.splice(0)) idle()
    if (this.#flying !== undefined || this.#queue.length === 0) return
    if (this.#waiting === 0) this.#sendLater()
    else if (!this.#gather()) this.#send()
  }

  #die(cause: unknown): void {
    if (this.#dead !== undefined) {
      this.#closed?.()
      return
    }
    this.#dead = new ComityError(
      'store_unwritable',
      `the store's writer has ended${cause instanceof Error ? ` (${cause.message})` : ''}: start comity again`,
      { cause },
    )
    const refusal = this.#refusal()
    const lost = [...(this.#flying ?? []), ...this.#queue]
    this.#flying = undefined
    this.#queue = []
    this.#waiting = 0
    if (refusal !== undefined) for (const queued of lost) queued.done?.(refusal)
    for (const idle of this.#idle.splice(0)) idle()
    clearTimeout(this.#timer)
    clearTimeout(this.#gathering)
    this.#options.onFault(this.#dead)
  }
}

function isUnderWay({ command, lies }: Queued, since: number): boolean {
  return lies !== undefined && lies > since && command.do === 'call' && command.settled === null
}

function isAwaited({ done }: Queued): boolean {
  return done !== undefined
}

/** What of a command can be large. */
function weigh(intent: Intent): number {
  if (intent.do === 'call') {
    const { opened, settled } = intent
    return weighPayload(opened?.payload ?? null) + weighPayload(settled?.payload ?? null)
  }
  const payload = 'payload' in intent ? weighPayload(intent.payload) : 0
  if (intent.do === 'settle') return payload + weighParts(intent.task)
  return intent.do === 'task_commit' ? weighParts(intent.commit) : payload
}

/** Bytes of a payload that wait with its command. */
export function weighPayload(payload: PayloadBytes | null): number {
  if (payload === null || 'digest' in payload) return 0
  if ('latin1' in payload) return payload.latin1.length
  return 'room' in payload ? payload.room.byteLength : payload.bytes.byteLength
}

function weighParts(commit: CommitTask | null): number {
  const parts = commit?.writes.flatMap((write) => write.parts) ?? []
  return parts.reduce((sum, part) => sum + part.content.byteLength, 0)
}

/** Starts the worker and waits until it owns a sound store. @throws ComityError as the worker refuses. */
export async function startWriter(start: WorkerStart, options: CommitOptions): Promise<Committer> {
  // The compiler does not rewrite this URL: the worker is emitted beside this file, in this file's own form.
  const form = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`./commit-worker.${form}`, import.meta.url), {
    workerData: start,
    name: 'comity-store',
  })
  const first = await new Promise<FromWorker>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the store worker ended before it was ready')))
  })
  worker.removeAllListeners('message').removeAllListeners('error').removeAllListeners('exit')
  if (first.did === 'refuse') throw new ComityError(first.code, first.message)
  return new Committer(worker, options)
}

/**
 * The form in which a batch crosses to the worker: the words about calls as one text and their payloads behind it, in memory
 * that both threads see. Each object and each array of bytes would cost the two threads a microsecond and more.
 *
 * One batch is under way at a time, so the memory is used again for the next. What is rare, or hangs on tasks and approvals,
 * crosses as the objects it is made of.
 */
import type { EntryKind } from '../core/words/entry.ts'
import type {
  CallWords,
  Command,
  NoteWords,
  OpenWords,
  Payload,
  PayloadBytes,
  SettleWords,
} from './commands.ts'
import { SALT_BYTES } from './payload-limits.ts'
import type { SharedText } from './shared-texts.ts'

/** A batch as it is sent. */
export interface BatchForm {
  /** Sent where it is new: first the words (UTF-8), then the payloads. */
  readonly memory?: SharedArrayBuffer
  /** How many bytes the words take: of each command what it is made of, then its parts, a line each. Facts are JSON, so no line has a line feed in it. */
  readonly words: number
  /** Payloads that are too large to be copied twice. */
  readonly large: readonly Uint8Array[]
  readonly others: readonly Exclude<Command, CallWords>[]
  /** Texts whose marks are in the words of this batch or of later ones. */
  readonly texts?: readonly SharedText[]
}

const OTHER = '-'
const ROOM = '\0'.repeat(SALT_BYTES)

const SMALLEST = 65_536
/** Most memory that is kept from batch to batch. */
const MAX_KEPT = 8_388_608

/** Puts batches into their form, each where the one before stood: that one must have been answered. */
export class BatchWriter {
  #memory: Buffer = Buffer.alloc(0)
  readonly #words: string[] = []
  /** One byte in each character; before each payload there is room for its salt. */
  readonly #bytes: string[] = []
  #large: Uint8Array[] = []

  write(commands: readonly Command[]): BatchForm {
    const others: Exclude<Command, CallWords>[] = []
    for (const command of commands) {
      if (command.do === 'call') this.#call(command)
      else {
        this.#words.push(OTHER)
        others.push(command)
      }
    }
    const words = this.#words.join('\n')
    const bytes = this.#bytes.join('')
    const large = this.#large
    this.#words.length = this.#bytes.length = 0
    this.#large = []
    const memory = this.#makeRoom(words.length * 3 + bytes.length)
    const written = this.#memory.write(words, 'utf8')
    this.#memory.write(bytes, written, 'latin1')
    const form = { words: written, large, others }
    return memory === undefined ? form : { memory, ...form }
  }

  #call({ callId, opened, notes, settled }: CallWords): void {
    const words = this.#words
    const shape = (opened === null ? 0 : 1) + (settled === null ? 0 : 2) + notes.length * 4
    words.push(String(shape), JSON.stringify(callId))
    if (opened !== null) {
      const { now, openedAt, sideEffect, actKey, principal, facts } = opened
      words.push(openedAt === now ? String(now) : `${now} ${openedAt}`)
      words.push(sideEffect ? JSON.stringify(actKey) : '', JSON.stringify(principal))
      words.push(facts.head, facts.tail)
      this.#payload(opened.payload)
    }
    for (const { now, kind, facts } of notes) words.push(String(now), kind, facts)
    if (settled !== null) {
      const { now, state, neverRan, outcome } = settled
      words.push(String(now), neverRan ? `${state} never` : state, outcome.head, outcome.tail)
      this.#payload(settled.payload)
    }
  }

  #payload(given: PayloadBytes | null): void {
    if (given === null) this.#words.push('')
    else if ('latin1' in given) {
      this.#words.push(`${given.kind} ${given.latin1.length}`)
      this.#bytes.push(ROOM, given.latin1)
    } else if ('digest' in given) {
      this.#words.push(`${given.kind} ${given.size} ${given.digest}`)
      this.#bytes.push(given.salt)
    } else {
      this.#words.push(given.kind)
      this.#large.push('room' in given ? given.room.subarray(SALT_BYTES) : given.bytes)
    }
  }

  /** @returns the memory, where it is another than before. */
  #makeRoom(needed: number): SharedArrayBuffer | undefined {
    const { byteLength } = this.#memory
    if (needed <= byteLength && byteLength <= MAX_KEPT) return undefined
    let size = SMALLEST
    while (size < needed) size *= 2
    const memory = new SharedArrayBuffer(size)
    this.#memory = Buffer.from(memory)
    return memory
  }
}

/** Reads batches. What comes of one holds until the next is read. */
export class BatchReader {
  #memory: Buffer = Buffer.alloc(0)
  #words = ''
  #at = 0
  #used = 0
  #large: readonly Uint8Array[] = []
  #largeAt = 0
  /** The newest, since nearly all are the same. */
  #principal = { text: '""', id: '' }

  #call(shape: number): CallWords {
    const callId = parseText(this.#next())
    const opened = (shape & 1) === 0 ? null : this.#opened()
    const notes: NoteWords[] = []
    for (let left = shape >> 2; left > 0; left -= 1) {
      const now = Number(this.#next())
      notes.push({ now, kind: this.#next() as EntryKind, facts: this.#next() })
    }
    return {
      do: 'call',
      callId,
      opened,
      notes,
      settled: (shape & 2) === 0 ? null : this.#settled(),
    }
  }

  /** The commands of a batch, read as they are asked for: a whole batch of objects would outlive many collections. */
  *read({ memory, words, large, others }: BatchForm): Generator<Command, void> {
    if (memory !== undefined) this.#memory = Buffer.from(memory)
    this.#words = this.#memory.toString('utf8', 0, words)
    this.#large = large
    this.#at = this.#largeAt = 0
    this.#used = words
    let other = 0
    while (this.#at < this.#words.length) {
      const shape = this.#next()
      const command = shape === OTHER ? others[other++] : this.#call(Number(shape))
      if (command !== undefined) yield command
    }
    this.#words = ''
    this.#large = []
  }

  #opened(): OpenWords {
    const times = this.#next()
    const space = times.indexOf(' ')
    const now = Number(space < 0 ? times : times.slice(0, space))
    const act = this.#next()
    return {
      now,
      openedAt: space < 0 ? now : Number(times.slice(space + 1)),
      sideEffect: act !== '',
      actKey: act === '' ? '' : parseText(act),
      principal: this.#principalOf(this.#next()),
      facts: { head: this.#next(), tail: this.#next() },
      payload: this.#payload() ?? NOTHING,
    }
  }

  #settled(): SettleWords {
    const now = Number(this.#next())
    const state = this.#next()
    return {
      now,
      state: state.startsWith('settled') ? 'settled' : 'unknown',
      neverRan: state.endsWith(' never'),
      outcome: { head: this.#next(), tail: this.#next() },
      payload: this.#payload(),
    }
  }

  #payload(): PayloadBytes | null {
    const said = this.#next()
    if (said === '') return null
    const [kind = '', size, digest] = said.split(' ')
    return { kind: kind as PayloadBytes['kind'], ...this.#bytes(size, digest) }
  }

  #bytes(size: string | undefined, digest: string | undefined): Payload {
    if (size === undefined) return { bytes: this.#large[this.#largeAt++] ?? NO_BYTES }
    const start = this.#used
    if (digest !== undefined) {
      this.#used += SALT_BYTES
      return {
        digest,
        size: Number(size),
        salt: this.#memory.toString('latin1', start, this.#used),
      }
    }
    this.#used += SALT_BYTES + Number(size)
    return { room: this.#memory.subarray(start, this.#used) }
  }

  #principalOf(text: string): string {
    if (this.#principal.text !== text) {
      const id = parseText(text)
      this.#principal = { text: JSON.stringify(id), id }
    }
    return this.#principal.id
  }

  #next(): string {
    const end = this.#words.indexOf('\n', this.#at)
    const word = end < 0 ? this.#words.slice(this.#at) : this.#words.slice(this.#at, end)
    this.#at = end < 0 ? this.#words.length : end + 1
    return word
  }
}

/** A text of its own: a piece of the batch's would keep the whole batch for as long as its call is held. */
function parseText(text: string): string {
  return JSON.parse(text) as string
}

const NO_BYTES = new Uint8Array()
const NOTHING: PayloadBytes = { kind: 'arguments', bytes: NO_BYTES }

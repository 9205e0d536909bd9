/**
 * The form in which a batch crosses to the worker: the words about calls as one text, their payloads as one more. Texts are
 * copied as they stand, while each object and each array of bytes costs the two threads a microsecond and more.
 *
 * What is rare, or hangs on tasks and approvals, crosses as the objects it is made of.
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

/** A batch as it is sent. */
export interface BatchForm {
  /** Of each command: what it is made of, then its parts, a line each. Facts are JSON, so no line has a line feed in it. */
  readonly words: string
  /** Payloads and salts one after the other, one byte in each character; before each payload there is room for its salt. */
  readonly bytes: string
  /** Payloads that are too large to be copied as text. */
  readonly large: readonly Uint8Array[]
  readonly others: readonly Exclude<Command, CallWords>[]
}

const OTHER = '-'
const ROOM = '\0'.repeat(SALT_BYTES)

/** Puts a batch into its form. */
export function encodeBatch(commands: readonly Command[]): BatchForm {
  const words: string[] = []
  const bytes: string[] = []
  const large: Uint8Array[] = []
  const others: Exclude<Command, CallWords>[] = []
  const payload = (given: PayloadBytes | null): void => {
    if (given === null) words.push('')
    else if ('latin1' in given) {
      words.push(`${given.kind} ${given.latin1.length}`)
      bytes.push(ROOM, given.latin1)
    } else if ('digest' in given) {
      words.push(`${given.kind} ${given.size} ${given.digest}`)
      bytes.push(given.salt)
    } else {
      words.push(given.kind)
      large.push('room' in given ? given.room.subarray(SALT_BYTES) : given.bytes)
    }
  }
  for (const command of commands) {
    if (command.do !== 'call') {
      words.push(OTHER)
      others.push(command)
      continue
    }
    const { callId, opened, notes, settled } = command
    const shape = (opened === null ? 0 : 1) + (settled === null ? 0 : 2) + notes.length * 4
    words.push(String(shape), JSON.stringify(callId))
    if (opened !== null) {
      const { now, openedAt, sideEffect, actKey, principal, facts } = opened
      const times = openedAt === now ? String(now) : `${now} ${openedAt}`
      words.push(times, sideEffect ? `+${actKey}` : '', JSON.stringify(principal))
      words.push(facts.head, facts.tail)
      payload(opened.payload)
    }
    for (const { now, kind, facts } of notes) words.push(String(now), kind, facts)
    if (settled !== null) {
      const { now, state, neverRan, outcome } = settled
      words.push(String(now), neverRan ? `${state} never` : state, outcome.head, outcome.tail)
      payload(settled.payload)
    }
  }
  return { words: words.join('\n'), bytes: bytes.join(''), large, others }
}

/** Most bytes of the room for payloads that is kept from batch to batch. */
const MAX_KEPT = 4_194_304

/** Reads batches. What comes of one holds until the next is read: payloads stand in room that is used again. */
export class BatchReader {
  #room = Buffer.alloc(65_536)
  #words: readonly string[] = []
  #at = 0
  #used = 0
  #large: readonly Uint8Array[] = []
  #largeAt = 0
  /** The newest, since nearly all are the same. */
  #principal = { text: '""', id: '' }

  read({ words, bytes, large, others }: BatchForm): readonly Command[] {
    if (this.#room.byteLength < bytes.length || this.#room.byteLength > MAX_KEPT)
      this.#room = Buffer.alloc(Math.max(65_536, bytes.length * 2))
    this.#room.write(bytes, 'latin1')
    this.#words = words.split('\n')
    this.#large = large
    this.#at = this.#used = this.#largeAt = 0
    const commands: Command[] = []
    let other = 0
    while (this.#at < this.#words.length) {
      const shape = this.#next()
      const command = shape === OTHER ? others[other++] : this.#call(Number(shape))
      if (command !== undefined) commands.push(command)
    }
    this.#words = this.#large = []
    return commands
  }

  #call(shape: number): CallWords {
    const callId = JSON.parse(this.#next()) as string
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

  #opened(): OpenWords {
    const times = this.#next()
    const space = times.indexOf(' ')
    const now = Number(space < 0 ? times : times.slice(0, space))
    const act = this.#next()
    const principal = this.#next()
    if (this.#principal.text !== principal)
      this.#principal = { text: principal, id: JSON.parse(principal) as string }
    return {
      now,
      openedAt: space < 0 ? now : Number(times.slice(space + 1)),
      sideEffect: act !== '',
      actKey: act.slice(1),
      principal: this.#principal.id,
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
      return { digest, size: Number(size), salt: this.#room.toString('latin1', start, this.#used) }
    }
    this.#used += SALT_BYTES + Number(size)
    return { room: this.#room.subarray(start, this.#used) }
  }

  #next(): string {
    const word = this.#words[this.#at] ?? ''
    this.#at += 1
    return word
  }
}

const NO_BYTES = new Uint8Array()
const NOTHING: PayloadBytes = { kind: 'arguments', bytes: NO_BYTES }

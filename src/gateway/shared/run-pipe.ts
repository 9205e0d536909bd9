/**
 * The thin pipe: a host's stdio on one side, whoever owns the store on the other, over as many owners as there come to be.
 *
 * Loads no host and no store. What was said is kept as far as the next owner has to know it; the rest is the owner's.
 */
import type { Readable, Writable } from 'node:stream'
import { encodeError } from '../../mcp/wire/json-rpc.ts'
import { RPC_ERRORS } from '../../mcp/wire/rev-2026-07-28.ts'
import { createLineReader } from '../../mcp/downstream/lines.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Absent, OpenPipe } from './find-owner.ts'
import { openOwnerLink, type OwnerLink, untilDrained } from './owner-link.ts'
import { createPipeMemory, type PipeMemory } from './pipe-memory.ts'
import type { DrainReason } from './wire.ts'

export interface PipeOptions {
  readonly input: Readable
  /** Protocol and nothing else. */
  readonly output: Writable
  /** @throws ComityError saying why there is none. */
  readonly find: (absent: Absent) => Promise<OpenPipe>
  /** For people. @param serious the host is not served as it should be. */
  readonly note: (text: string, serious?: boolean) => void
}

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
/** How long a new owner may take for the `initialize` that is said again, milliseconds. */
const REPLAY_MS = 15_000
/** How often a pipe that was let go looks whether there is an owner again, milliseconds. */
const LOOK_FOR_NEXT_MS = 3_000
/** Owners tried for one line of the host. */
const MAX_ATTEMPTS = 3
const NEWLINE = Buffer.from('\n')

/**
 * Carries the pipe until its input ends and everything was answered.
 *
 * @throws ComityError when the first owner cannot be reached.
 */
export async function runPipe(options: PipeOptions): Promise<void> {
  const pipe = new HostPipe(options)
  await pipe.run()
}

class HostPipe {
  readonly #options: PipeOptions
  readonly #memory: PipeMemory = createPipeMemory()
  /** The owner that takes lines. */
  #link: OwnerLink | undefined
  /** The newest one, which may be about to end. */
  #last: OwnerLink | undefined
  #joining: Promise<void> | undefined
  #glance: Promise<void> | undefined
  #leaving: DrainReason | undefined
  #full: Promise<void> | undefined
  #over = false
  #heardOwed: (() => void) | undefined

  constructor(options: PipeOptions) {
    this.#options = options
  }

  async run(): Promise<void> {
    const { input, output } = this.#options
    output.on('error', () => {
      // Nobody reads any more: the owner sees it as its caller being gone.
      this.#over = true
      this.#last?.destroy()
      input.destroy()
    })
    await this.#ready()
    await this.#readInput(input)
    this.#over = true
    await this.#joining?.catch(() => undefined)
    this.#link?.end()
    await this.#last?.ended
  }

  async #readInput(input: Readable): Promise<void> {
    let lines: Uint8Array[] = []
    const reader = createLineReader(
      MAX_MESSAGE_BYTES,
      (line) => void lines.push(line),
      () => void this.#say(tooLong()),
    )
    const takeAll = async (): Promise<void> => {
      const taken = lines
      lines = []
      for (const line of taken) await this.#take(line)
    }
    try {
      for await (const chunk of input as AsyncIterable<Buffer>) {
        reader.push(chunk)
        await takeAll()
      }
    } catch {
      // A pipe that is torn ends like one that is closed.
    }
    reader.end()
    await takeAll()
  }

  async #take(line: Uint8Array): Promise<void> {
    const link = await this.#ready().catch((error: unknown) => sayWhy(error))
    if (typeof link !== 'string') {
      const bytes = this.#memory.sent(line)
      if (bytes !== undefined) await link.write(bytes)
      return
    }
    this.#options.note(link, true)
    const refusal = this.#memory.refusal(line, link)
    if (refusal !== undefined) await this.#say(refusal)
  }

  /** An owner that takes lines at this very moment; one that ends as it begins is not waited for for ever. */
  async #ready(): Promise<OwnerLink> {
    for (let attempt = 1; this.#link === undefined; attempt += 1) {
      // A mere look around ends in a moment, and starts nothing.
      await this.#glance
      if (this.#link === undefined) await this.#join()
      if (this.#link === undefined && attempt >= MAX_ATTEMPTS) throw endsAsItBegins()
    }
    return this.#link
  }

  /** One way at a time to the next owner, once the last one has answered what it had. */
  #join(absent?: Absent): Promise<void> {
    this.#joining ??= this.#connect(absent).finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  async #connect(absent: Absent | undefined): Promise<void> {
    await this.#last?.ended
    const wish = absent ?? (this.#leaving === 'takeover' ? 'await' : 'start')
    const { socket, note } = await this.#options.find(wish)
    if (note !== undefined) this.#options.note(note, true)
    this.#leaving = undefined
    const link = openOwnerLink(socket, (line) => this.#hear(link, line))
    this.#last = link
    let gone = false
    void link.ended.then(() => {
      gone = true
      this.#left(link)
    })
    await this.#replay(link)
    if (!gone && this.#leaving === undefined) this.#link = link
  }

  async #replay(link: OwnerLink): Promise<void> {
    const { initialize, rest, missed } = this.#memory.replay()
    if (initialize !== undefined) {
      await link.write(initialize.line)
      await this.#owed(initialize.key, link)
    }
    for (const line of rest) await link.write(line)
    for (const line of missed) void this.#say(line)
  }

  /** Resolves when the answer has come or the owner is gone. */
  async #owed(key: string, link: OwnerLink): Promise<void> {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#heardOwed?.()
    }, REPLAY_MS)
    const gone = link.ended.then(() => {
      late = true
    })
    while (!late && this.#memory.isOwed(key)) {
      const heard = new Promise<void>((resolve) => {
        this.#heardOwed = resolve
      })
      await Promise.race([heard, gone])
    }
    clearTimeout(timer)
    this.#heardOwed = undefined
  }

  #hear(link: OwnerLink, line: Uint8Array): Promise<void> | undefined {
    const heard = this.#memory.heard(line)
    this.#heardOwed?.()
    switch (heard.kind) {
      case 'pass':
        return this.#say(heard.line)
      case 'swallow':
        return undefined
      case 'instead':
        for (const one of heard.lines) void this.#say(one)
        return undefined
      case 'drain':
        this.#leave(link, heard.reason)
        return undefined
    }
  }

  /** The owner is about to end: it answers what it has once nothing more comes. */
  #leave(link: OwnerLink, reason: DrainReason): void {
    this.#leaving = reason
    this.#options.note(`the process that owns the store makes way (${reason})`)
    if (this.#link === link) this.#link = undefined
    for (const line of this.#memory.leave()) void link.write(line)
    link.end()
  }

  #left(link: OwnerLink): void {
    if (this.#link === link) this.#link = undefined
    for (const line of this.#memory.lost()) void this.#say(line)
    if (this.#over) return
    const reason = this.#leaving ?? 'died'
    this.#options.note(`the process that owns the store ended (${reason})`)
    if (reason === 'stop') return this.#lookForNext()
    this.#join().catch((error: unknown) => {
      this.#options.note(sayWhy(error), true)
    })
  }

  /** Stopped by hand: begun again when the host needs it, and met again when somebody else begins it. */
  #lookForNext(): void {
    const timer = setTimeout(() => {
      if (this.#over || this.#link !== undefined) return
      this.#glance = this.#join('leave')
        .catch(() => this.#lookForNext())
        .finally(() => (this.#glance = undefined))
    }, LOOK_FOR_NEXT_MS)
    timer.unref()
  }

  #say(line: Uint8Array): Promise<void> | undefined {
    const { output } = this.#options
    if (output.destroyed || !output.writable) return undefined
    if (output.write(Buffer.concat([line, NEWLINE]))) return undefined
    // One wait is shared by all that is said meanwhile.
    this.#full ??= untilDrained(output).finally(() => (this.#full = undefined))
    return this.#full
  }
}

function sayWhy(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function endsAsItBegins(): ComityError {
  return new ComityError('internal', 'the process that owns the store ends as soon as it is there')
}

function tooLong(): Uint8Array {
  const message = `a message of more than ${MAX_MESSAGE_BYTES} bytes is not taken`
  return encodeError(undefined, { code: RPC_ERRORS.invalidRequest, message })
}

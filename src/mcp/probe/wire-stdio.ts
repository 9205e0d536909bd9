/**
 * Raw requests to one process over its standard streams, read up to a bound of time and bytes; and how it ends.
 *
 * @source MCP 2026-07-28, transports, stdio.
 */
import { createLineSplitter } from '../upstream/lines.ts'
import type { ServerProcess } from '../upstream/supervise.ts'
import {
  createId,
  encodeNotification,
  encodeRequest,
  parseMessage,
  type RpcError,
  type RpcResult,
} from '../wire/json-rpc.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Budget } from './budget.ts'
import { replyOf, toldOf, type RawRequest, type RawWire, type Reply, type Told } from './raw.ts'
import { createServerAsks, type ServerAsks } from './server-asks.ts'

/** A process that is probed. */
export interface RawStdio extends RawWire {
  readonly transport: 'stdio'
  readonly asks: ServerAsks
  /** First lines on standard output that were no messages, cut. */
  noise(): readonly string[]
  /** It printed more than is read. */
  flooded(): boolean
  /** What it printed on standard error, the end of it. */
  complaints(): string
  /** Closes its input, waits, and ends it in any case. @returns whether it ended by itself. */
  end(waitMs: number): Promise<boolean>
}

export interface RawStdioOptions {
  readonly server: ServerProcess
  readonly budget: Budget
  /** Of one line, and of all that is read, bytes. */
  readonly maxBytes: number
}

const MOST_NOISE = 5
const NOISE_CHARACTERS = 120
const MOST_TOLD = 50
const NEWLINE = Uint8Array.of(0x0a)
const OBJECT_START = 0x7b

/** Takes a running process over. */
export function createRawStdio(options: RawStdioOptions): RawStdio {
  return new StdioWire(options)
}

interface Waiting {
  readonly id: number
  readonly method: string
  readonly until: string | undefined
  finish(reply: Reply): void
}

class StdioWire implements RawStdio {
  readonly transport = 'stdio'
  readonly asks = createServerAsks()
  readonly #server: ServerProcess
  readonly #budget: Budget
  readonly #noise: string[] = []
  readonly #waiting = new Map<number, Waiting>()
  #told: Told[] = []
  #lastId = 0
  #read = 0
  #over: string | undefined
  #flooded = false
  #gone: ((method: string, why: string) => void) | undefined

  constructor({ server, budget, maxBytes }: RawStdioOptions) {
    this.#server = server
    this.#budget = budget
    const splitter = createLineSplitter(maxBytes, (line) => this.#readLine(line))
    server.input.on('error', () => {})
    server.output.on('error', () => {})
    server.output.on('data', (chunk: Buffer) => {
      if (this.#flooded) return
      this.#read += chunk.length
      if (this.#read <= maxBytes && splitter.feed(chunk)) return
      this.#flooded = true
      this.#finish(`it printed more than ${maxBytes} bytes`)
      server.output.destroy()
    })
    void server.ended.then((how) => {
      // What it printed last may still be on its way.
      setTimeout(() => this.#finish(`the process ${how}`), 50)
    })
  }

  noise = (): readonly string[] => [...this.#noise]
  flooded = (): boolean => this.#flooded
  complaints = (): string => this.#server.stderrTail().trim()

  whenGone(listener: (method: string, why: string) => void): void {
    this.#gone = listener
  }

  ask({ method, params = {}, until, ms: wanted }: RawRequest): Promise<Reply> {
    const id = (this.#lastId += 1)
    this.#told = []
    return new Promise((resolve) => {
      const finish = (reply: Reply): void => {
        clearTimeout(timer)
        this.#budget.signal.removeEventListener('abort', late)
        this.#waiting.delete(id)
        resolve(reply)
      }
      const ms = this.#budget.request(wanted)
      const late = (): void => finish(this.#none(`no answer within ${Math.round(ms)} ms`, true))
      const timer = setTimeout(late, ms)
      if (this.#over !== undefined) {
        this.#tellGone(method, this.#over)
        return finish(this.#none(this.#over))
      }
      this.#waiting.set(id, { id, method, until, finish })
      this.#budget.signal.addEventListener('abort', late, { once: true })
      this.#write(encodeRequest(createId(id), method, encodeJson(params)))
      return undefined
    })
  }

  async tell(method: string, params?: Readonly<Record<string, unknown>>): Promise<undefined> {
    this.#write(encodeNotification(method, params && encodeJson(params)))
    return Promise.resolve(undefined)
  }

  async end(waitMs: number): Promise<boolean> {
    const { input, ended } = this.#server
    input.end()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), waitMs)
    })
    const byItself = await Promise.race([ended.then(() => true), late])
    clearTimeout(timer)
    await this.#server.stop()
    return byItself
  }

  #write(message: Uint8Array): void {
    const { input } = this.#server
    if (!input.writable) return
    input.write(message)
    input.write(NEWLINE)
  }

  #none(why: string, silent = false): Reply {
    const told = this.#told
    return { kind: 'nothing', why, headers: {}, told, ...(silent ? { silent } : {}) }
  }

  #finish(why: string): void {
    if (this.#over !== undefined) return
    this.#over = why
    for (const { finish, method } of this.#waiting.values()) {
      this.#tellGone(method, why)
      finish(this.#none(why))
    }
  }

  #tellGone(method: string, why: string): void {
    this.#gone?.(method, why)
    this.#gone = undefined
  }

  #readLine(line: Uint8Array): void {
    const message = line[0] === OBJECT_START ? parseMessage(line) : undefined
    switch (message?.kind) {
      case 'result':
      case 'error':
        return this.#readAnswer(message)
      case 'notification': {
        if (this.#told.length < MOST_TOLD) this.#told.push(toldOf(message))
        const { method } = message
        for (const { until, finish } of this.#waiting.values()) {
          if (until === method) finish({ kind: 'told', headers: {}, told: this.#told })
        }
        return
      }
      case 'request': {
        const answer = this.asks.answer(message)
        if (answer !== undefined) this.#write(answer)
        return
      }
      case 'fault':
      case undefined: {
        if (message?.claimed === true) return this.#readBroken(message.message)
        if (this.#noise.length >= MOST_NOISE) return
        this.#noise.push(new TextDecoder().decode(line.subarray(0, NOISE_CHARACTERS)))
      }
    }
  }

  #readAnswer(message: RpcResult | RpcError): void {
    const id = message.id === undefined ? undefined : Number(message.id.value)
    // One is asked at a time: an error that names none is the answer to it.
    const open = id === undefined ? [...this.#waiting.values()].at(-1) : this.#waiting.get(id)
    open?.finish(replyOf(message, open.id, { headers: {}, told: this.#told }))
  }

  #readBroken(why: string): void {
    const open = [...this.#waiting.values()].at(-1)
    open?.finish({ kind: 'nothing', why, broken: true, headers: {}, told: this.#told })
  }
}

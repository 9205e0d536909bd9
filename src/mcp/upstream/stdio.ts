/**
 * The stdio link: JSON-RPC lines to and from one supervised process.
 *
 * Tolerates what servers in the field print on stdout: a line that is no JSON-RPC message is noise,
 * counted and sampled, never fatal. A line beyond the limit ends this server only.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, stdio.
 */
import { setTimeout as delay } from 'node:timers/promises'
import {
  encodeNotification,
  parseMessage,
  type RpcFault,
  type RpcNotification,
  type RpcRequest,
} from '../wire/json-rpc.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { encodeJson } from '../wire/spans.ts'
import { brokenAnswerId } from './broken-answer.ts'
import { ONCE } from './cancel.ts'
import { createIncoming } from './incoming.ts'
import { createLineSplitter } from './lines.ts'
import { DEFAULT_MAX_BYTES, LinkFailure, messageOf, type Agreement, type Link } from './link.ts'
import type { AnswerRequest, LinkListener, LinkOptions, LinkRequest } from './link.ts'
import { Pending } from './pending.ts'
import { createReadShare } from './read-share.ts'
import type { ServerProcess } from './supervise.ts'

const NOISE_SAMPLES = 10
const NOISE_SAMPLE_CHARACTERS = 200
/** How long a server that closed its output may take to end, which says more. */
const END_MS = 100
/** How long its last output may still be on the way after it ended, where a child of it holds the pipe open. */
const DRAIN_MS = 30
/** Above this many bytes that the server has not read yet, nothing more is sent. One message may be larger. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024
const OBJECT_START = 0x7b
const NEWLINE = Uint8Array.of(0x0a)

/** Opens a link over a running process. The link owns the process from here on. */
export function createStdioLink(
  server: ServerProcess,
  listener: LinkListener,
  options: LinkOptions = {},
): Link {
  return new StdioLink(server, listener, options)
}

class StdioLink implements Link {
  readonly transport = 'stdio'
  readonly ended: Promise<LinkFailure>
  readonly #server: ServerProcess
  readonly #listener: LinkListener
  readonly #onStray: AnswerRequest | undefined
  readonly #pending = new Pending()
  readonly #incoming = createIncoming()
  readonly #noiseSample: string[] = []
  #noise = 0
  #answers = 0
  #lastId = 0
  #agreement: Agreement | undefined
  #over: LinkFailure | undefined
  #end: (failure: LinkFailure) => void = () => {}

  constructor(server: ServerProcess, listener: LinkListener, options: LinkOptions) {
    const { maxBytes = DEFAULT_MAX_BYTES, onStray } = options
    this.#server = server
    this.#listener = listener
    this.#onStray = onStray
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    const splitter = createLineSplitter(maxBytes, (line) => this.#readLine(line))
    const drained = new Promise<void>((resolve) => {
      server.output.once('end', resolve)
      server.output.once('close', resolve)
    })
    server.output.on('error', () => {})
    // A server that no longer reads or speaks is of no use even while it lives.
    server.input.on('error', () => this.#abandon('no longer reads its input'))
    void drained.then(() => delay(END_MS)).then(() => this.#abandon('closed its output'))
    const share = createReadShare(() => performance.now())
    server.output.on('data', (chunk: Buffer) => {
      if (this.#over !== undefined) return
      const since = performance.now()
      const before = this.#answers
      if (!splitter.feed(chunk)) {
        return this.#abandon(`printed a line longer than the limit of ${maxBytes} bytes`)
      }
      // What answers is read as it comes.
      if (this.#answers !== before) return
      const ms = share.spend(Infinity, performance.now() - since)
      if (ms > 0) this.#rest(ms)
    })
    void server.ended.then(async (how) => {
      server.output.resume()
      await Promise.race([drained, delay(DRAIN_MS)])
      this.#finish(how)
    })
  }

  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  agree(agreement: Agreement): void {
    this.#agreement = agreement
  }

  async request(request: LinkRequest): Promise<Awaited<ReturnType<Link['request']>>> {
    if (this.#over !== undefined) throw new LinkFailure('broken', false, this.#over.message)
    if (request.signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    if (!this.#server.input.writable) {
      throw new LinkFailure('broken', false, 'the server process no longer reads its input')
    }
    if (this.#congested()) {
      const what = `the server process does not read: more than ${MAX_WAITING_BYTES} bytes wait for it already`
      throw new LinkFailure('congested', false, what)
    }
    const answer = this.#pending.add(request)
    const abort = (): void => this.#abort(request)
    request.signal.addEventListener('abort', abort, ONCE)
    request.onSend?.()
    this.#write(messageOf(request))
    try {
      return await answer
    } finally {
      request.signal.removeEventListener('abort', abort)
    }
  }

  notify(method: string, params?: Uint8Array): Promise<void> {
    this.#write(encodeNotification(method, params))
    return Promise.resolve()
  }

  complaints(): string {
    return this.#server.stderrTail().trim()
  }

  counts(): ReturnType<Link['counts']> {
    return { ...this.#pending.counts, noise: this.#noise, noiseSample: [...this.#noiseSample] }
  }

  async close(): Promise<void> {
    this.#finish('was stopped')
    await this.#server.stop()
  }

  #abort(request: LinkRequest): void {
    const failure = new LinkFailure('aborted', true, 'canceled after sending')
    if (!this.#pending.abort(request.id, failure)) return
    // `initialize` must not be canceled; the process is ended instead by whoever gave up on it.
    if (request.method === 'initialize') return
    this.#write(
      encodeNotification('notifications/cancelled', encodeJson({ requestId: request.id })),
    )
  }

  #congested(): boolean {
    return this.#server.input.writableLength > MAX_WAITING_BYTES
  }

  #write(message: Uint8Array): void {
    const { input } = this.#server
    if (!input.writable) return
    // Two writes in one turn leave as one: nobody else writes in between.
    input.cork()
    input.write(message)
    input.write(NEWLINE)
    input.uncork()
  }

  #readLine(line: Uint8Array): void {
    if (line[0] !== OBJECT_START) return this.#addNoise(line)
    const message = parseMessage(line)
    switch (message.kind) {
      case 'result':
      case 'error':
        if (this.#pending.answer(message)) this.#answers += 1
        return
      case 'notification':
        this.#readNotification(message)
        return
      case 'request':
        this.#readRequest(message)
        return
      case 'fault':
        this.#readFault(message, line)
    }
  }

  #readNotification(notification: RpcNotification): void {
    let owner: LinkRequest | undefined
    if (/^notifications\/(?:progress|message)$/.test(notification.method)) {
      try {
        owner = this.#pending.ownerOf(notification)
      } catch (error) {
        if (!(error instanceof JsonFault)) throw error
      }
      if (owner === undefined) return this.#pending.addStray()
      // Never paused for one caller: every other call's answer comes over the same pipe.
      void owner.onNotification?.(notification)
      return
    }
    if (notification.method === 'notifications/cancelled') this.#incoming.withdraw(notification)
    this.#listener(notification)
  }

  /** Requests to us exist in the session revisions only. None says which call it came from. */
  #readRequest(request: RpcRequest): void {
    // What asks without reading is not answered into memory of ours.
    if (this.#agreement?.era === 'modern' || this.#congested()) return this.#pending.addStray()
    this.#incoming.take(request, this.#onStray, (message) => this.#write(message))
  }

  /** A broken answer to something we asked fails that request, a broken request is refused; everything else is noise. */
  #readFault(fault: RpcFault, line: Uint8Array): void {
    if (fault.isRequest === true && fault.id !== undefined) {
      if (this.#agreement?.era === 'modern' || this.#congested()) return this.#pending.addStray()
      return this.#incoming.refuse(fault.id, fault.message, (message) => this.#write(message))
    }
    const id = fault.claimed ? fault.id : brokenAnswerId(line)
    if (id !== undefined) {
      const failure = new LinkFailure('unreadable', true, `answered with ${fault.message}`)
      if (this.#pending.fail(id, failure)) return
    }
    this.#addNoise(line)
  }

  #addNoise(line: Uint8Array): void {
    this.#noise += 1
    if (this.#noiseSample.length >= NOISE_SAMPLES) return
    const text = new TextDecoder().decode(line.subarray(0, NOISE_SAMPLE_CHARACTERS))
    this.#noiseSample.push(text)
  }

  /** Reads no further for a while. */
  #rest(ms: number): void {
    const { output } = this.#server
    output.pause()
    setTimeout(() => output.resume(), ms).unref()
  }

  #abandon(how: string): void {
    this.#finish(how)
    void this.#server.stop()
  }

  #finish(how: string): void {
    if (this.#over !== undefined) return
    this.#over = new LinkFailure('broken', true, `the server process ${how}`)
    this.#incoming.end()
    this.#pending.failAll(() => new LinkFailure('broken', true, `the server process ${how}`))
    this.#end(this.#over)
  }
}

/**
 * The owner's side of thin pipes: opens them over the control socket, serves each as a host over stdio, and lets them go
 * without a line lost when this process ends.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { StdioDoor } from '../../mcp/downstream/stdio.ts'
import {
  CONFIG_HEADER,
  type DrainReason,
  encodeDrain,
  NOTE_HEADER,
  PIPE_PROTOCOL,
  type PipeRefusal,
} from './wire.ts'

/** What decides about one that wants a pipe. */
export interface PipeRules {
  /** The configuration that this process serves. */
  readonly configFile: string
  /** What every pipe is told where none is served. */
  readonly notHere?: PipeRefusal
  /** Asked of each that would be served. */
  readonly arrive?: () => Arrival
}

export type Arrival =
  | { readonly serve: true; readonly note?: string }
  /** It is better served by the next owner, which comes at once. */
  | { readonly serve: false; readonly message: string }

export interface PipeDesk {
  /** Pipes that are open now. */
  count(): number
  take(request: IncomingMessage, socket: Duplex, head: Uint8Array): void
  /** From now on pipes are served; until then they are asked to wait. */
  begin(serve: (socket: Duplex) => StdioDoor): void
  /** Takes no new ones and lets the open ones go once they are answered; bounded by the door's own drain time. */
  drain(reason: DrainReason): Promise<void>
  /** Breaks off: what is open is unknown to its callers. */
  close(): void
}

interface Pipe {
  readonly socket: Duplex
  readonly door: StdioDoor
  readonly over: Promise<void>
}

/** How long a pipe may take to close its side after the notice, and to take what it was answered last. */
const HAND_OVER_MS = 3_000

/** Makes the desk; it serves nothing yet. */
export function createPipeDesk(rules: PipeRules): PipeDesk {
  const pipes = new Set<Pipe>()
  let serve: ((socket: Duplex) => StdioDoor) | undefined
  let ending = false

  const judge = (request: IncomingMessage): PipeRefusal | { readonly note?: string } => {
    const theirs = configOf(request)
    if (request.headers.upgrade?.toLowerCase() !== PIPE_PROTOCOL)
      return { code: 'usage', message: `expected Upgrade: ${PIPE_PROTOCOL}`, wait: false }
    if (ending) return { code: 'store_locked', message: 'this process is ending', wait: true }
    if (rules.notHere !== undefined) return rules.notHere
    if (theirs !== rules.configFile) return otherConfig(theirs, rules.configFile)
    if (serve === undefined)
      return { code: 'store_locked', message: 'this process is starting', wait: true }
    const arrival = rules.arrive?.() ?? { serve: true }
    return arrival.serve ? arrival : { code: 'store_locked', message: arrival.message, wait: true }
  }

  const open = (socket: Duplex, door: StdioDoor): void => {
    const over = door.done.then(() => {
      pipes.delete(pipe)
      socket.end()
      destroyLater(socket)
    })
    const pipe: Pipe = { socket, door, over }
    pipes.add(pipe)
  }

  return {
    count: () => pipes.size,
    take(request, socket, head) {
      socket.on('error', () => undefined)
      const judged = judge(request)
      if ('code' in judged || serve === undefined) {
        if ('code' in judged) refuse(socket, judged)
        return
      }
      socket.write(acceptance(judged.note))
      if (head.length > 0) socket.unshift(head)
      open(socket, serve(socket))
    },
    begin(how) {
      serve = how
    },
    async drain(reason) {
      ending = true
      await Promise.all([...pipes].map((pipe) => letGo(pipe, reason)))
    },
    close() {
      ending = true
      for (const { socket } of pipes) socket.destroy()
      pipes.clear()
    },
  }
}

/** The notice; the pipe closes its side, and the door answers what it has as at the end of any input. */
async function letGo({ socket, door, over }: Pipe, reason: DrainReason): Promise<void> {
  if (socket.writable) socket.write(Buffer.concat([encodeDrain(reason), Buffer.from('\n')]))
  const stuck = setTimeout(() => door.close(), HAND_OVER_MS)
  await over
  clearTimeout(stuck)
  if (!socket.destroyed) await new Promise<void>((resolve) => socket.once('close', resolve))
}

function configOf(request: IncomingMessage): string {
  try {
    return decodeURIComponent(String(request.headers[CONFIG_HEADER] ?? ''))
  } catch {
    return ''
  }
}

function destroyLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), HAND_OVER_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

function acceptance(note: string | undefined): string {
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    `Upgrade: ${PIPE_PROTOCOL}`,
    ...(note === undefined ? [] : [`${NOTE_HEADER}: ${encodeURIComponent(note)}`]),
    '\r\n',
  ].join('\r\n')
}

function refuse(socket: Duplex, refusal: PipeRefusal): void {
  const status = refusal.wait ? '503 Service Unavailable' : '409 Conflict'
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${JSON.stringify(refusal)}`,
  )
  destroyLater(socket)
}

function otherConfig(theirs: string, ours: string): PipeRefusal {
  const message =
    `this store is served by process ${process.pid} with another configuration: it serves ${ours}, this host asks for ${theirs}. ` +
    'Start the host with the same -c, give one of the two files a store: of its own, or run comity stop first'
  return { code: 'store_locked', message, wait: false }
}

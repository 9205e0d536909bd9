/**
 * Asks the process behind a control socket for a pipe. Written by hand over a plain socket: a thin process does without the
 * HTTP library.
 */
import { type Socket, connect } from 'node:net'
import { ComityError, type ComityErrorCode } from '../../core/words/errors.ts'
import { CONFIG_HEADER, NOTE_HEADER, PIPE_PATH, PIPE_PROTOCOL, type PipeRefusal } from './wire.ts'

/** How an owner answered. */
export type Reached =
  /** What comes now is MCP. `note` is for the log. */
  | { readonly kind: 'open'; readonly socket: Socket; readonly note?: string }
  /** Nobody listens there. */
  | { readonly kind: 'none' }
  /** Somebody does, who cannot open a pipe yet, or not any more. */
  | { readonly kind: 'wait'; readonly message: string }
  | { readonly kind: 'refused'; readonly error: ComityError }

const SILENCE_MS = 5_000
const MAX_HEAD_BYTES = 16 * 1024
const MAX_REFUSAL_BYTES = 64 * 1024
const BLANK = Buffer.from('\r\n\r\n')

/** @param configFile the file that this pipe's host would use. */
export function reachOwner(socketPath: string, configFile: string): Promise<Reached> {
  return new Promise((resolve) => {
    const socket = connect({ path: socketPath, allowHalfOpen: true })
    let heard: Buffer = Buffer.alloc(0)
    const settle = (reached: Reached): void => {
      clearTimeout(timer)
      socket.off('data', take).off('end', over).off('close', over).off('error', fail)
      socket.on('error', () => undefined)
      if (reached.kind !== 'open') socket.destroy()
      resolve(reached)
    }
    const timer = setTimeout(
      () =>
        settle({
          kind: 'wait',
          message: `the process behind ${socketPath} does not answer: is it stopped?`,
        }),
      SILENCE_MS,
    )
    const fail = (error: NodeJS.ErrnoException): void => settle(unreached(error))
    // Without a pipe the answer ends with the connection.
    const over = (): void => settle(refusalOf(heard))
    socket.on('error', fail)
    socket.on('connect', () => socket.write(requestOf(configFile)))
    const take = (chunk: Buffer): void => {
      heard = Buffer.concat([heard, chunk])
      const end = heard.indexOf(BLANK)
      if (end < 0) {
        if (heard.length > MAX_HEAD_BYTES) settle(strange())
        return
      }
      const head = heard.subarray(0, end).toString('latin1')
      if (!head.startsWith('HTTP/1.1 101 ')) {
        if (heard.length > MAX_REFUSAL_BYTES) settle(strange())
        return
      }
      socket.pause()
      const rest = heard.subarray(end + BLANK.length)
      if (rest.length > 0) socket.unshift(rest)
      const note = headerOf(head, NOTE_HEADER)
      settle({ kind: 'open', socket, ...(note === undefined ? {} : { note }) })
    }
    socket.on('data', take).on('end', over).on('close', over)
  })
}

function requestOf(configFile: string): string {
  return [
    `GET ${PIPE_PATH} HTTP/1.1`,
    'Host: comity',
    'Connection: Upgrade',
    `Upgrade: ${PIPE_PROTOCOL}`,
    `${CONFIG_HEADER}: ${encodeURIComponent(configFile)}`,
    '\r\n',
  ].join('\r\n')
}

function headerOf(head: string, name: string): string | undefined {
  const line = head.split('\r\n').find((one) => one.toLowerCase().startsWith(`${name}:`))
  return line === undefined ? undefined : decodeURIComponent(line.slice(name.length + 1).trim())
}

function unreached({ code, message }: NodeJS.ErrnoException): Reached {
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return { kind: 'none' }
  // Reset while it was asked: an owner that is just ending.
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'EAGAIN')
    return { kind: 'wait', message: 'the process that owns the store was about to end' }
  return {
    kind: 'refused',
    error: new ComityError('not_allowed', `the control socket cannot be opened: ${message}`),
  }
}

function refusalOf(heard: Buffer): Reached {
  if (heard.length === 0)
    return { kind: 'wait', message: 'the process that owns the store was about to end' }
  try {
    const body = heard.subarray(heard.indexOf(BLANK) + BLANK.length).toString('utf8')
    const said = JSON.parse(body) as Partial<PipeRefusal>
    if (typeof said.message !== 'string' || typeof said.code !== 'string') return strange()
    if (said.wait === true) return { kind: 'wait', message: said.message }
    return { kind: 'refused', error: new ComityError(said.code as ComityErrorCode, said.message) }
  } catch {
    return strange()
  }
}

function strange(): Reached {
  const message =
    'the process that owns the store gives no pipe: it is of another version of comity, or serves one host alone; stop it (comity stop), then try again'
  return { kind: 'refused', error: new ComityError('store_locked', message) }
}

/** Hosts as bare pipes: `comity mcp` with its lines in hand, and the background process behind it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { comityCommand, type Home, isAlive, until } from './comity-process.fixture.ts'

export interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** One host's end of a pipe. */
export interface PipeHost {
  readonly pid: number
  /** Every line that came, parsed; one that is no JSON fails whoever looks. */
  messages(): readonly Message[]
  stderr(): string
  send(message: Readonly<Record<string, unknown>>): void
  /** Sends a request and waits for its answer. */
  ask(method: string, params?: Readonly<Record<string, unknown>>): Promise<Message>
  /** Sends a request. @returns its id. */
  begin(method: string, params?: Readonly<Record<string, unknown>>): number
  answerTo(id: string | number): Promise<Message>
  /** Initializes a session of 2025-11-25. */
  initialize(): Promise<Message>
  /** Closes its side, and waits. @returns the exit code. */
  end(): Promise<number | null>
  /** Not read for now. */
  pause(): void
  resume(): void
  kill(): Promise<void>
}

/** Starts `comity mcp` with these arguments. */
export function startPipe(home: Home, ...args: string[]): PipeHost {
  const { command, args: words, cwd, env } = comityCommand(home, 'mcp', ...args)
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(command, [...words], {
    cwd,
    env: { ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let text = ''
  let stderr = ''
  let nextId = 0
  const messages: Message[] = []
  child.stdin.on('error', () => undefined)
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) messages.push(JSON.parse(line) as Message)
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const send = (message: Readonly<Record<string, unknown>>): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const begin = (method: string, params?: Readonly<Record<string, unknown>>): number => {
    const id = (nextId += 1)
    send({ id, method, ...(params === undefined ? {} : { params }) })
    return id
  }
  const answerTo = (id: string | number): Promise<Message> =>
    until(`an answer to ${id}\n${stderr}`, () => {
      const found = messages.find((one) => one.id === id && one.method === undefined)
      if (found === undefined && !isAlive(child.pid ?? -1)) throw new Error(`it ended:\n${stderr}`)
      return found
    })
  const ask = (method: string, params?: Readonly<Record<string, unknown>>): Promise<Message> =>
    answerTo(begin(method, params))
  return {
    pid: child.pid ?? -1,
    messages: () => messages,
    stderr: () => stderr,
    send,
    ask,
    begin,
    answerTo,
    async initialize() {
      const answer = await ask('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'bare', version: '0' },
      })
      send({ method: 'notifications/initialized' })
      return answer
    },
    end() {
      child.stdin.end()
      return ended
    },
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** A call of a tool as a caller of 2026-07-28 makes it. */
export function modernCall(
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    name,
    arguments: args,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
}

/** The process that owns the home's store `comity.db`, by its own word. */
export function ownerOf(home: Home): number | undefined {
  try {
    const { pid } = JSON.parse(readFileSync(home.path('comity.db.owner.json'), 'utf8')) as {
      pid: number
    }
    return isAlive(pid) ? pid : undefined
  } catch {
    return undefined
  }
}

/** Ends whatever owns the home's store, without ceremony. */
export function killOwner(home: Home): number | undefined {
  const pid = ownerOf(home)
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
  return pid
}

/** The text of a tool's result. */
export function textOf(message: Message): string {
  const content = message.result?.['content'] as readonly { readonly text?: string }[] | undefined
  return content?.map(({ text }) => text ?? '').join('\n') ?? ''
}

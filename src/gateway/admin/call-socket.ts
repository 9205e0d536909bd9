/** The operator's verbs over the control socket of a process that owns the store. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { ComityError, type ComityErrorCode, OwnerGone } from './errors.ts'
import { nodeHttp } from '../shared/node-http.ts'
import { RUN_HEADER, type SocketOwner } from './serve-socket.ts'
import { type Live, type LiveEvent, type Operator, VERBS, type Verb } from './operator.ts'

/**
 * An Operator whose every verb is asked of the process behind `path`.
 *
 * @param otherwise asked instead, when that process had ended before it could be asked. Default: that is an error.
 */
export function createSocketOperator(path: string, otherwise?: () => Promise<Operator>): Operator {
  const askThere = async (verb: Verb, input: unknown, live: Live): Promise<unknown> => {
    try {
      return await ask(path, verb, input, live)
    } catch (error) {
      if (otherwise === undefined || !(error instanceof OwnerGone) || error.reached) throw error
      const there = await otherwise()
      const verbOf = there[verb] as (input: unknown, live: Live) => Promise<unknown>
      return verbOf.call(there, input, live)
    }
  }
  const verbs = Object.keys(VERBS).map((verb) => [
    verb,
    (input: unknown, live: Live) => askThere(verb as Verb, input, live),
  ])
  return Object.fromEntries(verbs) as Operator
}

/**
 * Which process answers at this socket.
 *
 * @returns undefined when none does.
 * @throws ComityError `internal` when one holds it and says nothing: stopped, or hung.
 */
export async function ownerAt(path: string): Promise<SocketOwner | undefined> {
  // Mostly nobody: a start does not load HTTP to learn that.
  if (!existsSync(path)) return undefined
  const { request } = nodeHttp()
  return new Promise((resolve, reject) => {
    const probe = request(
      { socketPath: path, method: 'GET', path: '/', timeout: PROBE_MS },
      (response) => {
        readOwner(response).then(resolve, () => resolve(undefined))
      },
    )
    probe.on('timeout', () => {
      reject(
        new ComityError('internal', `the process behind ${path} does not answer: is it stopped?`),
      )
      probe.destroy()
    })
    probe.on('error', () => resolve(undefined))
    probe.end()
  })
}

async function readOwner(response: IncomingMessage): Promise<SocketOwner> {
  for await (const line of linesOf(response)) {
    const said = JSON.parse(line) as Partial<SocketOwner>
    return {
      peers: said.peers ?? 'all',
      passing: said.passing === true,
      kind: said.kind ?? 'up',
      pid: said.pid ?? 0,
    }
  }
  throw new Error('it said nothing')
}

const PROBE_MS = 5_000

async function ask(path: string, verb: Verb, input: unknown, live: Live): Promise<unknown> {
  const { request } = nodeHttp()
  const body = Buffer.from(JSON.stringify(input))
  const run = randomUUID()
  // Called off, not hung up on: the run still says what is confirmed and what is not.
  const stop = (): void => {
    request({ socketPath: path, method: 'POST', path: '/stop', headers: { [RUN_HEADER]: run } })
      .on('error', () => undefined)
      .end()
  }
  live.signal.addEventListener('abort', stop, { once: true })
  try {
    return await readAnswer(verb, await post(path, verb, run, body), live)
  } finally {
    live.signal.removeEventListener('abort', stop)
  }
}

async function post(path: string, verb: Verb, run: string, body: Buffer): Promise<IncomingMessage> {
  const { request } = nodeHttp()
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    [RUN_HEADER]: run,
  }
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path, method: 'POST', path: `/${verb}`, headers }, resolve)
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const reached = error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED'
      reject(new OwnerGone(reached && ACTS.has(verb), error, reached))
    })
    asked.end(body)
  })
}

async function readAnswer(verb: Verb, response: IncomingMessage, live: Live): Promise<unknown> {
  let broken: unknown
  try {
    for await (const line of linesOf(response)) {
      const message = JSON.parse(line) as {
        result?: unknown
        error?: { code: ComityErrorCode; message: string }
      } & Partial<LiveEvent>
      if (message.error !== undefined)
        throw new ComityError(message.error.code, message.error.message)
      if ('result' in message) return message.result
      live.event(message as LiveEvent)
    }
  } catch (error) {
    if (error instanceof ComityError) throw error
    broken = error
  }
  throw new OwnerGone(ACTS.has(verb), broken)
}

/** Verbs that may have sent something to a peer before their answer was lost. */
const ACTS: ReadonlySet<Verb> = new Set(['call', 'delegate', 'answer', 'cancel'])

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding('utf8')
  let rest = ''
  for await (const chunk of response as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

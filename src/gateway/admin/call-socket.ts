/** The operator's verbs over the control socket of a process that owns the store. */
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { ComityError, type ComityErrorCode } from '../../core/words/errors.ts'
import { type Live, type LiveEvent, type Operator, VERBS, type Verb } from './operator.ts'

/** An Operator whose every verb is asked of the process behind `path`. */
export function createSocketOperator(path: string): Operator {
  const verbs = Object.keys(VERBS).map((verb) => [
    verb,
    (input: unknown, live: Live) => ask(path, verb as Verb, input, live),
  ])
  return Object.fromEntries(verbs) as Operator
}

/** Whether a process answers at this socket. */
export async function answersAt(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request({ socketPath: path, method: 'GET', path: '/' }, (response) => {
      response.resume()
      resolve(true)
    })
    probe.on('error', () => resolve(false))
    probe.end()
  })
}

async function ask(path: string, verb: Verb, input: unknown, live: Live): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(input))
  const lines = await new Promise<AsyncIterable<string>>((resolve, reject) => {
    const asked = request(
      {
        socketPath: path,
        method: 'POST',
        path: `/${verb}`,
        headers: { 'content-type': 'application/json', 'content-length': body.length },
        signal: live.signal,
      },
      (response) => resolve(createInterface({ input: response, crlfDelay: Infinity })),
    )
    asked.on('error', reject)
    asked.end(body)
  })
  for await (const line of lines) {
    const message = JSON.parse(line) as {
      result?: unknown
      error?: { code: ComityErrorCode; message: string }
    } & Partial<LiveEvent>
    if (message.error !== undefined)
      throw new ComityError(message.error.code, message.error.message)
    if ('result' in message) return message.result
    live.event(message as LiveEvent)
  }
  throw new ComityError(
    'internal',
    'the process that owns the store ended while it was asked; what it had sent is in the ledger (comity ledger)',
  )
}

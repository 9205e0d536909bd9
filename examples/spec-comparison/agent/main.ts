/**
 * Starts the agent: `node main.ts --state <folder> --docs '["program","argument"]' [--port <n>]`.
 *
 * Prints one line when it can be called. After a crash, started with the same folder and port, it
 * goes on with every task that was open.
 */
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AGENT_CARD_PATH } from '@a2a-js/sdk'
import { createBriefReader } from './brief.ts'
import { createCard } from './card.ts'
import { createDocuments } from './documents.ts'
import { createRequestHandler } from './request-handler.ts'
import { createHttpServer } from './serve-http.ts'
import { openTaskDesk } from './task-desk.ts'
import { openTaskFiles } from './task-files.ts'

const USAGE = `usage: node main.ts --state <folder> --docs <command> [--port <n>] [--pace <ms>] [--until-stdin-ends]

  --state <folder>   where the tasks are kept; one agent process for a folder
  --docs <command>   the command line of the documents server, as a JSON array of strings
  --port <n>         the port on 127.0.0.1; 0, the default, takes a free one
  --pace <ms>        how long to pause before each step of the work; default 0
  --until-stdin-ends stop when standard input ends: no agent outlives the one who started it
`

interface Arguments {
  readonly state: string
  readonly docs: readonly string[]
  readonly port: number
  readonly paceMs: number
  readonly forge: boolean
  readonly untilStdinEnds: boolean
}

async function main(): Promise<void> {
  const given = parseArguments(process.argv.slice(2))
  const log = (line: string): void => {
    process.stderr.write(`${line}\n`)
  }
  const documents = createDocuments(given.docs)
  const deps = {
    documents,
    reader: createBriefReader(),
    pause: (ms: number) => (ms > 0 ? delay(ms) : Promise.resolve()),
    log,
  }
  const { desk, unfinished } = await openTaskDesk(await openTaskFiles(given.state), deps, given)

  // The card names the port, and the port is known only once the server listens.
  let card = createCard(`http://127.0.0.1:${given.port}`)
  const server = createHttpServer({ handler: createRequestHandler(() => card, desk), log })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(given.port, '127.0.0.1', resolve)
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  card = createCard(origin)
  for (const room of unfinished) desk.work(room)
  process.stdout.write(`agent ready on ${origin}/${AGENT_CARD_PATH}\n`)

  const stop = (): void => {
    server.close()
    server.closeAllConnections()
    // Work in progress is on the disk up to its last step, so nothing is waited for.
    void documents.close().finally(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  if (given.untilStdinEnds) process.stdin.once('end', stop).resume()
}

/** @throws Error with what to change. */
function parseArguments(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: {
      state: { type: 'string' },
      docs: { type: 'string' },
      port: { type: 'string', default: '0' },
      pace: { type: 'string', default: '0' },
      forge: { type: 'boolean', default: false },
      'until-stdin-ends': { type: 'boolean', default: false },
    },
  })
  if (values.state === undefined || values.state === '') throw new Error('--state is missing')
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port must be 0 to 65535, got ${values.port}`)
  }
  const paceMs = Number(values.pace)
  if (!Number.isInteger(paceMs) || paceMs < 0 || paceMs > 60_000) {
    throw new Error(`--pace must be 0 to 60000 milliseconds, got ${values.pace}`)
  }
  const docs = parseCommand(values.docs ?? '')
  const { state, forge, 'until-stdin-ends': untilStdinEnds } = values
  return { state, docs, port, paceMs, forge, untilStdinEnds }
}

function parseCommand(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text)
    if (
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((word): word is string => typeof word === 'string' && word !== '')
    ) {
      return value
    }
  } catch {
    // Said below, in the words of the one who has to change it.
  }
  throw new Error(`--docs must be a JSON array such as '["node","docs-server.js","folder"]'`)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
  process.exit(2)
}

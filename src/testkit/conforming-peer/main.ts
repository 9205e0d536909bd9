/**
 * The conforming peer as a process: `node main.ts --http 0 | --stdio [--era modern|legacy|dual]`.
 *
 * Over HTTP it prints its URL as its first line. It ends on SIGTERM and SIGINT, and when a pipe that
 * it was given as standard input is closed, so that it never outlives whoever started it.
 */
import { fstatSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { serveHttp } from './http.ts'
import type { Era } from './server.ts'
import { serveStreams } from './stdio.ts'

const ERAS: readonly Era[] = ['modern', 'legacy', 'dual']

if (import.meta.main) await main(process.argv.slice(2))

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      http: { type: 'string' },
      stdio: { type: 'boolean' },
      era: { type: 'string', default: 'dual' },
    },
  })
  const era = ERAS.find((known) => known === values.era)
  if (era === undefined) throw new Error(`--era is ${ERAS.join(', ')}, got ${values.era}`)
  if ((values.http === undefined) === (values.stdio !== true)) {
    throw new Error('expected --http <port> or --stdio, one of them')
  }
  const served =
    values.http === undefined ? { close: await serveStreams(era) } : await listen(values.http, era)
  const end = (): void => void served.close().finally(() => process.exit(0))
  process.once('SIGTERM', end).once('SIGINT', end)
  if (values.http !== undefined && isPipe(0)) process.stdin.once('end', end).resume()
  // Last: whoever reads it may end this process at once.
  if ('url' in served) process.stdout.write(`${served.url}\n`)
}

async function listen(port: string, era: Era): ReturnType<typeof serveHttp> {
  const number = Number(port)
  if (!Number.isInteger(number) || number < 0 || number > 65_535) {
    throw new Error(`--http takes a port from 0 to 65535, got ${port}`)
  }
  return serveHttp(number, era)
}

function isPipe(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false
  }
}

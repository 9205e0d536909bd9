/** The doctor's look at peers: commands that would be started, addresses that should answer, and what their clocks say of ours. */
import { accessSync, constants, statSync } from 'node:fs'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { delimiter, join, resolve } from 'node:path'
import { minimalEnvironment } from '../../mcp/upstream/supervise.ts'
import type { Config, StdioServerConfig } from '../config/config.ts'
import type { Finding } from './doctor.ts'

type Environment = Readonly<Record<string, string | undefined>>

const ANSWER_MS = 5_000
/** A clock further off than this makes expiries and approvals surprising, milliseconds. */
const SKEW_MS = 60_000
const OLDEST_NOW = Date.UTC(2026, 0, 1)

/** Looks at every peer that is not disabled, and at the clock. */
export async function examinePeers(
  config: Config,
  environment: Environment,
  now: number,
): Promise<readonly Finding[]> {
  const looks = [
    ...config.mcpServers
      .filter(({ disabled }) => !disabled)
      .map(async (server) =>
        server.transport === 'stdio'
          ? { finding: examineCommand(server, config, environment) }
          : examineUrl(server.name, server.url),
      ),
    ...config.agents
      .filter(({ disabled }) => !disabled)
      .map((agent) => examineUrl(agent.name, agent.card)),
  ]
  const found: readonly { readonly finding: Finding; readonly theirTime?: number }[] =
    await Promise.all(looks)
  const times = found.flatMap(({ theirTime }) => (theirTime === undefined ? [] : [theirTime]))
  return [...found.map(({ finding }) => finding), examineClock(times, now)]
}

function examineCommand(
  server: StdioServerConfig,
  config: Config,
  environment: Environment,
): Finding {
  const about = server.name
  const folder = server.cwd ?? resolve(config.file, '..')
  if (
    server.cwd !== undefined &&
    statSync(server.cwd, { throwIfNoEntry: false })?.isDirectory() !== true
  )
    return {
      about,
      state: 'problem',
      text: `its folder ${server.cwd} is not there`,
      todo: `mend mcpServers.${server.name}.cwd`,
    }
  const { PATH: path = '' } = minimalEnvironment(environment, server.env)
  const found = findCommand(server.command, folder, path)
  if (found !== undefined) return { about, state: 'ok', text: `${server.command} is ${found}` }
  return {
    about,
    state: 'problem',
    text: server.command.includes('/')
      ? `${server.command} cannot be run`
      : `${server.command} is not on PATH (${path === '' ? 'which is empty' : path})`,
    todo: 'install it, or give its full path: hosts start comity without the PATH of a shell',
  }
}

function findCommand(command: string, folder: string, path: string): string | undefined {
  const places = command.includes('/')
    ? [resolve(folder, command)]
    : path.split(delimiter).map((one) => join(one === '' ? folder : one, command))
  return places.find(isProgram)
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** A plain GET without credentials: any answer will do, and none is followed or read. */
async function examineUrl(
  about: string,
  url: string,
): Promise<{ readonly finding: Finding; readonly theirTime?: number }> {
  // What stands behind the origin may be a secret.
  const { origin, protocol } = new URL(url)
  try {
    const response = await headOf(url, protocol === 'https:')
    const { statusCode = 0 } = response
    const theirTime = Date.parse(response.headers.date ?? '')
    const finding: Finding =
      statusCode >= 500
        ? {
            about,
            state: 'note',
            text: `${origin} answers with HTTP ${statusCode}`,
            todo: 'ask whoever runs it',
          }
        : { about, state: 'ok', text: `${origin} answers (HTTP ${statusCode})` }
    return { finding, ...(Number.isNaN(theirTime) ? {} : { theirTime }) }
  } catch (error) {
    const words = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const todo = 'is it up, is its name right, is there a way to it from here?'
    return {
      finding: { about, state: 'problem', text: `${origin} does not answer: ${words}`, todo },
    }
  }
}

function headOf(url: string, secure: boolean): Promise<IncomingMessage> {
  return new Promise((fulfil, reject) => {
    const request = secure ? requestHttps : requestHttp
    const asked = request(url, { method: 'GET', timeout: ANSWER_MS, agent: false }, (response) => {
      fulfil(response)
      response.on('error', () => undefined)
      asked.destroy()
    })
    asked.on('timeout', () =>
      asked.destroy(
        Object.assign(new Error('silence'), { code: `nothing within ${ANSWER_MS} ms` }),
      ),
    )
    asked.on('error', reject)
    asked.end()
  })
}

function examineClock(times: readonly number[], now: number): Finding {
  const about = 'clock'
  const shown = new Date(now).toISOString()
  const off = times.find((time) => Math.abs(time - now) > SKEW_MS)
  if (
    now < OLDEST_NOW ||
    (off !== undefined && times.every((time) => Math.abs(time - now) > SKEW_MS))
  )
    return {
      about,
      state: 'note',
      text:
        off === undefined
          ? `it says ${shown}, before this program was written`
          : `it says ${shown}, ${Math.round(Math.abs(off - now) / 1000)} s away from what peers say`,
      todo: 'set it: approvals and deadlines go by it',
    }
  return { about, state: 'ok', text: shown }
}

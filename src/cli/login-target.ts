/** Which peer is logged in to or out of, and for whom; and that Ctrl-C ends the wait for a person. */
import { ComityError } from '../gateway/admin/errors.ts'
import {
  createLoginDesk,
  DEFAULT_PRINCIPAL,
  type LoginDesk,
  type PersonsPeer,
} from '../gateway/auth/login-desk.ts'
import type { Config } from '../gateway/config/config.ts'
import { EXIT } from './exit-codes.ts'
import { configOf } from './session.ts'

export interface LoginTarget {
  readonly peer: PersonsPeer
  readonly principal: string
}

/**
 * Runs one verb at the login desk of this configuration's store.
 *
 * @throws ComityError `not_found`, `conflict` for a peer that nobody logs in to, `usage` for an unknown principal.
 */
export async function withLoginDesk(
  options: { readonly config?: string; readonly as?: string },
  peer: string,
  run: (desk: LoginDesk, target: LoginTarget, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const config = configOf(options.config)
  const target = { peer: peerOf(config, peer), principal: principalOf(config, options.as) }
  const desk = createLoginDesk({
    store: config.store,
    now: Date.now,
    ...(config.tokenKey === undefined ? {} : { tokenKey: config.tokenKey }),
  })
  const stop = new AbortController()
  const interrupt = (): void => {
    process.exitCode = EXIT.interrupted
    stop.abort()
  }
  process.once('SIGINT', interrupt)
  // What waits for a person holds no process by itself.
  const stay = setInterval(() => undefined, 60_000)
  try {
    return await run(desk, target, stop.signal)
  } catch (error) {
    if (stop.signal.aborted) return EXIT.interrupted
    throw error
  } finally {
    clearInterval(stay)
    process.off('SIGINT', interrupt)
    desk.close()
  }
}

function peerOf(config: Config, name: string): PersonsPeer {
  const server = config.mcpServers.find((one) => one.name === name)
  if (server === undefined) {
    if (config.peers.includes(name))
      throw new ComityError(
        'conflict',
        `${name} is an agent: its credentials are headers of the configuration`,
      )
    throw new ComityError(
      'not_found',
      `no peer is called ${name}; configured: ${config.peers.join(', ') || 'none'}`,
    )
  }
  if (server.transport === 'stdio')
    throw new ComityError(
      'conflict',
      `${name} is started by comity (command:): it is not logged in to; what it needs stands in its env`,
    )
  const { url, headers, auth } = server
  if (auth === undefined)
    throw new ComityError(
      'conflict',
      url.startsWith('http:')
        ? `${name} is reached over http: tokens would be overheard. Use https://`
        : `${name} has an Authorization header in the configuration: remove it to log in`,
    )
  return { name, url, headers, auth }
}

function principalOf(config: Config, given: string | undefined): string {
  if (given === undefined) return DEFAULT_PRINCIPAL
  const known = [DEFAULT_PRINCIPAL, ...(config.tokens ?? []).map(({ principal }) => principal)]
  if (known.includes(given)) return given
  throw new ComityError(
    'usage',
    `--as expects a principal of this configuration (${known.join(', ')}), got ${given}`,
  )
}

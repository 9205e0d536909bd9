/** `comity login <peer>`: a person lets comity use a remote server. Needs no running host: the tokens of a store have many users. */
import { ComityError } from '../gateway/admin/errors.ts'
import { sayStanding, type LoginDesk, type Standing } from '../gateway/auth/login-desk.ts'
import { openBrowser } from '../gateway/auth/open-browser.ts'
import { EXIT } from './exit-codes.ts'
import { type LoginTarget, withLoginDesk } from './login-target.ts'
import type { CommonOptions } from './main.ts'
import { type Terminal, visible } from './terminal.ts'

export interface LoginOptions extends CommonOptions {
  readonly as?: string
  /** As commander spells `--no-browser`. */
  readonly browser: boolean
  readonly scope: readonly string[]
}

export async function login(
  options: LoginOptions,
  terminal: Terminal,
  peer: string,
): Promise<number> {
  return withLoginDesk(options, peer, async (desk, target, signal) => {
    const scopes = options.scope.flatMap((text) => text.split(/\s+/)).filter((one) => one !== '')
    const byPerson = target.peer.auth.grant === 'authorization_code'
    if (!byPerson && options.as !== undefined)
      throw new ComityError(
        'usage',
        `--as has no meaning for ${peer}: with grant: ${target.peer.auth.grant} the gateway itself is logged in`,
      )
    const standing = byPerson
      ? await byBrowser(desk, target, { scopes, show: options.browser }, terminal, signal)
      : await desk.obtain(target.peer, scopes, signal)
    if (terminal.json) terminal.answer(standing)
    else terminal.line(`✓ ${visible(sayStanding(standing, byPerson))}`)
    return EXIT.done
  })
}

async function byBrowser(
  desk: LoginDesk,
  { peer, principal }: LoginTarget,
  { scopes, show }: { readonly scopes: readonly string[]; readonly show: boolean },
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Standing> {
  const login = await desk.begin({ principal, peer, scopes }, signal)
  // Whoever reads a terminal's text also reads its links: the address stands alone on its line.
  const say = (text: string): void => (terminal.json ? terminal.note(text) : terminal.line(text))
  const opened = show && (await openBrowser(login.url, browserEnvironment()))
  say(
    opened
      ? `a browser shows the login at ${visible(login.issuer)}; if it does not, open this address on this machine:`
      : 'open this address in a browser on this machine:',
  )
  say(visible(login.url))
  const end = await orAborted(login.ended, signal)
  if (end.kind === 'failed')
    throw new ComityError('conflict', `${peer.name} was not logged in to: ${end.detail}`)
  const [standing] = desk
    .standingOf(principal, peer)
    .filter(
      ({ issuer, resource }) => issuer === end.place.issuer && resource === end.place.resource,
    )
  if (standing === undefined)
    throw new ComityError('conflict', `somebody logged out of ${peer.name} at the same moment`)
  return standing
}

/** A browser needs the display's variables, and none of ours. */
function browserEnvironment(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('COMITY_')),
  )
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    work.then(resolve, reject)
  })
}

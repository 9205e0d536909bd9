/** The doctor's look at logins: who is logged in where, and whether the tokens can be opened at all. */
import { ComityError } from '../../core/words/errors.ts'
import { createLoginDesk, DEFAULT_PRINCIPAL, sayStanding } from '../auth/login-desk.ts'
import type { Config, HttpServerConfig } from '../config/config.ts'
import type { Finding } from './doctor.ts'

const ABOUT = 'logins'

/** @returns nothing where nobody ever logged in. */
export function examineLogins(config: Config): readonly Finding[] {
  const desk = createLoginDesk({
    store: config.store,
    now: Date.now,
    ...(config.tokenKey === undefined ? {} : { tokenKey: config.tokenKey }),
  })
  const principals = [DEFAULT_PRINCIPAL, ...(config.tokens ?? []).map(({ principal }) => principal)]
  try {
    return config.mcpServers
      .filter((server) => server.transport === 'http' && !server.disabled)
      .flatMap((server) => standingsOf(server as HttpServerConfig, principals))
  } catch (error) {
    if (!(error instanceof ComityError)) throw error
    const todo = 'until then nobody is logged in anywhere'
    return [{ about: ABOUT, state: 'problem', text: error.message, todo }]
  } finally {
    desk.close()
  }

  function standingsOf(
    { name, url, auth }: HttpServerConfig,
    principals: readonly string[],
  ): readonly Finding[] {
    if (auth === undefined) return []
    const byPerson = auth.grant === 'authorization_code'
    const asked = byPerson ? principals : principals.slice(0, 1)
    const peer = { name, url, auth }
    const standings = asked
      .flatMap((principal) => desk.standingOf(principal, peer))
      .map((standing): Finding => {
        return { about: ABOUT, state: 'ok', text: sayStanding(standing, byPerson) }
      })
    const issuers = new Set(asked.flatMap((one) => desk.registeredItselfAt(one, peer)))
    return [...standings, ...[...issuers].map((issuer) => selfRegistered(name, issuer))]
  }
}

/** @source MCP 2026-07-28, authorization, client registration approaches; deprecated features */
function selfRegistered(name: string, issuer: string): Finding {
  return {
    about: ABOUT,
    state: 'note',
    text: `for ${name} comity registered itself at ${issuer} (dynamic client registration): deprecated since 2026-07-28, goes not before the first revision from 2027-07-28 on`,
    todo: `where ${issuer} takes a client ID metadata document or a client of yours, set mcpServers.${name}.auth.metadataUrl or auth.client`,
  }
}

/** A server's guard, and the credentials of whoever calls it: what is refused, and what becomes of a person's login. */
import type { IncomingMessage } from 'node:http'
import type {
  AfterRefusal,
  Credentials,
  LoginAddress,
  Refusal,
} from '../../src/mcp/upstream/credentials.ts'
import type { Incoming } from './peer.ts'

/** What is answered instead, where a token or a scope of it is missing. */
export interface Refused {
  readonly status: 401 | 403
  readonly challenge: string
}

export type Guard = (request: IncomingMessage, message: Incoming | undefined) => Refused | undefined

/** The tool that needs more than any token. */
export const GUARDED_TOOL = 'touch'
/** Where a person would log in. */
export const LOGIN_URL = 'https://login.example/authorize'
export const LOGIN_COMMAND = 'run: comity login peer'
export const SCOPE_COMMAND = 'run: comity login peer --scope wide'

/** Everything wants a token, and one tool a wide one. */
export const guard: Guard = ({ headers }, message) => {
  const token = headers.authorization?.replace('Bearer ', '')
  if (token !== 'narrow' && token !== 'wide')
    return { status: 401, challenge: 'Bearer scope="narrow"' }
  if (message?.params?.['name'] !== GUARDED_TOOL || token === 'wide') return undefined
  return { status: 403, challenge: 'Bearer error="insufficient_scope", scope="wide"' }
}

export interface Keyring extends Credentials {
  readonly refusals: readonly Refusal[]
  /** As if a person had logged in. */
  take(token: string | undefined): void
}

/** Bears the last token; whoever is refused has to log in. */
export function createKeyring(): Keyring {
  const refusals: Refusal[] = []
  let held: string | undefined
  const detail = LOGIN_COMMAND
  const begin = async (): Promise<LoginAddress> => ({ url: LOGIN_URL, detail })
  const login: AfterRefusal = { kind: 'login', detail, begin }
  return {
    refusals,
    take(token) {
      held = token
    },
    headersFor: () => (held === undefined ? {} : { authorization: `Bearer ${held}` }),
    async afterRefusal(refusal) {
      refusals.push(refusal)
      return login
    },
  }
}

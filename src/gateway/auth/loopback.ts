/**
 * Where the browser comes back to after a login: one address on loopback, open for one login and no longer.
 *
 * Decides what reaches the login: one GET of the exact path, under the exact Host, with the state that was given out. All else
 * is "not found" and changes nothing. The path is the same for every login, since a client is registered with it; what
 * nobody can guess is the state.
 *
 * @source RFC 8252, 7.3 and 8.3; OAuth 2.1, section 4.1.2.
 */
import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ComityError } from '../../core/words/errors.ts'

const HOST = '127.0.0.1'
const PATH = '/comity/logged-in'
const MAX_HEADER_BYTES = 16 * 1024
const MAX_CONNECTIONS = 16
const READ_MS = 10_000

/** What the person sees in the browser at the end. Our words. */
export interface LoginPage {
  readonly done: boolean
  readonly text: string
}

export interface LoopbackOptions {
  /** This port and no other. */
  readonly port?: number
  /** Any port, this one if it is free. */
  readonly wish?: number
}

export interface Loopback {
  readonly redirectUri: string
  /**
   * Lets the login come in, once.
   *
   * @param take what came; its page is shown when it is done. Must not reject.
   */
  expect(state: string, take: (parameters: URLSearchParams) => Promise<LoginPage>): void
  /** What is being answered is still answered. */
  close(): void
}

/** Listens on loopback. @throws ComityError `conflict` when the port that it must be is in use. */
export async function openLoopback({ port, wish }: LoopbackOptions): Promise<Loopback> {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: READ_MS,
    requestTimeout: READ_MS,
    keepAlive: false,
  })
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, port, wish)
  const host = `${HOST}:${(server.address() as AddressInfo).port}`
  let waiting:
    | { readonly state: string; readonly take: (came: URLSearchParams) => Promise<LoginPage> }
    | undefined
  server.on('request', (request, response) => {
    const parameters = parametersOf(request, host)
    if (parameters === undefined || waiting === undefined) return sayNothing(response)
    if (!isSame(parameters.get('state') ?? '', waiting.state)) return sayNothing(response)
    const { take } = waiting
    waiting = undefined
    void take(parameters).then((page) => show(response, page))
  })
  return {
    redirectUri: `http://${host}${PATH}`,
    expect(state, take) {
      waiting = { state, take }
    },
    close() {
      waiting = undefined
      server.close()
      server.closeIdleConnections()
    },
  }
}

async function listen(
  server: Server,
  port: number | undefined,
  wish: number | undefined,
): Promise<void> {
  if (port === undefined && wish !== undefined && (await tryListen(server, wish)) === undefined)
    return
  const refusal = await tryListen(server, port ?? 0)
  if (refusal === undefined) return
  throw new ComityError(
    'conflict',
    `the login's way back needs ${HOST}:${port ?? 0}, which cannot be listened on (${refusal}): free it, or set another auth.redirectPort`,
  )
}

/** @returns why not. */
async function tryListen(server: Server, port: number): Promise<string | undefined> {
  try {
    server.listen({ host: HOST, port, exclusive: true })
    await once(server, 'listening')
    // A login that nobody comes back from keeps no process alive.
    server.unref()
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}

function parametersOf(request: IncomingMessage, host: string): URLSearchParams | undefined {
  const target = request.url ?? ''
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  if (request.method !== 'GET' || path !== PATH || request.headers.host !== host) return undefined
  const parameters = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1))
  // Said twice, one of them is a stranger's. @source OAuth 2.1, section 3.1
  const names = [...parameters.keys()]
  return names.length === new Set(names).size ? parameters : undefined
}

function isSame(came: string, expected: string): boolean {
  const [left, right] = [Buffer.from(came), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
}

function sayNothing(response: ServerResponse): void {
  response.writeHead(404, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' })
  response.end('There is no login to come back from here.\n')
}

function show(response: ServerResponse, { done, text }: LoginPage): void {
  const title = done ? 'Logged in' : 'Not logged in'
  response.writeHead(done ? 200 : 400, HEADERS)
  response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title} - comity</title>
<style>body { font: 1.1rem/1.5 system-ui, sans-serif; margin: 18vh auto; max-width: 34rem; padding: 0 1rem }</style>
<h1>${title}</h1>
<p>${escapeHtml(text)}</p>
<p>You can close this window.</p>
</html>
`)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

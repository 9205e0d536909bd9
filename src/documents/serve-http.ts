/**
 * The documents over HTTP, on this machine only: who calls is told by their token alone.
 */
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ComityError } from '../core/words/errors.ts'
import type { Authenticate, HttpDoorOptions } from '../mcp/downstream/http.ts'
import { createHttpDoor } from '../mcp/downstream/http.ts'
import type { DoorPorts } from '../mcp/downstream/options.ts'
import type { Documents } from './open-documents.ts'
import { ANONYMOUS } from './readers.ts'

const HOST = '127.0.0.1'
const PATH = '/mcp'

/** A listening server. */
export interface HttpServing {
  readonly url: string
  /** Lets running requests answer, then stops. */
  close(): Promise<void>
}

/**
 * Listens on loopback.
 *
 * @param port 0 takes a free one.
 * @throws ComityError `config_invalid` when the port cannot be had.
 */
export async function serveHttp(
  ports: DoorPorts,
  options: Omit<HttpDoorOptions, 'authenticate'>,
  documents: Documents,
  port: number,
): Promise<HttpServing> {
  const door = createHttpDoor(ports, { ...options, authenticate: createAuthenticate(documents) })
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '').split('?')
    if (path === PATH) door.handle(request, response)
    else response.writeHead(404, { 'content-type': 'text/plain' }).end(`expected ${PATH}\n`)
  })
  try {
    server.listen(port, HOST)
    await once(server, 'listening')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ComityError('config_invalid', `cannot listen on port ${port}: ${why}`, { cause })
  }
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${HOST}:${taken}${PATH}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      await door.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** A token makes its principal, no token makes anonymous, and an unknown one is refused. */
function createAuthenticate(documents: Documents): Authenticate {
  return async ({ authorization }: IncomingHttpHeaders) => {
    if (authorization === undefined) {
      return { principal: { id: ANONYMOUS, groups: [], via: 'local' } }
    }
    const token = /^bearer +(\S+) *$/iu.exec(authorization)?.[1]
    const id = token === undefined ? undefined : (await documents.tokens()).get(token)
    if (id !== undefined) return { principal: { id, groups: [], via: 'token' } }
    return {
      refused: {
        status: 401,
        message: 'expected "Authorization: Bearer" with a token of comity-docs.yaml, or none',
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      },
    }
  }
}

/** A plain node:http server around the HTTP door, for a server that has nothing else to serve. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHttpDoor, type HttpDoorOptions } from '../http.ts'
import type { DoorPorts } from '../options.ts'

export interface ServeHttpOptions extends HttpDoorOptions {
  /** Default 127.0.0.1. Another address needs `allowedHosts` and an `authenticate` that checks. */
  readonly host?: string
  /** 0 takes a free one. */
  readonly port: number
  /** Default `/mcp`. */
  readonly path?: string
}

export interface HttpServer {
  readonly url: string
  readonly port: number
  /** Lets running requests answer for a while, then ends every connection. */
  close(): Promise<void>
}

/** Resolves once it listens. @throws Error when the address cannot be taken. */
export async function serveHttp(ports: DoorPorts, options: ServeHttpOptions): Promise<HttpServer> {
  const door = createHttpDoor(ports, options)
  const path = options.path ?? '/mcp'
  const server = createServer((request, response) => {
    if (new URL(request.url ?? '/', 'http://host').pathname === path) {
      door.handle(request, response)
      return
    }
    response.writeHead(404, { 'content-type': 'text/plain' }).end(`not found; MCP is at ${path}\n`)
  })
  const host = options.host ?? '127.0.0.1'
  server.listen(options.port, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`,
    port,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      await door.close()
      server.closeAllConnections()
      await closed
    },
  }
}

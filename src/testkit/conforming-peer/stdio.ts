/** The peer on its standard streams, in either era. */
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import {
  createConformingServer,
  createEndpoint,
  type ConformingServer,
  type Endpoint,
  type Era,
} from './server.ts'

/** Serves the process's standard streams until they end. @returns ends it. */
export async function serveStreams(era: Era): Promise<() => Promise<void>> {
  const endpoint = createEndpoint()
  if (era === 'legacy') {
    const { server } = follow(createConformingServer(endpoint), endpoint)
    await server.connect(new StdioServerTransport())
    return () => server.close()
  }
  const handle = serveStdio(() => follow(createConformingServer(endpoint), endpoint).server, {
    legacy: era === 'modern' ? 'reject' : 'serve',
  })
  return () => handle.close()
}

/** There is one connection: whatever changes is told on it, in the form of its era. */
function follow(conforming: ConformingServer, { changes }: Endpoint): ConformingServer {
  const { server, align, isSubscribed } = conforming
  changes.join({
    toolsChanged: align,
    promptsChanged: align,
    resourcesChanged: align,
    resourceUpdated: (uri) => {
      // In 2026-07-28 the SDK's subscriptions filter by URI; in 2025 the caller has subscribed.
      const modern = server.server.getNegotiatedProtocolVersion() === '2026-07-28'
      if (modern || isSubscribed(uri)) {
        server.server.sendResourceUpdated({ uri }).catch(() => undefined)
      }
    },
  })
  return conforming
}

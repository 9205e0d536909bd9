/** Resources by the suite's names, and the subscriptions that a session of 2025 asks for. */
import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/server'
import type { Changes } from './changes.ts'
import { PNG } from './media.ts'

/** The resource that changes when `test_trigger_resource_change` is called. */
export const WATCHED_URI = 'test://watched-resource'

/** Registers them. @returns whether this server's own caller subscribed to a resource (2025 only). */
export function registerResources(server: McpServer, changes: Changes): (uri: string) => boolean {
  registerStaticResources(server)
  server.registerResource(
    'watched',
    WATCHED_URI,
    { description: 'A text that changes when asked to', mimeType: 'text/plain' },
    () => contents(WATCHED_URI, `Version ${changes.watchedVersion}`),
  )
  server.registerResource(
    'data-by-id',
    new ResourceTemplate('test://template/{id}/data', {
      list: undefined,
      complete: { id: (value) => ['123', '124', '200'].filter((id) => id.startsWith(value)) },
    }),
    { description: 'Data for any id', mimeType: 'application/json' },
    ({ href }, { id }) => {
      const data = { id: String(id), templateTest: true, data: `Data for ID: ${String(id)}` }
      return contents(href, JSON.stringify(data), 'application/json')
    },
  )
  return acceptSubscriptions(server)
}

function registerStaticResources(server: McpServer): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'A text that never changes', mimeType: 'text/plain' },
    ({ href }) => contents(href, 'This is the content of the static text resource.'),
  )
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'An image that never changes', mimeType: 'image/png' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'image/png', blob: PNG }] }),
  )
}

/** 2026-07-28 has `subscriptions/listen` instead, which the SDK's serving entry answers. */
function acceptSubscriptions(server: McpServer): (uri: string) => boolean {
  const subscribed = new Set<string>()
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscribed.add(params.uri)
    return {}
  })
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscribed.delete(params.uri)
    return {}
  })
  return (uri) => subscribed.has(uri)
}

function contents(
  uri: string,
  text: string,
  mimeType = 'text/plain',
): { contents: { uri: string; mimeType: string; text: string }[] } {
  return { contents: [{ uri, mimeType, text }] }
}

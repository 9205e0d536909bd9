/** What a server's pins are bound to: what would be run or reached, not secrets, so that they survive a new token. */
import type { McpPeerConfig } from './client.ts'

/** The text that is digested. */
export function endpointText(server: McpPeerConfig['server']): string {
  if (server.transport === 'http') return `http ${server.url}`
  const { command, args, cwd } = server
  return `stdio ${JSON.stringify([command, ...args])}${cwd === undefined ? '' : ` in ${cwd}`}`
}

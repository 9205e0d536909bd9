/**
 * Tools that change the peer's own lists and its watched resource, so that whoever listens is told.
 *
 * Each comes with what it adds and takes away: a relay that compares lists must see a difference.
 */
import type { McpServer } from '@modelcontextprotocol/server'
import type { Changes } from './changes.ts'
import { WATCHED_URI } from './resources.ts'

/** Registers them, and what is there at present of the parts that come and go. */
export function registerChangingTools(server: McpServer, changes: Changes): void {
  triggers(server, 'test_trigger_tool_change', 'Adds a tool, or takes it away', () => {
    changes.extra.tool = !changes.extra.tool
    changes.tell.toolsChanged()
  })
  triggers(server, 'test_trigger_prompt_change', 'Adds a prompt, or takes it away', () => {
    changes.extra.prompt = !changes.extra.prompt
    changes.tell.promptsChanged()
  })
  triggers(server, 'test_trigger_resource_list_change', 'Adds or removes a resource', () => {
    changes.extra.resource = !changes.extra.resource
    changes.tell.resourcesChanged()
  })
  triggers(server, 'test_trigger_resource_change', `Changes ${WATCHED_URI}`, () => {
    changes.watchedVersion += 1
    changes.tell.resourceUpdated(WATCHED_URI)
  })
}

function triggers(server: McpServer, name: string, description: string, change: () => void): void {
  server.registerTool(name, { description }, () => {
    change()
    return { content: [{ type: 'text', text: 'Changed.' }] }
  })
}

/**
 * The parts that come and go, on one server.
 *
 * @returns brings the server in line with the present state; for servers that outlive a change.
 */
export function registerExtras(server: McpServer, changes: Changes): () => void {
  const tool = server.registerTool('test_extra_tool', { description: 'Comes and goes' }, () => ({
    content: [{ type: 'text', text: 'I am here.' }],
  }))
  const prompt = server.registerPrompt(
    'test_extra_prompt',
    { description: 'Comes and goes' },
    () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'I am here.' } }] }),
  )
  const resource = server.registerResource(
    'extra',
    'test://extra',
    { description: 'Comes and goes', mimeType: 'text/plain' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'text/plain', text: 'I am here.' }] }),
  )
  const parts = [
    [tool, 'tool'],
    [prompt, 'prompt'],
    [resource, 'resource'],
  ] as const
  const align = (): void => {
    for (const [part, name] of parts) {
      if (part.enabled === changes.extra[name]) continue
      if (changes.extra[name]) part.enable()
      else part.disable()
    }
  }
  align()
  return align
}

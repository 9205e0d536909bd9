/**
 * A stdio MCP server on the official SDK that asks and tells: tools `ask_language` (elicitation), `ask_model` (sampling),
 * `ask_roots`, `touch` (updates the resource `note://one`), `grow` (adds a tool), `wait` (answers once `release` is there, in
 * the folder of its first argument).
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

const [, , folder = '.'] = process.argv
const peer = new McpServer(
  { name: 'asking', version: '1' },
  { capabilities: { resources: { subscribe: true, listChanged: true }, logging: {} } },
)
const text = (value: unknown) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(value) }],
})
const subscribed = new Set<string>()

peer.registerTool('ask_language', {}, async () =>
  text(
    await peer.server.elicitInput({
      message: 'Which language?',
      requestedSchema: {
        type: 'object',
        properties: { language: { type: 'string', enum: ['zh', 'en'] } },
        required: ['language'],
      },
    }),
  ),
)
peer.registerTool('ask_model', {}, async () =>
  text(
    await peer.server.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }],
      maxTokens: 10,
    }),
  ),
)
peer.registerTool('ask_roots', {}, async () => text(await peer.server.listRoots()))
peer.registerTool('touch', {}, async () => {
  for (const uri of subscribed) await peer.server.sendResourceUpdated({ uri })
  return text([...subscribed])
})
peer.registerTool('grow', {}, () => {
  peer.registerTool('grown', {}, () => text('grown'))
  return text('grew')
})
peer.registerTool('wait', {}, async () => {
  while (!existsSync(join(folder, 'release'))) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return text('released')
})
peer.registerResource('one', 'note://one', {}, () => ({
  contents: [{ uri: 'note://one', text: 'first note' }],
}))
peer.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
  subscribed.add(params.uri)
  return {}
})
peer.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
  subscribed.delete(params.uri)
  return {}
})
await peer.connect(new StdioServerTransport())

/** The tools of the Tasks fixtures as the SDK lists them, and runs them for callers that know no tasks. */
import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server'
import { PeerTask, TASK_TOOLS } from './tasks.ts'

/** Registers them, and the one that never is a task. */
export function registerTaskTools(server: McpServer): void {
  server.registerTool(
    'greet',
    {
      description: 'Greets, at once',
      inputSchema: fromJsonSchema<{ name: string }>({
        type: 'object',
        properties: { name: { type: 'string' } },
        required: ['name'],
      }),
    },
    ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}!` }] }),
  )
  for (const [name, tool] of Object.entries(TASK_TOOLS)) {
    const { description, properties } = tool
    const inputSchema = fromJsonSchema<Record<string, unknown>>({
      type: 'object',
      properties: properties as Record<string, object>,
    })
    server.registerTool(name, { description, inputSchema }, async (args) => {
      // In a task that nobody sees: what it asks is asked of nobody.
      const task: PeerTask = new PeerTask(() => {
        if ('inputRequests' in task.detailed()) task.cancel()
      })
      const end = await tool.run(task, args, {})
      if (end === 'cancelled' || 'error' in end) throw new Error('it came to nothing')
      return end.result as { content: { type: 'text'; text: string }[] }
    })
  }
}

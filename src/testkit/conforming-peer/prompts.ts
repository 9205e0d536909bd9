/** Prompts by the suite's names, with completion of one argument. */
import {
  acceptedContent,
  completable,
  inputRequired,
  type McpServer,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PNG } from './media.ts'

/** What the first argument of `test_prompt_with_arguments` completes to. */
const PLACES = ['paris', 'park', 'party', 'pardubice']

/** Registers them. */
export function registerPrompts(server: McpServer): void {
  registerPlainPrompts(server)
  const argsSchema = z.object({
    arg1: completable(z.string().describe('First test argument'), (value) =>
      PLACES.filter((place) => place.startsWith(value)),
    ),
    arg2: z.string().describe('Second test argument'),
  })
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Says its arguments', argsSchema },
    ({ arg1, arg2 }) =>
      user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'Has a resource inside',
      argsSchema: z.object({ resourceUri: z.string().describe('URI of the resource to embed') }),
    },
    ({ resourceUri }) =>
      user(
        {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  )
  registerAskingPrompt(server)
}

function registerPlainPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'Says one sentence' }, () =>
    user({ type: 'text', text: 'This is a simple prompt for testing.' }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'Shows an image' }, () =>
    user(
      { type: 'image', data: PNG, mimeType: 'image/png' },
      { type: 'text', text: 'Please analyze the image above.' },
    ),
  )
}

function registerAskingPrompt(server: McpServer): void {
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks for a context before it answers' },
    ({ mcpReq }) => {
      const context = acceptedContent(mcpReq.inputResponses, 'user_context')?.['context']
      if (typeof context === 'string') {
        return user({ type: 'text', text: `Use this context: ${context}` })
      }
      const user_context = inputRequired.elicit({
        message: 'What context should the prompt use?',
        requestedSchema: {
          type: 'object',
          properties: { context: { type: 'string' } },
          required: ['context'],
        },
      })
      return inputRequired({ inputRequests: { user_context } })
    },
  )
}

type PromptContent =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }

function user(...contents: PromptContent[]): {
  messages: { role: 'user'; content: PromptContent }[]
} {
  return { messages: contents.map((content) => ({ role: 'user', content })) }
}

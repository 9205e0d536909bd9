/**
 * Tools of the 2025 scenarios that ask in mid-call, and those that need a declared capability.
 *
 * Written once: the answer `input_required` becomes real requests on a session of 2025 (the SDK's
 * bridge) and stays what it is for callers of 2026-07-28.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  type ElicitInputParams,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'

type FormSchema = ElicitInputParams['requestedSchema']

/** Registers them. */
export function registerAskingTools(server: McpServer): void {
  registerSampling(server)
  registerElicitation(server)
  asksForm(server, 'test_elicitation_sep1034_defaults', 'Asks with defaults', DEFAULTS)
  asksForm(server, 'test_elicitation_sep1330_enums', 'Asks with every kind of choice', CHOICES)
  asksModel(server, 'test_missing_capability', 'Needs a caller that can be asked to sample')
}

/** What the caller declared: on the request itself, or when its session began. */
export function capabilitiesOf(
  server: McpServer,
  context: ServerContext,
): Readonly<Record<string, unknown>> {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities()
  return typeof declared === 'object' && declared !== null ? { ...declared } : {}
}

/** A caller that did not declare sampling gets the error for that: the SDK looks before it asks. */
function asksModel(server: McpServer, name: string, description: string): void {
  server.registerTool(name, { description }, (context) => {
    if (inputResponse(context.mcpReq.inputResponses, 'sample').kind === 'sampling') {
      return { content: [{ type: 'text', text: 'The caller can sample.' }] }
    }
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello?' } }]
    return inputRequired({
      inputRequests: { sample: inputRequired.createMessage({ messages, maxTokens: 100 }) },
    })
  })
}

function registerSampling(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    {
      description: "Asks the caller's model",
      inputSchema: fromJsonSchema<{ prompt: string }>({
        type: 'object',
        properties: { prompt: { type: 'string', description: 'What the model is asked' } },
        required: ['prompt'],
      }),
    },
    ({ prompt }, context) => {
      const answer = inputResponse(context.mcpReq.inputResponses, 'sample')
      if (answer.kind !== 'sampling') {
        const messages = [
          { role: 'user' as const, content: { type: 'text' as const, text: prompt } },
        ]
        return inputRequired({
          inputRequests: { sample: inputRequired.createMessage({ messages, maxTokens: 100 }) },
        })
      }
      const { content } = answer.result
      const text = !Array.isArray(content) && content.type === 'text' ? content.text : ''
      return { content: [{ type: 'text', text: `LLM response: ${text}` }] }
    },
  )
}

function registerElicitation(server: McpServer): void {
  server.registerTool(
    'test_elicitation',
    {
      description: 'Asks the person at the caller',
      inputSchema: fromJsonSchema<{ message: string }>({
        type: 'object',
        properties: { message: { type: 'string', description: 'What the person is asked' } },
        required: ['message'],
      }),
    },
    ({ message }, context) => {
      const answer = inputResponse(context.mcpReq.inputResponses, 'form')
      if (answer.kind !== 'elicit') {
        const form = inputRequired.elicit({ message, requestedSchema: PERSON })
        return inputRequired({ inputRequests: { form } })
      }
      const text = `User response: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`
      return { content: [{ type: 'text', text }] }
    },
  )
}

function asksForm(
  server: McpServer,
  name: string,
  description: string,
  requestedSchema: FormSchema,
): void {
  server.registerTool(name, { description }, (context) => {
    const answer = inputResponse(context.mcpReq.inputResponses, 'form')
    if (answer.kind !== 'elicit') {
      const form = inputRequired.elicit({
        message: `${description}: please fill in`,
        requestedSchema,
      })
      return inputRequired({ inputRequests: { form } })
    }
    const text = `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`
    return { content: [{ type: 'text', text }] }
  })
}

const PERSON: FormSchema = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
}

const DEFAULTS: FormSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: {
      type: 'string',
      description: 'User status',
      enum: ['active', 'inactive', 'pending'],
      default: 'active',
    },
    verified: { type: 'boolean', description: 'Verification status', default: true },
  },
  required: [],
}

const CHOICES: FormSchema = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: {
      type: 'string',
      oneOf: [
        { const: 'value1', title: 'First Option' },
        { const: 'value2', title: 'Second Option' },
        { const: 'value3', title: 'Third Option' },
      ],
    },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: {
      type: 'array',
      items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    },
    titledMulti: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'value1', title: 'First Choice' },
          { const: 'value2', title: 'Second Choice' },
          { const: 'value3', title: 'Third Choice' },
        ],
      },
    },
  },
  required: [],
}

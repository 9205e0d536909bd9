/**
 * Tools that answer `input_required` and are called again with the answers (MCP 2026-07-28,
 * multi round-trip requests). States are signed; a changed one is refused by the SDK's verify hook.
 */
import {
  acceptedContent,
  inputRequired,
  inputResponse,
  type InputRequests,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { capabilitiesOf } from './asking-tools.ts'

/** What a state of this peer says. */
export interface RoundState {
  readonly tool: string
  readonly round: number
}

type Codec = RequestStateCodec<RoundState>
type Responses = ServerContext['mcpReq']['inputResponses']

/** Registers them. */
export function registerRoundTripTools(server: McpServer, states: Codec): void {
  registerSingleQuestions(server)
  registerWithState(server, states)
  registerMultipleInputs(server, states)
  registerMultiRound(server, states)
  registerCapabilities(server)
}

/** The question of the suite's first scenarios, under its key. */
const USER_NAME: InputRequests = {
  user_name: inputRequired.elicit({
    message: 'What is your name?',
    requestedSchema: {
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
    },
  }),
}

function said(text: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text }] }
}

/** A text of an accepted form; undefined when it is missing, declined or no text. */
function textOf(responses: Responses, key: string, field: string): string | undefined {
  const value = acceptedContent(responses, key)?.[field]
  return typeof value === 'string' ? value : undefined
}

function sampledText(responses: Responses, key: string): string | undefined {
  const answer = inputResponse(responses, key)
  if (answer.kind !== 'sampling') return undefined
  const { content } = answer.result
  return Array.isArray(content) || content.type !== 'text' ? undefined : content.text
}

function asksOneText(title: string, field: string): ReturnType<typeof inputRequired.elicit> {
  const properties = { [field]: { type: 'string' as const } }
  return inputRequired.elicit({
    message: title,
    requestedSchema: { type: 'object', properties, required: [field] },
  })
}

function asksModel(text: string, maxTokens: number): ReturnType<typeof inputRequired.elicit> {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text } }]
  return inputRequired.createMessage({ messages, maxTokens })
}

function registerSingleQuestions(server: McpServer): void {
  for (const name of ['test_input_required_result_elicitation', 'test_streaming_elicitation']) {
    server.registerTool(name, { description: 'Asks for a name' }, ({ mcpReq }) => {
      const answer = textOf(mcpReq.inputResponses, 'user_name', 'name')
      // Also after a decline, a wrong key or a wrong shape: asking again is what the suite expects.
      if (answer === undefined) return inputRequired({ inputRequests: USER_NAME })
      return said(`Hello, ${answer}!`)
    })
  }
  server.registerTool(
    'test_input_required_result_sampling',
    { description: "Asks the caller's model for a capital" },
    ({ mcpReq }) => {
      const answer = sampledText(mcpReq.inputResponses, 'capital_question')
      if (answer !== undefined) return said(`The model says: ${answer}`)
      const capital_question = asksModel('What is the capital of France?', 100)
      return inputRequired({ inputRequests: { capital_question } })
    },
  )
  server.registerTool(
    'test_input_required_result_list_roots',
    { description: 'Asks for the roots of the caller' },
    ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'client_roots')
      if (answer.kind === 'roots') {
        return said(`Roots: ${answer.roots.map(({ uri }) => uri).join(', ')}`)
      }
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
    },
  )
}

function registerWithState(server: McpServer, states: Codec): void {
  for (const [tool, text] of [
    ['test_input_required_result_request_state', 'state-ok'],
    ['test_input_required_result_tampered_state', 'state-ok: it was not tampered with'],
  ] as const) {
    server.registerTool(tool, { description: 'Asks to confirm, with a state' }, async (context) => {
      const { inputResponses, requestState } = context.mcpReq
      const state = requestState<RoundState>()
      const answer = inputResponse(inputResponses, 'confirm')
      if (state?.tool === tool && answer.kind === 'elicit') return said(text)
      const confirm = inputRequired.elicit({
        message: 'Please confirm',
        requestedSchema: {
          type: 'object',
          properties: { ok: { type: 'boolean' } },
          required: ['ok'],
        },
      })
      return inputRequired({
        inputRequests: { confirm },
        requestState: await states.mint({ tool, round: 1 }, context),
      })
    })
  }
}

function registerMultipleInputs(server: McpServer, states: Codec): void {
  const tool = 'test_input_required_result_multiple_inputs'
  server.registerTool(tool, { description: 'Asks three things at once' }, async (context) => {
    const { inputResponses, requestState } = context.mcpReq
    const name = textOf(inputResponses, 'user_name', 'name')
    const greeting = sampledText(inputResponses, 'greeting')
    const roots = inputResponse(inputResponses, 'client_roots')
    if (
      requestState<RoundState>()?.tool === tool &&
      name !== undefined &&
      greeting !== undefined &&
      roots.kind === 'roots'
    ) {
      return said(`${greeting} ${name}, of ${roots.roots.length} roots`)
    }
    return inputRequired({
      inputRequests: {
        ...USER_NAME,
        greeting: asksModel('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint({ tool, round: 1 }, context),
    })
  })
}

function registerMultiRound(server: McpServer, states: Codec): void {
  const tool = 'test_input_required_result_multi_round'
  server.registerTool(tool, { description: 'Asks twice, one after the other' }, async (context) => {
    const { inputResponses, requestState } = context.mcpReq
    const round = requestState<RoundState>()?.round ?? 0
    const color = textOf(inputResponses, 'step2', 'color')
    if (round === 2 && color !== undefined) return said(`Favourite colour: ${color}`)
    const named = textOf(inputResponses, 'step1', 'name') !== undefined
    if (round === 2 || (round === 1 && named)) {
      return inputRequired({
        inputRequests: { step2: asksOneText('Step 2: What is your favorite color?', 'color') },
        requestState: await states.mint({ tool, round: 2 }, context),
      })
    }
    return inputRequired({
      inputRequests: { step1: asksOneText('Step 1: What is your name?', 'name') },
      requestState: await states.mint({ tool, round: 1 }, context),
    })
  })
}

function registerCapabilities(server: McpServer): void {
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks only what the caller said it can answer' },
    (context) => {
      if (Object.keys(context.mcpReq.inputResponses ?? {}).length > 0) return said('Thank you.')
      const can = capabilitiesOf(server, context)
      const inputRequests: InputRequests = {
        ...(can['elicitation'] === undefined ? {} : USER_NAME),
        ...(can['sampling'] === undefined
          ? {}
          : { greeting: asksModel('Generate a greeting', 50) }),
        ...(can['roots'] === undefined ? {} : { client_roots: inputRequired.listRoots() }),
      }
      if (Object.keys(inputRequests).length === 0) return said('There is nobody to ask.')
      return inputRequired({ inputRequests })
    },
  )
}

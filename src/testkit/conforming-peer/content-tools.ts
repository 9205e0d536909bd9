/**
 * Tools that only answer: one for each kind of content, one that fails, and those that speak on the
 * way (progress, logs). Names, arguments and texts are the conformance suite's.
 */
import {
  fromJsonSchema,
  type JsonSchemaType,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { setTimeout as wait } from 'node:timers/promises'
import { PNG, WAV } from './media.ts'

type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }

const STEP_MS = 50

/** Registers them. */
export function registerContentTools(server: McpServer): void {
  answering(server, 'test_simple_text', 'Answers with a text', [
    { type: 'text', text: 'This is a simple text response for testing.' },
  ])
  answering(server, 'test_image_content', 'Answers with an image', [
    { type: 'image', data: PNG, mimeType: 'image/png' },
  ])
  answering(server, 'test_audio_content', 'Answers with a sound', [
    { type: 'audio', data: WAV, mimeType: 'audio/wav' },
  ])
  answering(server, 'test_embedded_resource', 'Answers with a resource inside', [
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ])
  answering(server, 'test_multiple_content_types', 'Answers with text, image and resource', [
    { type: 'text', text: 'Multiple content types test:' },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ])
  server.registerTool('test_error_handling', { description: 'Always fails' }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
  }))
  registerSpeakingTools(server)
  registerSchemaTools(server)
}

function answering(server: McpServer, name: string, description: string, content: Content[]): void {
  server.registerTool(name, { description, annotations: { readOnlyHint: true } }, () => ({
    content,
  }))
}

function embedded(uri: string, mimeType: string, text: string): Content {
  return { type: 'resource', resource: { uri, mimeType, text } }
}

function registerSpeakingTools(server: McpServer): void {
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Reports progress three times' },
    async (context) => {
      for (const progress of [0, 50, 100]) {
        if (progress > 0) await wait(STEP_MS)
        await reportProgress(context, progress)
      }
      return { content: [{ type: 'text', text: 'Done, with progress on the way.' }] }
    },
  )
  logging(server, 'test_tool_with_logging', STEP_MS)
  // The suite waits half a second for this one, and whoever relays needs some of it.
  logging(server, 'test_logging_tool', 0)
  server.registerTool(
    'test_reconnection',
    { description: 'Closes its stream in mid-call; the answer waits for whoever resumes' },
    async (context) => {
      context.http?.closeSSE?.()
      await wait(2 * STEP_MS)
      return { content: [{ type: 'text', text: 'Reconnection test completed successfully.' }] }
    },
  )
}

function logging(server: McpServer, name: string, stepMs: number): void {
  server.registerTool(name, { description: 'Logs three times' }, async (context) => {
    await context.mcpReq.log('info', 'Tool execution started')
    await wait(stepMs)
    await context.mcpReq.log('info', 'Tool processing data')
    await wait(stepMs)
    await context.mcpReq.log('info', 'Tool execution completed')
    return { content: [{ type: 'text', text: 'Done, with logs on the way.' }] }
  })
}

async function reportProgress(context: ServerContext, progress: number): Promise<void> {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return
  await context.mcpReq.notify({
    method: 'notifications/progress',
    params: { progressToken, progress, total: 100 },
  })
}

function registerSchemaTools(server: McpServer): void {
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Its schema uses what JSON Schema 2020-12 has',
      inputSchema: fromJsonSchema<Record<string, unknown>>(SCHEMA_2020_12),
    },
    (given) => ({ content: [{ type: 'text', text: JSON.stringify(given) }] }),
  )
  server.registerTool(
    'test_header_parameter',
    {
      description: 'One of its arguments is mirrored into an HTTP header',
      inputSchema: fromJsonSchema<{ region: string }>(MIRRORED),
    },
    ({ region }) => ({ content: [{ type: 'text', text: `Region: ${region}` }] }),
  )
}

/** Word for word what the suite's scenario json-schema-2020-12 asks to be kept. Text, since an object with `then` looks like a promise to tools that read code. */
const SCHEMA_2020_12: JsonSchemaType = JSON.parse(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`)

/** One argument that is mirrored into a header (MCP 2026-07-28, Streamable HTTP, custom headers). */
const MIRRORED = {
  type: 'object' as const,
  properties: { region: { type: 'string' as const, 'x-mcp-header': 'Region' } },
  required: ['region'],
}

/**
 * An MCP tool seen as a skill of an A2A agent: a call in, artifact parts out.
 *
 * Pure. Peers' tool and server names are not shown: the skill's name is the operator's.
 */
import type { NewCall } from '../core/words/call.ts'
import type { Native } from '../core/words/native.ts'
import { nativeOf } from './native-text.ts'

/** A skill call as MCP `params`; the arguments' bytes stay as they came. */
export function toolRequest(call: NewCall): Native {
  const head = new TextEncoder().encode(
    `{"name":${JSON.stringify(call.route.exposed)},"arguments":`,
  )
  const bytes = new Uint8Array(head.length + call.arguments.bytes.length + 1)
  bytes.set(head, 0)
  bytes.set(call.arguments.bytes, head.length)
  bytes[bytes.length - 1] = 0x7d
  const value = (): unknown => ({ name: call.route.exposed, arguments: call.arguments.value() })
  return { protocol: 'mcp', revision: '', bytes, value }
}

/**
 * An MCP tool result as one A2A artifact: `{ artifacts: [Artifact], isError }`.
 *
 * @source MCP 2026-07-28, server/tools, content; A2A 1.0, 4.1.6 Part
 */
export function resultAsArtifacts(result: Native): {
  readonly native: Native
  readonly dropped: readonly string[]
} {
  const value = asRecord(result.value())
  const dropped: string[] = []
  const content = Array.isArray(value['content']) ? value['content'] : []
  const parts: Record<string, unknown>[] = content.flatMap((block, index) =>
    partOf(asRecord(block), index, dropped),
  )
  if ('structuredContent' in value)
    parts.push({ data: value['structuredContent'], mediaType: 'application/json' })
  // An artifact has at least one part; a tool that returned nothing still returned.
  if (parts.length === 0) parts.push({ text: '' })
  const artifact = { artifactId: 'result', name: 'result', parts }
  return {
    native: nativeOf('a2a', '1.0', { artifacts: [artifact], isError: value['isError'] === true }),
    dropped,
  }
}

function partOf(
  block: Record<string, unknown>,
  index: number,
  dropped: string[],
): Record<string, unknown>[] {
  if ('annotations' in block) dropped.push(`content/${index}/annotations`)
  const text = block['text']
  switch (block['type']) {
    case 'text':
      return [{ text: String(text), mediaType: 'text/plain' }]
    case 'image':
    case 'audio':
      return [{ raw: block['data'], mediaType: block['mimeType'] }]
    case 'resource_link':
      return [{ url: block['uri'], ...named(block) }]
    case 'resource': {
      const resource = asRecord(block['resource'])
      const body =
        typeof resource['text'] === 'string'
          ? { text: resource['text'] }
          : { raw: resource['blob'] }
      return [{ ...body, ...named({ name: resource['uri'], mimeType: resource['mimeType'] }) }]
    }
    default:
      dropped.push(`content/${index} (type ${String(block['type'])})`)
      return []
  }
}

function named(of: Record<string, unknown>): Record<string, unknown> {
  return {
    ...(typeof of['name'] === 'string' ? { filename: of['name'] } : {}),
    ...(typeof of['mimeType'] === 'string' ? { mediaType: of['mimeType'] } : {}),
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

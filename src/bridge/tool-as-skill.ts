/**
 * An MCP tool seen as a skill of an A2A agent: a call in, artifact parts out.
 *
 * Pure. Peers' tool and server names are not shown: the skill's name is the operator's.
 */
import type { NewCall } from '../core/words/call.ts'
import type { ArtifactChunk, ArtifactPart } from '../core/words/artifact.ts'
import type { Native } from '../core/words/native.ts'
import { exactValue } from './native-text.ts'

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
 * An MCP tool result as one artifact, `result`.
 *
 * @source MCP 2026-07-28, server/tools, content; A2A 1.0, 4.1.6 Part
 */
export function resultAsArtifact(result: Native): {
  readonly chunk: ArtifactChunk
  readonly dropped: readonly string[]
} {
  const value = asRecord(exactValue(result))
  const dropped: string[] = []
  const content = Array.isArray(value['content']) ? value['content'] : []
  const parts: ArtifactPart[] = content.flatMap((block, index) =>
    partOf(asRecord(block), index, dropped),
  )
  if ('structuredContent' in value) {
    const json = JSON.stringify(value['structuredContent'])
    parts.push({ kind: 'data', json, mediaType: 'application/json' })
  }
  // An artifact has at least one part; a tool that returned nothing still returned.
  if (parts.length === 0) parts.push({ kind: 'text', text: '' })
  return {
    chunk: { artifactId: 'result', name: 'result', append: false, last: true, parts },
    dropped,
  }
}

function partOf(block: Record<string, unknown>, index: number, dropped: string[]): ArtifactPart[] {
  if ('annotations' in block) dropped.push(`content/${index}/annotations`)
  switch (block['type']) {
    case 'text':
      return [{ kind: 'text', text: String(block['text']), mediaType: 'text/plain' }]
    case 'image':
    case 'audio':
      return [
        { kind: 'raw', bytes: bytesOf(block['data']), ...named({ mimeType: block['mimeType'] }) },
      ]
    case 'resource_link':
      return [{ kind: 'url', url: String(block['uri']), ...named(block) }]
    case 'resource': {
      const resource = asRecord(block['resource'])
      const labels = named({ name: resource['uri'], mimeType: resource['mimeType'] })
      const { text } = resource
      return typeof text === 'string'
        ? [{ kind: 'text', text, ...labels }]
        : [{ kind: 'raw', bytes: bytesOf(resource['blob']), ...labels }]
    }
    default:
      dropped.push(`content/${index} (type ${String(block['type'])})`)
      return []
  }
}

function named(of: Record<string, unknown>): {
  readonly filename?: string
  readonly mediaType?: string
} {
  return {
    ...(typeof of['name'] === 'string' ? { filename: of['name'] } : {}),
    ...(typeof of['mimeType'] === 'string' ? { mediaType: of['mimeType'] } : {}),
  }
}

function bytesOf(base64: unknown): Uint8Array {
  return Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64')
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

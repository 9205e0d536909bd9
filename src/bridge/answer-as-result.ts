/** An agent's direct Message seen as an MCP tool result. Pure. */
import { isObject } from '../core/words/is-object.ts'
import type { Native } from '../core/words/native.ts'
import { exactValue, nativeOf } from './native-text.ts'

/**
 * Parts as content blocks: text as text, raw bytes as embedded resources, urls as links, data as structured content.
 *
 * @source A2A 1.0, 4.1.6 Part; MCP 2026-07-28, server/tools, content
 */
export function answerAsResult(
  message: Native,
  contextId: string | undefined,
): { readonly native: Native; readonly dropped: readonly string[] } {
  const value = exactValue(message)
  const parts =
    isObject(value) && Array.isArray(value['parts']) ? value['parts'].filter(isObject) : []
  const content = parts.map((part, index) => blockOf(part, index))
  const data = parts.filter((part) => 'data' in part).map((part) => part['data'])
  const structuredContent = {
    state: 'answered',
    ...(contextId === undefined ? {} : { contextId }),
    ...(data.length === 0 ? {} : { data }),
  }
  const dropped = isObject(value)
    ? ['extensions', 'metadata'].filter((field) => field in value)
    : []
  return { native: nativeOf('mcp', '2026-07-28', { content, structuredContent }), dropped }
}

function blockOf(part: Record<string, unknown>, index: number): Record<string, unknown> {
  const name = typeof part['filename'] === 'string' ? part['filename'] : `part-${index}`
  const mimeType = typeof part['mediaType'] === 'string' ? part['mediaType'] : undefined
  if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] }
  if (typeof part['url'] === 'string')
    return {
      type: 'resource_link',
      uri: part['url'],
      name,
      ...(mimeType === undefined ? {} : { mimeType }),
    }
  if (typeof part['raw'] === 'string') {
    return {
      type: 'resource',
      resource: {
        uri: `comity://parts/${encodeURIComponent(name)}`,
        blob: part['raw'],
        ...(mimeType === undefined ? {} : { mimeType }),
      },
    }
  }
  return { type: 'text', text: JSON.stringify(part['data'] ?? null) }
}

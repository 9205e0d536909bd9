/** A caller of 2026-07-28 that takes tasks and can be asked: what any application with an MCP client does, in forty lines. */
type Json = Readonly<Record<string, unknown>>

export interface Task {
  readonly taskId: string
  readonly status: string
  readonly statusMessage?: string
  readonly inputRequests?: Readonly<
    Record<string, { readonly params: { readonly message: string } }>
  >
  readonly result?: {
    readonly structuredContent: Json
    readonly content: readonly { readonly text: string }[]
  }
}

let lastId = 0

/** Asks one thing. @throws Error with the answer's own words. */
export async function ask<T>(url: string, method: string, params: Json): Promise<T> {
  const name = params['taskId'] ?? params['name']
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'statistics-demo', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {
      extensions: { 'io.modelcontextprotocol/tasks': {} },
      elicitation: {},
    },
  }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: (lastId += 1),
      method,
      params: { ...params, _meta },
    }),
    signal: AbortSignal.timeout(30_000),
  })
  const message = (await response.json()) as {
    readonly result?: T
    readonly error?: { readonly message: string }
  }
  if (message.result === undefined)
    throw new Error(`${method}: ${message.error?.message ?? response.status}`)
  return message.result
}

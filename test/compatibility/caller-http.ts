/** A caller's wire over Streamable HTTP, both eras. */
import { createParser } from 'eventsource-parser'
import type { Message, Request, Wire } from './caller.ts'
import { isModern, type Revision } from './revisions.ts'

export function createHttpWire(url: string): Wire {
  let revision: Revision | undefined
  let session: string | undefined
  const stopping = new AbortController()
  const headersOf = (message: Message): Record<string, string> => {
    const modern = revision !== undefined && isModern(revision)
    const name = message.params?.['name'] ?? message.params?.['uri'] ?? message.params?.['taskId']
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(revision === undefined ? {} : { 'mcp-protocol-version': revision }),
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
      ...(modern ? { 'mcp-method': message.method ?? '' } : {}),
      ...(modern && typeof name === 'string' ? { 'mcp-name': name } : {}),
    }
  }
  const post = (message: Message, signal: AbortSignal): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: headersOf(message),
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal,
    })
  const send = async (message: Message): Promise<void> => {
    const response = await post(message, stopping.signal)
    await response.arrayBuffer()
    if (response.status !== 202) throw new Error(`a message was answered ${response.status}`)
  }
  return {
    send,
    agreed(agreed) {
      revision = agreed
    },
    request(message, onMessage): Request {
      const stop = new AbortController()
      const signal = AbortSignal.any([stop.signal, stopping.signal])
      const answer = post(message, signal).then(async (response) => {
        session ??= response.headers.get('mcp-session-id') ?? undefined
        return readAnswer(response, onMessage)
      })
      return {
        answer,
        cancel() {
          if (revision !== undefined && isModern(revision)) return stop.abort()
          const params = { requestId: message.id }
          void send({ method: 'notifications/cancelled', params }).catch(() => undefined)
        },
      }
    },
    async listen(onMessage) {
      const response = await fetch(url, {
        headers: { ...headersOf({}), accept: 'text/event-stream' },
        signal: stopping.signal,
      })
      if (response.status !== 200) throw new Error(`GET was answered ${response.status}`)
      void readStream(response, onMessage).catch(() => undefined)
    },
    async close() {
      stopping.abort()
    },
  }
}

async function readAnswer(
  response: Response,
  onMessage: (message: Message) => void,
): Promise<Message> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const body = await response.text()
    if (body === '') throw new Error(`an answer without a body, status ${response.status}`)
    return JSON.parse(body) as Message
  }
  let answer: Message | undefined
  await readStream(response, (message) => {
    if (message.method === undefined) answer = message
    else onMessage(message)
  })
  if (answer === undefined) throw new Error('the stream ended without an answer')
  return answer
}

async function readStream(
  response: Response,
  onMessage: (message: Message) => void,
): Promise<void> {
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '') onMessage(JSON.parse(data) as Message)
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? [])
    parser.feed(decoder.decode(chunk, { stream: true }))
}

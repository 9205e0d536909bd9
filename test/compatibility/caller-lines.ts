/** A caller's wire over lines. */
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import type { Message, Request, Wire } from './caller.ts'

/** @param input what comes from the server. @param output what goes to it. */
export function createLineWire(input: Readable, output: Writable): Wire {
  const open = new Map<unknown, PromiseWithResolvers<Message>>()
  const listeners = new Set<(message: Message) => void>()
  const write = (message: Message): void => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  createInterface({ input }).on('line', (line) => {
    const message = JSON.parse(line) as Message
    if (message.method === undefined) {
      open.get(message.id)?.resolve(message)
      open.delete(message.id)
      return
    }
    // A request is answered once, whoever listens; notifications go to all, each takes its own.
    const [first] = listeners
    if (message.id !== undefined) first?.(message)
    else for (const listener of listeners) listener(message)
  })
  return {
    agreed: () => undefined,
    request(message, onMessage): Request {
      const answer = Promise.withResolvers<Message>()
      open.set(message.id, answer)
      const listener = (came: Message): void => {
        if (isOf(message, came)) onMessage(came)
      }
      listeners.add(listener)
      void answer.promise.finally(() => listeners.delete(listener)).catch(() => undefined)
      write(message)
      return {
        answer: answer.promise,
        cancel() {
          write({ method: 'notifications/cancelled', params: { requestId: message.id } })
          open.delete(message.id)
          answer.reject(new Error('cancelled'))
        },
      }
    },
    async send(message) {
      write(message)
    },
    async listen(onMessage) {
      listeners.add(onMessage)
    },
    async close() {
      output.end()
    },
  }
}

/** Progress by its token, a listen stream by its subscription; logs and questions name nobody. */
function isOf(request: Message, came: Message): boolean {
  const meta = came.params?.['_meta'] as Record<string, unknown> | undefined
  const subscription = meta?.['io.modelcontextprotocol/subscriptionId']
  if (subscription !== undefined) return subscription === request.id
  const token = came.params?.['progressToken']
  return token === undefined || token === `p${String(request.id)}`
}

/** An HTTP server on loopback for tests: what it is asked is kept, what it answers is a table. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** One request, as it came. */
export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What is answered: a status, or with JSON, or by hand. */
export type Answer =
  | {
      readonly status?: number
      readonly json?: unknown
      readonly text?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | ((asked: Asked, response: ServerResponse) => Answer | undefined | Promise<Answer | undefined>)

/** A server that listens. */
export interface TestServer {
  /** `http://127.0.0.1:port`. */
  readonly url: string
  readonly port: number
  readonly asked: Asked[]
  /** Of the requests: `GET /path`. */
  readonly lines: () => string[]
}

/** @param answers by `METHOD /path`, or by path alone; anything else is 404. */
export async function serveHttp(answers: Record<string, Answer>): Promise<TestServer> {
  const asked: Asked[] = []
  const server = createServer((incoming, response) => {
    void answer(incoming, response, answers, asked)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const lines = () => asked.map(({ method, url }) => `${method} ${url}`)
  return { url: `http://127.0.0.1:${port}`, port, asked, lines }
}

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  answers: Record<string, Answer>,
  asked: Asked[],
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const { method = '', url = '', headers } = incoming
  const one: Asked = { method, url, headers, body: Buffer.concat(chunks).toString() }
  asked.push(one)
  const path = url.split('?')[0] ?? ''
  let found = answers[`${method} ${path}`] ?? answers[path] ?? { status: 404, text: 'nothing' }
  if (typeof found === 'function') {
    const made = await found(one, response)
    if (made === undefined || typeof made === 'function') return
    found = made
  }
  const isJson = found.json !== undefined
  response.writeHead(found.status ?? 200, {
    'content-type': isJson ? 'application/json' : 'text/html; charset=utf-8',
    ...found.headers,
  })
  response.end(isJson ? JSON.stringify(found.json) : (found.text ?? ''))
}

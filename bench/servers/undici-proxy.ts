/**
 * The practical limit of a proxy in Node, which everything is measured against: node:http in, undici out, bodies streamed,
 * nothing parsed, nothing kept. PORT; UPSTREAM: the origin.
 */
import { createServer } from 'node:http'
import { Pool } from 'undici'

const pool = new Pool(process.env['UPSTREAM'] ?? '', {
  connections: 128,
  pipelining: 1,
  keepAliveTimeout: 30_000,
})
/** Headers of one hop (RFC 9110, 7.6.1). */
const HOP = new Set(
  'connection keep-alive transfer-encoding host upgrade te trailer expect'.split(' '),
)

const onward = <T>(headers: Readonly<Record<string, T>>): Record<string, T> => {
  const kept: Record<string, T> = {}
  for (const name in headers) if (!HOP.has(name)) kept[name] = headers[name]!
  return kept
}

createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  const method = request.method ?? 'GET'
  const options = {
    path: request.url ?? '/',
    method: method as 'POST',
    headers: onward(request.headers),
    body: method === 'GET' || method === 'DELETE' ? null : request,
    signal: gone.signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  pool
    .stream(options, ({ statusCode, headers }) => {
      response.writeHead(statusCode, onward(headers))
      return response
    })
    .catch(() => {
      if (!response.headersSent) response.writeHead(502)
      response.end()
    })
}).listen(Number(process.env['PORT']), '127.0.0.1')

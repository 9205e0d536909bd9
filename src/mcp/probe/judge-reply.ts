/** What every answer is held to, whatever was asked: its envelope, its type, and what a modern one must carry or must not. */
import { objectOf } from '../upstream/facts.ts'
import { CACHEABLE_METHODS, MODERN_META, RESULT_TYPES } from '../wire/rev-2026-07-28.ts'
import type { Findings } from './findings.ts'
import type { Asking, Reply } from './raw.ts'

/** The same way to ask, with every answer judged. */
export function judged(asking: Asking, findings: Findings): Asking {
  return {
    ...asking,
    async ask(method, params, more) {
      const reply = await asking.ask(method, params, more)
      const { status } = reply
      if (status === 401 || status === 429) {
        const why = status === 401 ? 'behind a login' : 'asked too often'
        findings.pause(
          `${method} of ${asking.revision} and what came after: ${why} (HTTP ${status})`,
        )
      }
      judgeReply(reply, method, asking, findings)
      return reply
    },
  }
}

/** Holds one answer to the rules of its revision. */
export function judgeReply(
  reply: Reply,
  method: string,
  { era, transport, revision }: Asking,
  findings: Findings,
): void {
  const place = `${method} ${revision}`
  if (reply.kind === 'nothing') {
    if (reply.broken === true) findings.add('rpc.envelope', reply.why, place)
    return
  }
  if (reply.kind === 'error' && !reply.hasId) findings.add('rpc.error-id', reply.message, place)
  if (transport === 'http') {
    const type = String(reply.headers['content-type'] ?? '')
    if (!/^\s*(?:application\/json|text\/event-stream)\b/i.test(type)) {
      findings.add('http.content-type', type === '' ? 'no Content-Type' : type, place)
    }
  }
  if (era !== 'modern') return
  if (reply.headers['mcp-session-id'] !== undefined)
    findings.add('http.session-id', undefined, place)
  if (reply.kind === 'result') judgeModernResult(reply.result, method, findings)
}

function judgeModernResult(
  result: Readonly<Record<string, unknown>>,
  method: string,
  findings: Findings,
): void {
  const { resultType } = result
  if (typeof resultType !== 'string') findings.add('result.type-missing', undefined, method)
  if (!CACHEABLE_METHODS.has(method)) return
  if (typeof resultType === 'string' && resultType !== RESULT_TYPES.complete) {
    findings.add('result.type-unknown', resultType, method)
    return
  }
  const { ttlMs, cacheScope } = result
  const sound = typeof ttlMs === 'number' && Number.isInteger(ttlMs) && ttlMs >= 0
  if (!sound) findings.add('cache.hints', `ttlMs: ${say(ttlMs)}`, method)
  else if (cacheScope !== 'public' && cacheScope !== 'private') {
    findings.add('cache.hints', `cacheScope: ${say(cacheScope)}`, method)
  }
  const info = objectOf(objectOf(result['_meta'])[MODERN_META.serverInfo])
  if (typeof info['name'] !== 'string') findings.add('discover.server-info', undefined, method)
}

function say(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 60)
}

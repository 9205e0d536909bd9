/**
 * "Open this address first": the error of 2025-11-25 servers that refuse a call until a page was visited, as addresses.
 *
 * @source MCP 2025-11-25, client, elicitation, URL elicitation required error (-32042); gone in 2026-07-28
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import { LEGACY_ERRORS } from '../wire/rev-2025-11-25.ts'
import type { UrlToOpen } from './envelope.ts'

const MAX_ADDRESSES = 16

/** The addresses that an outcome asks for; undefined when it asks for none that could be shown. */
export function urlsToOpen(outcome: Outcome): readonly UrlToOpen[] | undefined {
  if (outcome.state !== 'failed' || outcome.ran !== 'no' || outcome.native?.protocol !== 'mcp')
    return undefined
  const error = outcome.native.value()
  if (!isObject(error) || error['code'] !== LEGACY_ERRORS.urlElicitationRequired) return undefined
  const data = error['data']
  const elicitations = isObject(data) ? data['elicitations'] : undefined
  if (!Array.isArray(elicitations) || elicitations.length > MAX_ADDRESSES) return undefined
  const urls = elicitations.flatMap((one: unknown, index): UrlToOpen[] => {
    if (!isObject(one) || typeof one['url'] !== 'string') return []
    const message = typeof one['message'] === 'string' ? one['message'] : ''
    return [{ key: `url${index + 1}`, url: one['url'], message }]
  })
  // One that cannot be shown would never be opened.
  return urls.length > 0 && urls.length === elicitations.length ? urls : undefined
}

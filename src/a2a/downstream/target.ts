/** What a request's path means: an agent's card, an agent, or nothing here. */

/** Where a request goes. */
export type Target =
  | { readonly kind: 'card'; readonly agent: string }
  /** `version`: the A2A-Version query parameter, for clients that set no headers. */
  | { readonly kind: 'rpc'; readonly agent: string; readonly version: string | undefined }
  | { readonly kind: 'nowhere' }

const CARD = '.well-known/agent-card.json'

/** Reads a request target such as `/a2a/desk?A2A-Version=1.0`. @source A2A 1.0.1, 3.6.1 and 8.2 */
export function parseTarget(url: string): Target {
  const [path = '', query = ''] = url.split('?', 2)
  const match = /^\/a2a\/([^/]+)(?:\/(.*))?$/u.exec(path)
  const agent = decode(match?.[1] ?? '')
  if (agent === undefined || agent === '') return { kind: 'nowhere' }
  const rest = match?.[2] ?? ''
  if (rest === CARD) return { kind: 'card', agent }
  if (rest !== '') return { kind: 'nowhere' }
  const named = [...new URLSearchParams(query)].find(
    ([name]) => name.toLowerCase() === 'a2a-version',
  )
  return { kind: 'rpc', agent, version: named?.[1] }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

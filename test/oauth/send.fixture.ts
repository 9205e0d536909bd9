/** Sends as a link does: asks for credentials before each message, tells of each refusal, and stops after a few. */
import type {
  AfterRefusal,
  Credentials,
  LoginAddress,
  Refusal,
} from '../../src/mcp/upstream/credentials.ts'

const MOST = 4

export type AfterBegun = { readonly kind: 'again' } | ({ readonly kind: 'login' } & LoginAddress)

export interface Sent {
  readonly status: number
  /** What became of the last refusal; a login is begun, as for a caller that opens its address. */
  readonly after?: AfterBegun
  readonly times: number
}

export async function send(
  credentials: Credentials,
  url: string,
  {
    principal = 'local',
    needs = '',
  }: { readonly principal?: string; readonly needs?: string } = {},
): Promise<Sent> {
  const { signal } = new AbortController()
  for (let times = 1; ; times += 1) {
    const bearing = { principal, method: 'POST' as const, url }
    const sent = await credentials.headersFor(bearing)
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...sent, ...(needs === '' ? {} : { 'x-needs': needs }) },
      body: '{}',
      redirect: 'manual',
    })
    await answer.text()
    const { status } = answer
    if (status !== 401 && status !== 403) return { status, times }
    const challenges = [answer.headers.get('www-authenticate') ?? '']
    const nonce = answer.headers.get('dpop-nonce')
    const refusal: Refusal = {
      ...bearing,
      status,
      challenges,
      sent,
      ...(nonce === null ? {} : { nonce }),
    }
    const after = await credentials.afterRefusal(refusal, signal)
    if (after.kind !== 'again' || times === MOST)
      return { status, times, after: await begun(after, signal) }
  }
}

async function begun(after: AfterRefusal, signal: AbortSignal): Promise<AfterBegun> {
  if (after.kind === 'again') return after
  const { detail, begin } = after
  return { kind: 'login', ...(begin === undefined ? { detail } : await begin(signal)) }
}

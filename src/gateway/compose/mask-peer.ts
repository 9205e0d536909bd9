/**
 * What is said of a peer holds none of the secrets it was given, even when its own words repeat them.
 *
 * Results are relayed byte for byte and are not touched: only errors, and reasons, details and reports, which end in lists, logs and
 * the ledger.
 */
import type { Migrating } from '../../core/ports/migration.ts'
import type { Peer, PeerCounts } from '../../core/ports/peer.ts'
import type { Work } from '../../core/ports/upstream.ts'
import type { Native } from '../../core/words/native.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { TaskNews } from '../../core/words/task.ts'
import { mcpNative } from '../../mcp/wire/native.ts'
import { maskSecrets } from '../../mcp/upstream/supervise.ts'

/** Where secrets of a peer stand in the configuration. */
export interface PeerSecrets {
  readonly env?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly url?: string
  /** Values that an expansion brought in, wherever they stand: arguments, parts of a URL or of a header. */
  readonly brought?: readonly string[]
}

/** The same peer, with every sentence about it masked. @param also masks what came to be known since. */
export function maskPeer(peer: Peer, given: PeerSecrets, also?: (text: string) => string): Peer {
  if (secretsOf(given).length === 0 && also === undefined) return peer
  const configured = maskFor(given)
  const mask = also === undefined ? configured : (text: string) => also(configured(text))
  const { upstream } = peer
  const restart = peer.restart?.bind(peer)
  const query = peer.query?.bind(peer)
  const watch = peer.watch?.bind(peer)
  return {
    name: peer.name,
    protocol: peer.protocol,
    endpoint: peer.endpoint,
    trusted: peer.trusted,
    upstream: {
      ...upstream,
      call: async (call, exchange, dispatched, late) => {
        const lateMasked =
          late === undefined ? undefined : (outcome: Outcome) => late(maskOutcome(outcome, mask))
        return maskOutcome(await upstream.call(call, exchange, dispatched, lateMasked), mask)
      },
      ...(upstream.work === undefined ? {} : { work: maskWork(upstream.work, mask) }),
    },
    async listing() {
      try {
        const listing = await peer.listing()
        const leftOut = listing.leftOut.map((left) => ({ ...left, reason: mask(left.reason) }))
        return { ...listing, leftOut }
      } catch (error) {
        throw new Error(mask(error instanceof Error ? error.message : String(error)), {
          cause: error,
        })
      }
    },
    report() {
      const report = peer.report()
      return report.detail === undefined ? report : { ...report, detail: mask(report.detail) }
    },
    onChanged: (listener) => peer.onChanged(listener),
    ...(peer.counts === undefined ? {} : { counts: () => maskCounts(peer.counts?.(), mask) }),
    ...(peer.printed === undefined ? {} : { printed: () => mask(peer.printed?.() ?? '') }),
    ...(restart === undefined ? {} : { restart: () => masked(restart(), mask) }),
    ...(query === undefined ? {} : { query: (one, signal) => masked(query(one, signal), mask) }),
    ...(watch === undefined ? {} : { watch }),
    ...(peer.deprecated === undefined ? {} : { deprecated: () => peer.deprecated?.() ?? [] }),
    ...(peer.migration === undefined ? {} : { migration: maskMigrating(peer.migration, mask) }),
    close: () => peer.close(),
  }
}

/** Reasons and differences are a peer's words. */
function maskMigrating(migration: Migrating, mask: (text: string) => string): Migrating {
  return {
    move: migration.move,
    apply: (decision) => migration.apply(decision),
    report() {
      const report = migration.report()
      const { suspended, unlisted, differences } = report
      return {
        ...report,
        ...(suspended === undefined ? {} : { suspended: mask(suspended) }),
        ...(unlisted === undefined ? {} : { unlisted: mask(unlisted) }),
        differences: differences.map((one) => ({ ...one, lines: one.lines.map(mask) })),
      }
    },
  }
}

function maskCounts(
  counts: PeerCounts | undefined,
  mask: (text: string) => string,
): PeerCounts | undefined {
  return counts === undefined
    ? undefined
    : { ...counts, noiseSample: counts.noiseSample.map((text) => mask(text)) }
}

function maskWork(work: Work, mask: (text: string) => string): Work {
  return {
    async *follow(handle, after, signal) {
      for await (const news of work.follow(handle, after, signal)) yield maskNews(news, mask)
    },
    inspect: async (handle, signal) => maskNews(await work.inspect(handle, signal), mask),
    answer: async (call, exchange, dispatched) =>
      maskOutcome(await work.answer(call, exchange, dispatched), mask),
    cancel: async (handle, signal) => {
      const { news, ...report } = await work.cancel(handle, signal)
      const told = { ...report, detail: mask(report.detail) }
      return news === undefined ? told : { ...told, news: maskNews(news, mask) }
    },
    find: (callId, sentAt, signal) => work.find(callId, sentAt, signal),
  }
}

function maskNews(news: TaskNews, mask: (text: string) => string): TaskNews {
  return news.kind === 'artifact' ? news : { ...news, outcome: maskOutcome(news.outcome, mask) }
}

async function masked<T>(work: Promise<T>, mask: (text: string) => string): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw new Error(mask(error instanceof Error ? error.message : String(error)), { cause: error })
  }
}

/** Masks a sentence about a peer that is said elsewhere than by the peer itself. */
export function maskFor(given: PeerSecrets): (text: string) => string {
  const secrets = secretsOf(given)
  return (text) => maskSecrets(text, secrets)
}

function maskOutcome(outcome: Outcome, mask: (text: string) => string): Outcome {
  if (!('detail' in outcome)) return outcome
  const masked = { ...outcome, detail: mask(outcome.detail) }
  if (masked.state !== 'failed' || masked.native?.protocol !== 'mcp') return masked
  const { native, ...rest } = masked
  const own = maskError(native, mask)
  return own === undefined ? rest : { ...rest, native: own }
}

/** An error in the peer's own words. @returns undefined where what is left of it is no error. */
function maskError(native: Native, mask: (text: string) => string): Native | undefined {
  const text = new TextDecoder().decode(native.bytes)
  const masked = mask(text)
  if (masked === text) return native
  const left = mcpNative(new TextEncoder().encode(masked), native.revision)
  try {
    const { code, message } = left.value() as Readonly<Record<string, unknown>>
    return typeof code === 'number' && typeof message === 'string' ? left : undefined
  } catch {
    return undefined
  }
}

/** Whole values, and the words of headers: of `Bearer abc` a peer may repeat `abc` alone. */
function secretsOf({ env = {}, headers = {}, url, brought = [] }: PeerSecrets): readonly string[] {
  const inHeaders = Object.values(headers).flatMap((value) => [value, ...value.split(/[\s,;]+/u)])
  const written = brought.flatMap(formsOf)
  const all = [...Object.values(env), ...inHeaders, ...secretsOfUrl(url), ...written]
  return [...new Set(all)].filter((text) => text !== '')
}

/** A value as it stands, line by line, and as it is written within a URL or within JSON. */
function formsOf(value: string): readonly string[] {
  const inUrl = new URL(`http://h/${value}`).href.slice('http://h/'.length)
  const component = value.isWellFormed() ? encodeURIComponent(value) : value
  return [value, ...value.split(/\r?\n/u), inUrl, component, JSON.stringify(value).slice(1, -1)]
}

/** As written and as decoded: a peer may repeat either. */
function secretsOfUrl(text: string | undefined): readonly string[] {
  if (text === undefined || !URL.canParse(text)) return []
  const url = new URL(text)
  const written = url.search.split(/[?&]/u).map((pair) => pair.slice(pair.indexOf('=') + 1))
  const password = new URLSearchParams(`p=${url.password.replaceAll('+', '%2B')}`).get('p') ?? ''
  return [url.password, password, ...url.searchParams.values(), ...written]
}

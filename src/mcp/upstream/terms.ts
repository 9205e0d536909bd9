/**
 * What one session is told of us on a request, by what its caller can be asked: made once for all calls of which it is the same.
 * Whoever records it sees the same objects again.
 */
import type { CallerCan } from '../../core/words/question.ts'
import { hopChanges, type Hop } from '../wire/codec.ts'
import type { Change } from '../wire/changed-object.ts'
import { encodeJson } from '../wire/spans.ts'
import type { MayAsk } from './asks.ts'
import { declareFor, narrow } from './declare.ts'
import type { PeerFacts } from './facts.ts'

export interface Terms {
  readonly facts: PeerFacts
  /** What the caller can bear of what this server may ask. */
  readonly can: CallerCan
  /** Declared for the call, or at the start of its session. */
  readonly ours: Readonly<Record<string, unknown>>
  /** How `_meta` changes. @param token the progress token, when the caller asked for progress. */
  meta(token: number | undefined): readonly Change[]
}

export interface TermsOptions {
  readonly facts: PeerFacts
  readonly may: MayAsk
  /** JSON bytes of the Implementation that we are. */
  readonly clientInfo: Uint8Array
  /** Declared when the session began. */
  readonly declared: Readonly<Record<string, unknown>>
}

/** Callers with settings of their own are remembered so many at once. */
const MOST_KNOWN = 64

/** Makes the terms of one session, by what a caller can be asked. */
export function createTerms(options: TermsOptions): (can: CallerCan) => Terms {
  const plain: (Terms | undefined)[] = []
  const known = new Map<string, Terms>()
  return (can) => {
    const asked = flagsOf(can)
    if (can.extensions === undefined) return (plain[asked] ??= makeTerms(options, can))
    const key = `${asked} ${JSON.stringify(can.extensions)}`
    const terms = known.get(key) ?? makeTerms(options, can)
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(key, terms)
    return terms
  }
}

function flagsOf({ form, url, sampling, roots, tasks }: CallerCan): number {
  const held = tasks === undefined ? 0 : tasks === 'held' ? 16 : 32
  return (form ? 1 : 0) | (url ? 2 : 0) | (sampling ? 4 : 0) | (roots ? 8 : 0) | held
}

function makeTerms({ facts, may, clientInfo, declared }: TermsOptions, asked: CallerCan): Terms {
  const can = narrow(asked, may)
  const ours = facts.era === 'modern' ? declareFor(can, may, facts.capabilities) : declared
  const hop: Hop =
    facts.era === 'modern'
      ? {
          era: 'modern',
          protocolVersion: facts.revision,
          clientCapabilities: encodeJson(ours),
          clientInfo,
        }
      : { era: 'legacy' }
  const silent = hopChanges(hop)
  return {
    facts,
    can,
    ours,
    meta: (token) => (token === undefined ? silent : hopChanges({ ...hop, progressToken: token })),
  }
}

/**
 * A small house for tests of the doors: a catalogue and a dispatch over scripted capabilities, in memory, no mocks.
 *
 * It keeps every call that reaches it, so that a test can say what arrived and that nothing did.
 */
import type { Catalogue, ListedItem, ListKind } from '../../../core/ports/catalogue.ts'
import type { Dispatch, Dispatched } from '../../../core/ports/doors.ts'
import type { Exchange } from '../../../core/ports/upstream.ts'
import type { NewCall } from '../../../core/words/call.ts'
import type { Outcome } from '../../../core/words/outcome.ts'
import type { Principal } from '../../../core/words/principal.ts'
import type { Route } from '../../../core/words/route.ts'
import { jsonText, mcpNative } from '../../wire/native.ts'
import { LEGACY_REVISION } from '../../wire/rev-2025-11-25.ts'
import { encodeJson } from '../../wire/spans.ts'

/** One capability and what it does. */
export interface Scripted {
  readonly kind: ListKind
  readonly exposed: string
  /** Members of the definition beside name or URI. */
  readonly definition?: Readonly<Record<string, unknown>>
  /** Only this principal sees it. */
  readonly only?: string
  readonly routeKind?: Route['kind']
  readonly run?: (call: NewCall, exchange: Exchange, callId: string) => Promise<Outcome> | Outcome
}

export interface ScriptedHouse {
  readonly catalogue: Catalogue
  readonly dispatch: Dispatch
  /** Every call that was dispatched, in order. */
  readonly calls: NewCall[]
  readonly linked: {
    readonly principal: string
    readonly peer: string
    readonly uris: readonly string[]
  }[]
  /** Said with every listing. */
  missing: { readonly peer: string; readonly reason: string }[]
  allFailed: boolean
  incomplete: boolean
  stale: { readonly peer: string; readonly at: string }[]
  readonly approvals: string[]
}

/** A completed outcome with this result. @param result plain JSON, or the exact text. */
export function completed(
  result: Readonly<Record<string, unknown>> | string,
  revision: string = LEGACY_REVISION,
): Outcome {
  const bytes = typeof result === 'string' ? new TextEncoder().encode(result) : encodeJson(result)
  return { state: 'completed', toolError: false, native: mcpNative(bytes, revision) }
}

/** @param over parts of the catalogue that a test scripts itself. */
export function createScriptedHouse(
  capabilities: readonly Scripted[],
  over: Partial<Catalogue> = {},
): ScriptedHouse {
  const calls: NewCall[] = []
  const linked: ScriptedHouse['linked'] = []
  const items = new Map<Scripted, ListedItem>(capabilities.map((one) => [one, itemOf(one)]))
  const visible = (kind: ListKind, principal: Principal): Scripted[] =>
    capabilities.filter(
      (one) => one.kind === kind && (one.only === undefined || one.only === principal.id),
    )
  const house: ScriptedHouse = {
    calls,
    linked,
    missing: [],
    allFailed: false,
    incomplete: false,
    stale: [],
    approvals: [],
    catalogue: {
      list: async (kind, principal) => ({
        items: visible(kind, principal).flatMap((one) => items.get(one) ?? []),
        missing: house.missing,
        ttlMs: 5000,
        allFailed: house.allFailed,
        incomplete: house.incomplete,
        stale: house.stale,
      }),
      resolve: async (kind, exposed, principal) => {
        const found = visible(kind, principal).find((one) => one.exposed === exposed)
        return found === undefined ? undefined : routeOf(found)
      },
      linked: (principal, peer, uris) => {
        linked.push({ principal: principal.id, peer, uris })
      },
      instructions: async () => 'Handle with care.',
      onChanged: () => () => undefined,
      ...over,
    },
    dispatch: async (call, exchange): Promise<Dispatched> => {
      calls.push(call)
      const callId = `call-${calls.length}`
      exchange.opened?.(callId)
      const found = capabilities.find((one) => one.exposed === call.route.exposed)
      const outcome = await (found?.run?.(call, exchange, callId) ?? completed({ content: [] }))
      const approvalId = house.approvals[0]
      return { callId, outcome, ...(approvalId === undefined ? {} : { approvalId }) }
    },
  }
  return house
}

function itemOf(one: Scripted): ListedItem {
  const key = one.kind === 'resource' ? 'uri' : one.kind === 'template' ? 'uriTemplate' : 'name'
  const own =
    one.kind === 'tool'
      ? { name: one.exposed, inputSchema: { type: 'object' } }
      : { name: one.exposed }
  const definition = encodeJson({ ...own, [key]: one.exposed, ...one.definition })
  return { exposed: one.exposed, definition: jsonText(definition) }
}

function routeOf(one: Scripted): Route {
  return {
    exposed: one.exposed,
    peer: 'desk',
    protocol: 'mcp',
    kind: one.routeKind ?? one.kind,
    capability: one.exposed,
    endpoint: 'endpoint',
    fingerprint: 'fingerprint',
    hints: {},
    trusted: true,
  }
}

/**
 * The ports that MCP's doors want, over documents: what is listed and resolved, and what a call
 * does. Joins the three layers, decode, call and encode, in this order.
 *
 * There is no gate behind it: who may see what is decided in the documents themselves.
 */
import { createHash } from 'node:crypto'
import type { Catalogue, ListedItem, Listing, ListKind } from '../core/ports/catalogue.ts'
import type { Dispatch } from '../core/ports/doors.ts'
import type { NewCall } from '../core/words/call.ts'
import type { JsonText } from '../core/words/native.ts'
import type { Outcome } from '../core/words/outcome.ts'
import type { Principal } from '../core/words/principal.ts'
import { refused } from '../core/words/outcome.ts'
import type { Route } from '../core/words/route.ts'
import { jsonText } from '../mcp/downstream/visit.ts'
import type { CallDocuments } from './call.ts'
import { completeArgument } from './complete.ts'
import { TOOL_NAMES, toolDefinition } from './contracts.ts'
import { decodeArguments, decodeLanguageAnswer, decodeUri } from './decode.ts'
import {
  encodeAnswer,
  encodeCompletion,
  encodeFaults,
  encodePrompt,
  encodeResource,
  PEER,
  resourceDefinition,
  templateDefinition,
} from './encode.ts'
import type { Documents } from './open-documents.ts'
import { ANONYMOUS } from './readers.ts'
import { createPrompt, PROMPT_NAMES, promptDefinition } from './prompts.ts'

const INSTRUCTIONS =
  'Documents to search and read. Cite what you use by document, version, lines and digest: a ' +
  'text given here is exactly those lines of the document. The same documents are resources, docs://…'
/** Definitions of tools change with the program only. */
const TOOLS_TTL_MS = 3_600_000

/** What the doors list, for each principal. */
export function createDocumentsCatalogue(documents: Documents): Catalogue {
  const tools = TOOL_NAMES.map((name) => listed(name, toolDefinition(name)))
  const templates = [listed('docs://{+document}', templateDefinition())]
  const prompts = PROMPT_NAMES.map((name) => listed(name, promptDefinition(name)))
  const items = async (kind: ListKind, principal: string): Promise<readonly ListedItem[]> => {
    switch (kind) {
      case 'tool':
        return tools
      case 'template':
        return templates
      case 'prompt':
        return prompts
      case 'resource': {
        const visible = await documents.list(principal)
        return visible.map((document) => listed(document.uri, resourceDefinition(document)))
      }
    }
  }
  // A query comes with its route alone; each route was made for one principal, and knows it.
  const principals = new WeakMap<Route, string>()
  const resolved = (route: Route, principal: Principal): Route => {
    principals.set(route, principal.id)
    return route
  }
  return {
    async list(kind, principal): Promise<Listing> {
      const ttlMs = kind === 'resource' ? 0 : TOOLS_TTL_MS
      return { items: await items(kind, principal.id), missing: [], ttlMs, allFailed: false }
    },
    async resolve(kind, exposed, principal) {
      if (kind !== 'resource') {
        const all = { tool: tools, prompt: prompts, template: templates }[kind]
        const item = all.find((each) => each.exposed === exposed)
        if (item === undefined) return undefined
        return resolved(routeTo(kind, exposed, item.definition), principal)
      }
      const id = decodeUri(exposed)
      const document = id === undefined ? undefined : await documents.find(id, principal.id)
      if (document === undefined) return undefined
      return resolved(routeTo(kind, exposed, toJson(resourceDefinition(document))), principal)
    },
    features: async () => ({ completions: true, subscribe: false, logging: false, extensions: {} }),
    async query(route, query) {
      const principal = principals.get(route) ?? ANONYMOUS
      const ids = async (): Promise<readonly string[]> =>
        (await documents.list(principal)).map(({ id }) => id)
      const completion = await completeArgument(query.params.value(), ids)
      return { kind: 'result', native: encodeCompletion(completion) }
    },
    // What our results link to are documents, and those are found by their URI anyway.
    linked: () => undefined,
    instructions: async () => INSTRUCTIONS,
    onChanged: (listener) => documents.onChanged(() => listener('resource')),
  }
}

/** What a call does. @param createCallId gives another id each time. */
export function createDocumentsDispatch(
  documents: Documents,
  call: CallDocuments,
  createCallId: () => string,
): Dispatch {
  return async (newCall, exchange) => {
    const callId = newCall.continuation?.callId ?? createCallId()
    if (exchange.signal.aborted) {
      const outcome = refused('transport', 'canceled_before_send', 'canceled before it began')
      return { callId, outcome }
    }
    switch (newCall.route.kind) {
      case 'resource':
        return { callId, outcome: await readResource(documents, newCall) }
      case 'prompt':
        return { callId, outcome: await getPrompt(documents, newCall) }
      case 'tool':
      case 'template':
      case 'agent': {
        const requestId = newCall.requestId ?? callId
        return { callId, outcome: await callTool(call, newCall, exchange.can.form, requestId) }
      }
    }
  }
}

async function getPrompt(documents: Documents, newCall: NewCall): Promise<Outcome> {
  const { route, principal } = newCall
  const name = PROMPT_NAMES.find((each) => each === route.capability)
  if (name === undefined) {
    return refused('validation', 'unknown_capability', `unknown prompt: ${route.exposed}`)
  }
  const find = (id: string) => documents.find(id, principal.id)
  return encodePrompt(await createPrompt(name, newCall.arguments.value(), find))
}

async function readResource(documents: Documents, { route, principal }: NewCall): Promise<Outcome> {
  const id = decodeUri(route.capability)
  const document = id === undefined ? undefined : await documents.find(id, principal.id)
  return encodeResource(document, route.capability)
}

async function callTool(
  call: CallDocuments,
  newCall: NewCall,
  canBeAsked: boolean,
  requestId: string,
): Promise<Outcome> {
  const tool = TOOL_NAMES.find((name) => name === newCall.route.capability)
  if (tool === undefined) {
    return refused('validation', 'unknown_capability', `unknown tool: ${newCall.route.exposed}`)
  }
  const request = decodeArguments(tool, newCall.arguments.value())
  if (request.kind === 'faults') return encodeFaults(tool, request.faults)
  const answer = decodeLanguageAnswer(newCall.continuation)
  const caller = { principal: newCall.principal.id, canBeAsked, ...(answer ? { answer } : {}) }
  return encodeAnswer(await call(request, caller), requestId)
}

function routeTo(kind: ListKind, exposed: string, definition: JsonText): Route {
  return {
    exposed,
    peer: PEER,
    protocol: 'mcp',
    kind,
    capability: exposed,
    endpoint: PEER,
    fingerprint: createHash('sha256').update(definition.bytes).digest('hex'),
    hints: { readOnly: true },
    trusted: true,
  }
}

function listed(exposed: string, definition: Readonly<Record<string, unknown>>): ListedItem {
  return { exposed, definition: toJson(definition) }
}

function toJson(value: unknown): JsonText {
  return jsonText(new TextEncoder().encode(JSON.stringify(value)))
}

/**
 * Requests that are no acts, passed on to one server: completion and what skills add. A closed list of
 * methods: an unknown one could act.
 *
 * @source MCP 2026-07-28, server, utilities, completion; extension io.modelcontextprotocol/skills.
 */
import type { PeerQuery, QueryAnswer } from '../../core/ports/peer.ts'
import { isObject } from '../../core/words/is-object.ts'
import { hopParams, readResultHead } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { RESULT_TYPES } from '../wire/rev-2026-07-28.ts'
import { encodeJson, sliceOf } from '../wire/spans.ts'
import type { Connected } from './connect.ts'
import type { PeerFacts } from './facts.ts'

/** Extension identifier of Skills. */
const SKILLS = 'io.modelcontextprotocol/skills'

interface QueryMethod {
  /** What the server must declare, in words. */
  readonly needs: string
  isDeclared(capabilities: Readonly<Record<string, unknown>>): boolean
  /** What we declare with it. */
  readonly ours: Readonly<Record<string, unknown>>
}

const SKILLS_METHOD: QueryMethod = {
  needs: `the extension ${SKILLS}`,
  isDeclared: (capabilities) => skillsOf(capabilities) !== undefined,
  ours: { extensions: { [SKILLS]: {} } },
}

const METHODS: ReadonlyMap<string, QueryMethod> = new Map([
  [
    'completion/complete',
    {
      needs: 'completions',
      isDeclared: ({ completions }) => isObject(completions),
      ours: {},
    },
  ],
  ['skills/list', SKILLS_METHOD],
  ['skills/get', SKILLS_METHOD],
  [
    'resources/directory/read',
    {
      ...SKILLS_METHOD,
      needs: `the extension ${SKILLS} with directoryRead`,
      isDeclared: (capabilities) => skillsOf(capabilities)?.directoryRead === true,
    },
  ],
])

/**
 * Asks.
 *
 * @param peer the operator's name of it.
 * @throws Error for a method that is none of these, one that the server did not declare, and an
 *   answer that is none; LinkFailure when there is no answer.
 */
export async function askQuery(
  { link, facts }: Connected,
  query: PeerQuery,
  { peer, clientInfo }: { readonly peer: string; readonly clientInfo: Uint8Array },
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const { method, params, name } = query
  const known = METHODS.get(method)
  if (known === undefined) throw new Error(`${method.slice(0, 100)} is not passed on to servers`)
  if (!known.isDeclared(facts.capabilities)) {
    throw new Error(`${peer} cannot be asked ${method}: it does not declare ${known.needs}`)
  }
  const answer = await link.request({
    id: link.nextId(),
    method,
    params: hopParams(params.bytes, hopOf(facts, known.ours, clientInfo)),
    followRedirect: true,
    signal,
    ...(name === undefined ? {} : { name }),
  })
  return readAnswer(answer, facts, `${peer} answered ${method} with`)
}

function hopOf(
  facts: PeerFacts,
  ours: QueryMethod['ours'],
  clientInfo: Uint8Array,
): Parameters<typeof hopParams>[1] {
  if (facts.era === 'legacy') return { era: 'legacy' }
  return {
    era: 'modern',
    protocolVersion: facts.revision,
    clientCapabilities: encodeJson(ours),
    clientInfo,
  }
}

function readAnswer(
  answer: RpcResult | RpcError,
  { revision }: PeerFacts,
  said: string,
): QueryAnswer {
  if (answer.kind === 'error') {
    return { kind: 'error', native: mcpNative(sliceOf(answer.bytes, answer.error), revision) }
  }
  if (answer.result.type !== 'object') throw new Error(`${said} a result that is no object`)
  const bytes = sliceOf(answer.bytes, answer.result.value)
  try {
    const head = readResultHead(bytes, undefined, { validated: true })
    if (!head.sound || head.resultType !== RESULT_TYPES.complete) {
      throw new Error(`${said} a result that is not complete`)
    }
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    throw new Error(`${said} a result of which readers may disagree: ${error.message}`, {
      cause: error,
    })
  }
  return { kind: 'result', native: mcpNative(bytes, revision) }
}

function skillsOf({
  extensions,
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const skills = isObject(extensions) ? extensions[SKILLS] : undefined
  return isObject(skills) ? skills : undefined
}

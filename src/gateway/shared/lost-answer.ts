/** Answers that a pipe gives itself: to what an owner took along when it died, and to what could not be sent at all. Pure. */
import { OUTCOME_META, OWN_ERROR_CODES } from '../../mcp/downstream/outcome.ts'
import { encodeError, encodeResult, type RpcId } from '../../mcp/wire/json-rpc.ts'
import { RPC_ERRORS } from '../../mcp/wire/rev-2026-07-28.ts'
import { encodeJson } from '../../mcp/wire/spans.ts'

/** A request as far as its answer needs it. */
export interface Asked {
  readonly id: RpcId
  readonly method: string
  readonly modern: boolean
}

const ACTS: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])
const GONE =
  'the comity process that had taken it ended before it answered; what had been sent by then is on record (comity ledger)'

/** What was open when its owner died: never `failed`, for it may have run. */
export function answerLost(asked: Asked): Uint8Array {
  if (!ACTS.has(asked.method)) {
    const message = `no answer: ${GONE.split(';')[0]}. Ask again`
    return encodeError(asked.id, { code: RPC_ERRORS.internal, message })
  }
  const text = `It is not known whether this ran: ${GONE}\nDo not simply repeat it; find out at the peer first what happened.`
  return answerAct(asked, text, { state: 'unknown', code: 'process_died', ran: 'unknown' })
}

/** What no owner ever got. */
export function answerUnsent(asked: Asked, why: string): Uint8Array {
  const text = `Nothing was sent: ${why}`
  if (!ACTS.has(asked.method))
    return encodeError(asked.id, { code: RPC_ERRORS.internal, message: text })
  return answerAct(asked, text, { state: 'failed', code: 'not_sent', ran: 'no' })
}

function answerAct(
  { id, method, modern }: Asked,
  text: string,
  meta: { readonly state: 'unknown' | 'failed'; readonly code: string; readonly ran: string },
): Uint8Array {
  const data = { [OUTCOME_META]: meta }
  if (method !== 'tools/call') {
    return encodeError(id, {
      code: OWN_ERROR_CODES[meta.state],
      message: text,
      data: encodeJson(data),
    })
  }
  return encodeResult(
    id,
    encodeJson({
      ...(modern ? { resultType: 'complete' } : {}),
      content: [{ type: 'text', text }],
      isError: true,
      _meta: data,
    }),
  )
}

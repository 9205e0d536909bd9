/** What a server asks of the client while it is probed: noted, and answered so that it can go on. */
import {
  createId,
  encodeError,
  encodeResult,
  type RpcId,
  type RpcRequest,
} from '../wire/json-rpc.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'

/** What a probe declares in a session: who asks for it shows that it uses it, and hears of no folder. */
export const DECLARED = { roots: {} } as const

/** Kinds of questions that are told apart. */
const MOST_KINDS = 20
const NO_ROOTS = encodeJson({ roots: [] })
const NOTHING = encodeJson({})

export interface ServerAsks {
  /** Notes it. @returns the message to answer with; undefined when enough were answered. */
  answer(request: RpcRequest): Uint8Array | undefined
  /** Methods, each once. */
  methods(): readonly string[]
}

/** Makes the note of one connection. @param most how many are answered: what asks without end is left. */
export function createServerAsks(most = 50): ServerAsks {
  const methods = new Set<string>()
  let answered = 0
  return {
    answer({ id, method }) {
      if (methods.size < MOST_KINDS) methods.add(method.slice(0, 100))
      answered += 1
      return answered > most ? undefined : answerTo(method, createId(valueOf(id)))
    },
    methods: () => [...methods],
  }
}

function answerTo(method: string, id: RpcId): Uint8Array {
  if (method === 'ping') return encodeResult(id, NOTHING)
  if (method === 'roots/list') return encodeResult(id, NO_ROOTS)
  return encodeError(id, { code: RPC_ERRORS.methodNotFound, message: 'not declared' })
}

function valueOf({ type, value }: RpcId): string | number {
  return type === 'string' ? value : Number(value)
}

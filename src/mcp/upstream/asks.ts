/**
 * What a server of a session revision asks in mid-call: whose call it belongs to, whether that may be
 * asked, and the answer in the server's own form.
 *
 * Where the wire does not say whose question it is, it is the only open call's, else the most recent
 * one's that can bear it. Never another principal's: one caller must not answer for another.
 *
 * @source MCP 2025-11-25, client features: elicitation, sampling, roots.
 */
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Answer, Question, QuestionKind } from '../../core/words/question.ts'
import { JsonFault } from '../wire/json-fault.ts'
import type { RpcRequest } from '../wire/json-rpc.ts'
import { InFlight } from '../wire/in-flight.ts'
import { LEGACY_TASK_META } from '../wire/rev-2025-11-25.ts'
import { PROGRESS_TOKEN, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, scanObject, setMembers, sliceOf } from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { AskedTasks, relatedTask, relateTo, type AskedTask } from './asked-tasks.ts'
import type { AnswerRequest, ReplyToServer } from './link.ts'
import { answerBytes, canBear, problemOf, readQuestion } from './questions.ts'

/** Kinds of questions that may be asked at all. */
export interface MayAsk {
  readonly elicitation: boolean
  readonly sampling: boolean
  readonly roots: boolean
}

/** A call that runs on this link. */
export interface OpenCall {
  /** The id of its principal. */
  readonly principal: string
  readonly exchange: Exchange
  /** Stops the call's clock: the time that a person takes is not the server's. @returns the way to go on. */
  hold(): () => void
  /** What was called, for counts. */
  readonly where?: string
}

export interface Asks {
  /** Registers a call until it ends; what it was asked is withdrawn then. */
  open(call: OpenCall): AskedOn
  /** What names this task is its own until `end`, on whichever stream it comes. */
  follow(taskId: string, task: AskedTask): AskedOn
  /** Answers what names no call. */
  readonly onStray: AnswerRequest
  /** The revision that was agreed on: older ones have fewer questions. */
  agreed(revision: string): void
}

/** How requests within one call or task are answered, until it ends. */
export interface AskedOn {
  readonly onRequest: AnswerRequest
  end(): void
}

/** Questions of one call: at once, and in all its time. */
const MOST_AT_ONCE = 8
const MOST_IN_ALL = 64
/** @source MCP 2025-11-25, client, sampling and roots: the code of a request that the user rejects. */
const REJECTED = -1
const FIRST_WITH = { elicitation: '2025-06-18', url: '2025-11-25' } as const

interface Held {
  readonly call: OpenCall
  /** Made for the first question: most calls are asked nothing. */
  ended?: AbortController
  isOver: boolean
  atOnce: number
  inAll: number
}

/**
 * Makes the keeper of one link's open calls.
 *
 * @param may what was declared at `initialize`. @param seen told of every question that may be asked.
 */
export function createAsks(may: MayAsk, seen?: (question: Question, where: string) => void): Asks {
  const open = new InFlight<Held>()
  const tasks = new AskedTasks()
  let revision = ''

  const answer = async (
    request: RpcRequest,
    withdrawn: AbortSignal,
    ownerOf: (kind: QuestionKind) => Owner | undefined,
    isStray = false,
  ): Promise<ReplyToServer> => {
    const problem = notDeclared(request.method, may, revision)
    if (problem !== undefined) return problem
    const question = readRequest(request, revision)
    if ('error' in question) return question
    const taskId = relatedTask(request)
    if (taskId !== undefined) {
      // What names a task is no call's, whatever else is open; on its own stream a call is asked about one that is not known yet.
      const task = isStray ? await tasks.find(taskId, withdrawn) : tasks.get(taskId)
      if (task !== undefined) return askTask(task, taskId, question, withdrawn, seen)
      if (isStray) return refuse(REJECTED, 'there is nobody to ask: that task is not followed here')
    }
    const owner = ownerOf(question.kind)
    seen?.(question, owner?.held.call.where ?? '')
    if (owner === undefined) return nobody(question.kind)
    return askOwner(owner, question, withdrawn)
  }

  return {
    open(call) {
      const held: Held = { call, isOver: false, atOnce: 0, inAll: 0 }
      const place = open.add(held)
      return {
        onRequest: (request, withdrawn) =>
          answer(request, withdrawn, () => ({ held, attributed: false })),
        end() {
          open.remove(place)
          held.isOver = true
          held.ended?.abort()
        },
      }
    },
    follow(taskId, task) {
      const end = tasks.add(taskId, task)
      return {
        onRequest: (request, withdrawn) => answer(request, withdrawn, () => undefined, true),
        end,
      }
    },
    onStray: (request, withdrawn) =>
      answer(request, withdrawn, (kind) => attribute(open.all(), kind), true),
    agreed(agreed) {
      revision = agreed
    },
  }
}

async function askTask(
  task: AskedTask,
  taskId: string,
  question: Question,
  withdrawn: AbortSignal,
  seen: ((question: Question, where: string) => void) | undefined,
): Promise<ReplyToServer> {
  seen?.(question, taskId)
  if (!canBear(task.can, question.kind)) return unasked('caller')
  const reply = replyOf(question.kind, await task.ask(question, withdrawn))
  return 'result' in reply ? { result: relateTo(reply.result, taskId) } : reply
}

interface Owner {
  readonly held: Held
  readonly attributed: boolean
}

/** @param calls oldest first. */
function attribute(calls: readonly Held[], kind: QuestionKind): Owner | undefined {
  const newest = calls.at(-1)
  if (newest === undefined) return undefined
  if (calls.length === 1) return { held: newest, attributed: false }
  if (calls.some(({ call }) => call.principal !== newest.call.principal)) return undefined
  const bearing = calls.findLast(
    ({ call: { exchange } }) => exchange.ask !== undefined && canBear(exchange.can, kind),
  )
  return { held: bearing ?? newest, attributed: true }
}

async function askOwner(
  { held, attributed }: Owner,
  asked: Question,
  withdrawn: AbortSignal,
): Promise<ReplyToServer> {
  if (held.atOnce >= MOST_AT_ONCE || held.inAll >= MOST_IN_ALL) {
    const most = held.inAll >= MOST_IN_ALL ? `${MOST_IN_ALL} in all` : `${MOST_AT_ONCE} at once`
    return refuse(REJECTED, `more questions within one call than are passed on: ${most}`)
  }
  held.inAll += 1
  const key = `ask-${held.inAll}`
  const { exchange } = held.call
  if (exchange.ask === undefined) return unasked('caller')
  held.atOnce += 1
  const goOn = held.call.hold()
  try {
    const question = { ...asked, key, ...(attributed ? { attributed } : {}) }
    const over = AbortSignal.any([withdrawn, endOf(held)])
    return replyOf(asked.kind, await exchange.ask(question, over))
  } finally {
    held.atOnce -= 1
    goOn()
  }
}

function endOf(held: Held): AbortSignal {
  if (held.isOver) return AbortSignal.abort()
  held.ended ??= new AbortController()
  return held.ended.signal
}

/** Asked while no call runs, or while nothing says whose of several principals' it is. */
function nobody(kind: QuestionKind): ReplyToServer {
  if (kind === 'roots') return { result: encodeJson({ roots: [] }) }
  if (kind !== 'sampling') return { result: encodeJson({ action: 'cancel' }) }
  return refuse(REJECTED, 'there is nobody to ask: no call of one principal alone is under way')
}

/** Not the answer of a person: a server must not take it for one. */
function unasked(why: NonNullable<Answer['unasked']>): ReplyToServer {
  const what =
    why === 'rules'
      ? 'the rules of this host do not let this question through'
      : 'the application that made this call cannot be asked that'
  return refuse(REJECTED, `nobody was asked: ${what}`)
}

function replyOf(kind: QuestionKind, answer: Answer): ReplyToServer {
  if (answer.unasked !== undefined) return unasked(answer.unasked)
  if (kind !== 'sampling' && kind !== 'roots') return { result: answerBytes(answer) }
  const { action, native } = answer
  if (action === 'accept' && native?.protocol === 'mcp') return { result: native.bytes }
  const what = kind === 'roots' ? 'roots' : 'sampling request'
  return refuse(
    REJECTED,
    `the user ${action === 'cancel' ? 'did not answer' : 'declined'} the ${what}`,
  )
}

function notDeclared(method: string, may: MayAsk, revision: string): ReplyToServer | undefined {
  const declared: Readonly<Record<string, boolean>> = {
    // Dates as text sort as dates do.
    'elicitation/create':
      may.elicitation && (revision === '' || revision >= FIRST_WITH.elicitation),
    'sampling/createMessage': may.sampling,
    'roots/list': may.roots,
  }
  if (Object.hasOwn(declared, method) && declared[method] === true) return undefined
  const what = `${method.slice(0, 100)} is not supported: this client declared no such capability`
  return refuse(RPC_ERRORS.methodNotFound, what)
}

function readRequest(
  request: RpcRequest,
  revision: string,
): Question | Extract<ReplyToServer, { error: unknown }> {
  let native: Uint8Array
  try {
    native = inputRequestOf(request)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return refuse(RPC_ERRORS.invalidParams, `the params are unsound: ${error.message}`)
  }
  const question = readQuestion(native, '', revision)
  if (question === undefined || (question.kind === 'url' && revision < FIRST_WITH.url)) {
    return refuse(RPC_ERRORS.invalidParams, 'a mode of elicitation that was not declared')
  }
  const problem = problemOf(question)
  if (problem !== undefined) return refuse(RPC_ERRORS.invalidParams, problem)
  const asked = question.native.value() as { readonly params?: Readonly<Record<string, unknown>> }
  const tooling = asked.params?.['tools'] ?? asked.params?.['toolChoice']
  if (question.kind === 'sampling' && tooling !== undefined) {
    return refuse(RPC_ERRORS.invalidParams, 'sampling with tools was not declared')
  }
  return question
}

const HOP_META = { [PROGRESS_TOKEN]: undefined, [LEGACY_TASK_META.related]: undefined } as const

/** Without what belongs to the server's hop: its progress token, the task it is of, and one that was never offered. */
function inputRequestOf({ bytes, method, params }: RpcRequest): Uint8Array {
  const envelope = encodeJson({ method })
  if (params === undefined) return envelope
  // Each hop between here and the person reads it: to all of them it has to say the same.
  checkStrict(bytes, params)
  const from = sliceOf(bytes, params)
  const meta = findMember(scanObject(from), '_meta')
  const rest =
    meta?.type === 'object' ? setMembers(sliceOf(from, meta.value), undefined, HOP_META) : undefined
  const own = setMembers(from, undefined, { task: undefined, _meta: rest })
  return setMembers(envelope, undefined, { params: own })
}

function refuse(code: number, message: string): Extract<ReplyToServer, { error: unknown }> {
  return { error: { code, message } }
}

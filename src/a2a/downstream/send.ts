/**
 * SendMessage: takes a message once, finds its skill, places the call, and waits for it unless told not to.
 *
 * A repeated messageId of the same principal is the same task; with other content it is refused. A context is a name within
 * one principal: the same word from another one is another context, so nothing can be learned or joined by guessing.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Outcome } from '../../core/words/outcome.ts'
import { parseWire, type Violation } from '../wire/codec.ts'
import type { Message, SendMessageRequest } from '../wire/messages.ts'
import { spanAt } from '../wire/span.ts'
import { answerTask } from './answer-task.ts'
import { paramsFault, protocolFault, rpcFault, type RpcFault } from './errors.ts'
import type { Begun, HeldTask, Stand, Work } from './memory.ts'
import type { A2aDesk } from './options.ts'
import { placeCall } from './place-call.ts'
import type { RpcAnswer } from './rpc.ts'
import { chooseSkill, type SkillOffer } from './skills.ts'
import { scanStrictly } from './strict-json.ts'
import { encodeHeldTask } from './tasks.ts'
import type { Visit } from './visit.ts'

const MAX_ID = 512
/** Larger messages are not kept for the history. */
const MAX_KEPT_MESSAGE = 64 * 1024

/** Serves SendMessage. */
export async function sendMessage(desk: A2aDesk, visit: Visit): Promise<RpcAnswer> {
  const parsed = parseSend(visit.request.params)
  if ('kind' in parsed) return parsed
  const { message, configuration } = parsed
  const text = messageText(visit.request.text)
  const digest = digestOf(text)
  const memory = desk.memories.of(visit.principal)
  const known = memory.taken(visit.agent.name, message.messageId)
  if (known !== undefined && known.digest !== digest) return otherContent()
  if (known === undefined && memory.isFull()) {
    return rpcFault('internalError', 'too many of your tasks are running; try again later')
  }
  const taken =
    known ??
    memory.take(visit.agent.name, message.messageId, digest, () =>
      begin(desk, visit, message, text),
    )
  const begun = await taken.begun
  if (begun.kind === 'fault') return begun
  if (configuration?.returnImmediately !== true) await waitFor(desk, visit, begun.task)
  const task = await encodeHeldTask(desk, visit.principal, begun.task, configuration?.historyLength)
  return { kind: 'result', json: `{"task":${task}}` }
}

function parseSend(params: unknown): SendMessageRequest | RpcFault {
  const parsed = parseWire('SendMessageRequest', params)
  if (!parsed.ok) return paramsFault(parsed.violations)
  const { message, configuration } = parsed.value
  if (configuration?.taskPushNotificationConfig !== undefined) {
    return protocolFault('PUSH_NOTIFICATION_NOT_SUPPORTED')
  }
  const violations: Violation[] = []
  const bad = (path: string, words: string): void => void violations.push({ path, message: words })
  if (message.role !== 'ROLE_USER') bad('message.role', 'expected ROLE_USER')
  if (message.messageId === '') bad('message.messageId', 'expected an id, got an empty text')
  for (const name of ['messageId', 'contextId', 'taskId'] as const) {
    if ((message[name]?.length ?? 0) > MAX_ID) {
      bad(`message.${name}`, `longer than ${MAX_ID} characters`)
    }
  }
  if ((configuration?.historyLength ?? 0) < 0) {
    bad('configuration.historyLength', 'expected 0 or more')
  }
  if (violations.length > 0) return paramsFault(violations)
  return refuseParts(message) ?? parsed.value
}

/** Text and JSON are what the card declares. */
function refuseParts(message: Message): RpcFault | undefined {
  for (const [index, part] of message.parts.entries()) {
    const type = (part.mediaType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
    const taken =
      'text' in part
        ? type === '' || type.startsWith('text/')
        : 'data' in part && (type === '' || /^application\/(.+\+)?json$/u.test(type))
    if (taken) continue
    const words = `message.parts[${index}]: this agent takes text (text/plain) and data (application/json)`
    return protocolFault('CONTENT_TYPE_NOT_SUPPORTED', words)
  }
  return undefined
}

/** The first that is made of a message; runs once for each messageId. */
async function begin(desk: A2aDesk, visit: Visit, message: Message, text: string): Promise<Begun> {
  if (message.taskId !== undefined && message.taskId !== '') {
    return goOn(desk, visit, message, text, message.taskId)
  }
  const contextId = message.contextId || randomUUID()
  const stand = await standOf(desk, visit, message, text, contextId, '')
  if (stand.kind === 'fault') return stand
  const task: HeldTask = {
    id: stand.kind === 'placed' ? stand.task.id : randomUUID(),
    agent: visit.agent.name,
    contextId: (stand.kind === 'placed' ? stand.task.contextId : undefined) ?? contextId,
    message: kept(text),
    stand,
    since: nowOf(desk),
  }
  desk.memories.of(visit.principal).keep(task)
  return { kind: 'held', task }
}

/** A message to a task that exists: it chooses the skill, or answers what the call behind it asks. */
async function goOn(
  desk: A2aDesk,
  visit: Visit,
  message: Message,
  text: string,
  taskId: string,
): Promise<Begun> {
  const memory = desk.memories.of(visit.principal)
  const held = memory.task(visit.agent.name, taskId)
  if (held === undefined || held.stand.kind === 'placed') {
    const rowId = held?.stand.kind === 'placed' ? held.stand.task.id : taskId
    const answered = await answerTask(desk, visit, message, rowId, held)
    if ('kind' in answered) return answered
    const task = { ...answered, message: kept(text) }
    memory.keep(task)
    return { kind: 'held', task }
  }
  if (message.contextId && message.contextId !== held.contextId) {
    return paramsFault([{ path: 'message.contextId', message: 'not the context of this task' }])
  }
  const asking = held.stand
  if (asking.kind !== 'asking') {
    return protocolFault(
      'UNSUPPORTED_OPERATION',
      'the task takes no further message; send a new one without taskId',
    )
  }
  // Taken before anything is awaited: of two messages at once only one chooses.
  held.stand = { kind: 'placing' }
  const stand = await standOf(desk, visit, message, text, held.contextId, asking.text).catch(
    (fault: unknown) => {
      held.stand = asking
      throw fault
    },
  )
  held.stand = stand.kind === 'fault' ? asking : stand
  if (stand.kind === 'fault') return stand
  held.message = kept(text)
  held.since = nowOf(desk)
  return { kind: 'held', task: held }
}

async function standOf(
  desk: A2aDesk,
  visit: Visit,
  message: Message,
  messageText: string,
  contextId: string,
  earlierText: string,
): Promise<Stand | RpcFault> {
  const { agent, principal, request } = visit
  const choice = chooseSkill(agent, message, request.text, earlierText)
  if (choice.kind === 'fault') return choice
  if (choice.kind === 'unclear') return ask(desk, visit, choice.why, message, earlierText)
  const found = await desk.ports.route(agent.name, choice.skill.id, principal)
  // Hidden, withdrawn and unreachable look alike.
  if (found === undefined) return { kind: 'no_skill' }
  const { argumentsText } = choice
  const placed = await placeCall(desk, {
    agent: agent.name,
    route: found.route,
    principal,
    message,
    messageText,
    digest: digestOf(messageText),
    argumentsText,
    contextId,
    requestId: request.id,
  })
  return placed.kind === 'refused' && isKeyConflict(placed.dispatched.outcome)
    ? otherContent()
    : placed
}

function isKeyConflict(outcome: Outcome): boolean {
  return outcome.state === 'failed' && outcome.code === 'key_conflict'
}

function otherContent(): RpcFault {
  const words = 'already used for a message with other content; a new message needs a new id'
  return paramsFault([{ path: 'message.messageId', message: words }])
}

async function ask(
  desk: A2aDesk,
  { agent, principal }: Visit,
  why: string,
  message: Message,
  earlierText: string,
): Promise<Stand> {
  const found = await Promise.all(
    agent.skills.map(async ({ id, description }): Promise<readonly SkillOffer[]> => {
      const skill = await desk.ports.route(agent.name, id, principal)
      if (skill === undefined) return []
      const { inputSchema } = skill
      return [
        {
          id,
          ...(description === undefined ? {} : { description }),
          ...(inputSchema === undefined ? {} : { inputSchema }),
        },
      ]
    }),
  )
  const offers = found.flat()
  if (offers.length === 0) return { kind: 'no_skill' }
  const text = message.parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
  return { kind: 'asking', why, offers, text: kept(text) || earlierText }
}

/** Until the work is at rest, the caller is gone, or its patience is over: whichever is first. */
async function waitFor(desk: A2aDesk, visit: Visit, held: HeldTask): Promise<void> {
  if (held.stand.kind !== 'placed') return
  const { task, work } = held.stand
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(), desk.limits.callMs)
  const signal = AbortSignal.any([visit.gone, patience.signal])
  try {
    // When this process ends, the work does, and says how.
    await untilAborted(endedOrAsking(desk, visit, task.id, work, signal), signal)
    // The caller may come again by messageId; without it, an equal act is this one's twin.
    if (visit.gone.aborted && work.running()) work.callerGone()
    const told = (await desk.ports.tasks.load(task.id, visit.principal)) ?? work.dispatched()?.task
    const goesOn = told?.state === 'working' || told?.state === 'submitted'
    if (goesOn && !signal.aborted) {
      const ending = AbortSignal.any([signal, desk.closing])
      await desk.ports.desk.wait(task.id, visit.principal, ending)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves when the work has ended, or its call asks something. */
async function endedOrAsking(
  desk: A2aDesk,
  { principal }: Visit,
  taskId: string,
  { running, done }: Work,
  signal: AbortSignal,
): Promise<void> {
  if (!running()) return done
  const over = new AbortController()
  const asking = desk.ports.desk
    .wait(taskId, principal, AbortSignal.any([signal, over.signal]))
    .then(
      (row) => (row === undefined || row.questions.length === 0 ? done : undefined),
      (fault: unknown) => {
        desk.report(fault)
        return done
      },
    )
  await Promise.race([done, asking])
  over.abort()
}

async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    void work.then(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
  })
}

function messageText(body: string): string {
  const span = spanAt(body, [['params'], ['message']])
  if (span === undefined) throw new Error('a message that was parsed is not in the text')
  return body.slice(span.start, span.end)
}

function digestOf(text: string): string {
  const scanned = scanStrictly(text)
  if ('offence' in scanned) throw new Error(`a checked message is unsound: ${scanned.offence}`)
  return createHash('sha256').update(scanned.canonical).digest('base64url')
}

function kept(text: string): string | undefined {
  return text.length > MAX_KEPT_MESSAGE ? undefined : text
}

function nowOf(desk: A2aDesk): string {
  return new Date(desk.clock.now()).toISOString()
}

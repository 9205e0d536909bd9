/**
 * Parked calls: a peer of a session revision asked in mid-call, its call goes on here, and the caller was answered
 * `input_required`. The retry takes the call over.
 *
 * What is parked lives in this process only. If it dies the call is on record as open and recovered as unknown; a retry that
 * finds nothing here is told so, never that it failed. Bounded for each principal and as a whole.
 *
 * @source MCP 2026-07-28, basic, multi round-trip requests (SEP-2322)
 */
import { randomBytes } from 'node:crypto'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { withAsk } from './exchange.ts'
import type { DoorLimits } from './options.ts'
import { faultOfAnswer } from './question-form.ts'

/** The exchange of a call that may outlive the request it came by. `Asker` is whoever waits for it now. */
export interface ParkableExchange<Asker> {
  readonly exchange: Exchange
  /** Nobody waits: nothing is told, and nobody's leaving stops it. */
  park(): void
  attach(asker: Asker): void
  /** Time stands still until the returned function was called. */
  hold(): () => void
  /** The call has to end: the door is closing and its time is up. Absent where no door closes. */
  shutDown?(): void
  close(): void
}

/** What comes next of a call: its end, or questions to its caller under keys of ours. */
export type Next =
  | { readonly kind: 'ended'; readonly dispatched: Dispatched }
  | { readonly kind: 'asked'; readonly questions: ReadonlyMap<string, Question> }

/** One call that may be parked. */
export interface ParkedCall<Asker> {
  readonly id: string
  readonly principal: string
  /** Known once the call is on record. */
  readonly callId: () => string
  /** How often it was answered with questions: a state of an earlier round was used. */
  readonly round: () => number
  /** What came next; awaited by one request at a time. @throws what the dispatch threw. */
  next(): Promise<Next>
  /** A request waits for what comes next: the state of this round was used. */
  isAwaited(): boolean
  /** What is wrong with these answers, if anything; nothing was done with them then. */
  faultOf(answers: readonly Answer[]): string | undefined
  /** Makes a task of it, which then goes on with nobody waiting here. Absent for callers that take none. */
  readonly keep?: (() => Promise<TaskRecord | undefined>) | undefined
  /** It asks its caller something now. */
  isAsking(): boolean
  /** It is a task from here on: nobody comes back to this. */
  release(): void
  /** A retry takes over, with the answers it brought; those to nothing that is asked are left. */
  resume(asker: Asker, answers: readonly Answer[]): void
}

/** Whose call it is, who waits for it, and how much memory its request holds. */
export interface By<Asker> {
  readonly principal: string
  readonly asker: Asker
  readonly bytes: number
  readonly keep?: () => Promise<TaskRecord | undefined>
}

export interface ParkedCalls<Asker> {
  /** Of this process: another one's states name calls that are not here. */
  readonly instance: string
  /** Begins a call whose caller can be asked when the call is answered with questions. */
  begin(
    by: By<Asker>,
    opened: ParkableExchange<Asker>,
    work: (exchange: Exchange) => Promise<Dispatched>,
  ): ParkedCall<Asker>
  /** `over`: its end was told already. Undefined: not known here, or no longer. */
  find(id: string): ParkedCall<Asker> | 'over' | undefined
  /** Resolves when no call that was parked runs any more. */
  settled(): Promise<unknown>
  /** Tells those that still run to end. */
  shutDown(): void
}

/** Questions of the same moment go out together, milliseconds. */
const GATHER_MS = 10
/** Ends that were told, remembered to name a second use. */
const MAX_TOLD = 10_000

type ParkedLimits = Pick<
  DoorLimits,
  'questionMs' | 'maxParked' | 'maxParkedEach' | 'maxParkedBytes'
>

/**
 * @param report told of calls that threw while nobody waited.
 * @param bears whether the one who waits can be asked this; kinds that its call does not declare are told apart before.
 * @param leaving aborted when nobody can be asked here any more.
 */
export function createParkedCalls<Asker>(
  limits: ParkedLimits,
  report: (fault: unknown) => void,
  bears: (asker: Asker, question: Question) => boolean,
  leaving?: AbortSignal,
): ParkedCalls<Asker> {
  const kept = new Map<string, Parked<Asker>>()
  leaving?.addEventListener('abort', () => {
    // Nobody will come back here: peers hear so while there is time to settle what they say then.
    for (const call of kept.values()) call.cancelAll()
  })
  const told = new Set<string>()
  const room: Room<Asker> = {
    limits,
    report,
    bears,
    trim: () => void trim(kept, limits.maxParkedBytes),
    admit: (call) =>
      leaving?.aborted !== true && (kept.has(call.id) || makeRoom(kept, limits, call)),
    forget: (call, why) => {
      if (!kept.delete(call.id) || why === 'lost') return
      told.add(call.id)
      const [oldest] = told
      if (told.size > MAX_TOLD && oldest !== undefined) told.delete(oldest)
    },
  }
  return {
    instance: randomBytes(12).toString('base64url'),
    begin: (by, opened, work) => new Parked(room, by, opened, work),
    find: (id) => kept.get(id) ?? (told.has(id) ? 'over' : undefined),
    settled: () => Promise.all([...kept.values()].map(({ ended }) => ended)),
    shutDown: () => {
      for (const call of kept.values()) call.shutDown()
    },
  }
}

/** Keeps a call if there is room. Ends that nobody fetched give way first, the principal's own where it is its own bound. */
function makeRoom<Asker>(
  kept: Map<string, Parked<Asker>>,
  limits: ParkedLimits,
  call: Parked<Asker>,
): boolean {
  const own = [...kept.values()].filter(({ principal }) => principal === call.principal)
  const bounds = [
    { held: own, most: limits.maxParkedEach },
    { held: [...kept.values()], most: limits.maxParked },
  ]
  for (const { held, most } of bounds) {
    if (held.length < most) continue
    const ended = held.find((one) => one.isOver())
    if (ended === undefined) return false
    kept.delete(ended.id)
  }
  if (!trim(kept, limits.maxParkedBytes - call.bytes())) return false
  kept.set(call.id, call)
  return true
}

/** Lets ends go, oldest first, until what is kept holds no more than this. @returns whether it came to that. */
function trim<Asker>(kept: Map<string, Parked<Asker>>, most: number): boolean {
  let bytes = 0
  for (const call of kept.values()) bytes += call.bytes()
  for (const call of kept.values()) {
    if (bytes <= most) break
    if (!call.isOver()) continue
    kept.delete(call.id)
    bytes -= call.bytes()
  }
  return bytes <= most
}

interface Room<Asker> {
  readonly limits: ParkedLimits
  readonly report: (fault: unknown) => void
  readonly bears: (asker: Asker, question: Question) => boolean
  /** Keeps the call, if there is room. */
  admit(call: Parked<Asker>): boolean
  forget(call: Parked<Asker>, why: 'told' | 'lost'): void
  /** A call ended and nobody waits for it: what is kept may be too much now. */
  trim(): void
}

interface Waiting {
  readonly question: Question
  answer(answer: Answer): void
}

type End = { readonly dispatched: Dispatched } | { readonly fault: unknown }

class Parked<Asker> implements ParkedCall<Asker> {
  readonly id = randomBytes(18).toString('base64url')
  readonly principal: string
  readonly keep: (() => Promise<TaskRecord | undefined>) | undefined
  /** Never rejects. */
  readonly ended: Promise<void>
  readonly #room: Room<Asker>
  readonly #opened: ParkableExchange<Asker>
  readonly #waiting = new Map<string, Waiting>()
  readonly #requestBytes: number
  #asker: Asker
  #callId = ''
  #round = 0
  #keys = 0
  #end: End | undefined
  #listener: ((next: Next | End) => void) | undefined
  #isReleased = false
  #gathering: NodeJS.Timeout | undefined

  constructor(
    room: Room<Asker>,
    { principal, asker, bytes, keep }: By<Asker>,
    opened: ParkableExchange<Asker>,
    work: (exchange: Exchange) => Promise<Dispatched>,
  ) {
    this.principal = principal
    this.keep = keep
    this.#requestBytes = bytes
    this.#room = room
    this.#opened = opened
    this.#asker = asker
    const exchange = withAsk(
      opened.exchange,
      (question, withdrawn) => this.#ask(question, withdrawn),
      (callId) => {
        this.#callId = callId
      },
    )
    // Whoever has to stop waits for nobody's answer.
    exchange.signal.addEventListener('abort', () => this.cancelAll(), { once: true })
    this.ended = work(exchange).then(
      (dispatched) => this.#over({ dispatched }),
      (fault: unknown) => this.#over({ fault }),
    )
  }

  callId = (): string => this.#callId
  round = (): number => this.#round
  isOver = (): boolean => this.#end !== undefined
  isAwaited = (): boolean => this.#listener !== undefined
  isAsking = (): boolean => this.#waiting.size > 0
  shutDown = (): void => this.#opened.shutDown?.()

  release(): void {
    this.#isReleased = true
    this.#opened.park()
    this.#room.forget(this, 'lost')
  }

  /** How much memory it holds. */
  bytes(): number {
    const end = this.#end
    const outcome = end !== undefined && 'dispatched' in end ? end.dispatched.outcome : undefined
    const native = outcome !== undefined && 'native' in outcome ? outcome.native : undefined
    return this.#requestBytes + (native?.bytes.length ?? 0)
  }

  async next(): Promise<Next> {
    const came = this.#end ?? (await this.#come())
    if ('kind' in came) return came
    this.#room.forget(this, 'told')
    if ('fault' in came) throw came.fault
    return { kind: 'ended', dispatched: came.dispatched }
  }

  faultOf(answers: readonly Answer[]): string | undefined {
    for (const answer of answers) {
      const waiting = this.#waiting.get(answer.key)
      const fault = waiting === undefined ? undefined : faultOfAnswer(waiting.question.kind, answer)
      if (fault !== undefined)
        return `inputResponses[${JSON.stringify(answer.key)}] is no answer: ${fault}`
    }
    return undefined
  }

  resume(asker: Asker, answers: readonly Answer[]): void {
    if (this.#end !== undefined) return
    this.#asker = asker
    this.#opened.attach(asker)
    // What is not answered is asked again by whoever waits next.
    for (const answer of answers) this.#waiting.get(answer.key)?.answer(answer)
  }

  #come(): Promise<Next | End> {
    return new Promise((resolve) => {
      this.#listener = resolve
      this.#gather()
    })
  }

  #ask(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    const { key } = question
    const { limits } = this.#room
    if (withdrawn.aborted || this.#end !== undefined || this.#opened.exchange.signal.aborted)
      return Promise.resolve({ key, action: 'cancel' })
    if (!this.#room.bears(this.#asker, question)) return Promise.resolve({ key, action: 'decline' })
    if (!this.#room.admit(this)) return Promise.resolve({ key, action: 'cancel' })
    return new Promise((resolve) => {
      this.#keys += 1
      const own = `q${this.#keys}`
      const release = this.#opened.hold()
      const answer = (given: Answer): void => {
        if (!this.#waiting.delete(own)) return
        clearTimeout(timer)
        withdrawn.removeEventListener('abort', cancel)
        release()
        resolve({ ...given, key })
      }
      const cancel = (): void => answer({ key, action: 'cancel' })
      const timer = setTimeout(cancel, limits.questionMs)
      timer.unref()
      withdrawn.addEventListener('abort', cancel, { once: true })
      this.#waiting.set(own, { question, answer })
      this.#gather()
    })
  }

  /** After a moment, tells whoever waits what is asked by then. */
  #gather(): void {
    if (this.#gathering !== undefined || this.#waiting.size === 0) return
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined
      if (this.#waiting.size === 0 || this.#listener === undefined) return
      const asked = [...this.#waiting].map(([key, { question }]) => [key, question] as const)
      this.#round += 1
      this.#opened.park()
      this.#tell({ kind: 'asked', questions: new Map(asked) })
    }, GATHER_MS)
  }

  #over(end: End): void {
    this.#end = end
    clearTimeout(this.#gathering)
    this.#opened.close()
    this.cancelAll()
    if (this.#listener !== undefined) return this.#tell(end)
    if ('fault' in end) this.#room.report(end.fault)
    if (this.#isReleased) return
    // Nobody waits: kept for a retry, for a while.
    this.#room.trim()
    setTimeout(() => this.#room.forget(this, 'lost'), this.#room.limits.questionMs).unref()
  }

  #tell(what: Next | End): void {
    const listener = this.#listener
    this.#listener = undefined
    listener?.(what)
  }

  /** Whatever is asked is answered with cancel. */
  cancelAll(): void {
    for (const { question, answer } of this.#waiting.values())
      answer({ key: question.key, action: 'cancel' })
  }
}

/**
 * Core's functions over the real store in a temporary file, with rules, pins and one peer that a test scripts.
 *
 * Nothing here decides anything: what a port answers is a field that the test sets.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createDispatch } from '../core/dispatch.ts'
import { createBegin } from '../core/long-call.ts'
import type { Begin, Dispatch, Delegate } from '../core/ports/doors.ts'
import type { Exchange, StopReason, Upstream, WireFacts, Work } from '../core/ports/upstream.ts'
import { createResume, type Resume, type ResumePorts } from '../core/resume.ts'
import type { NewCall } from '../core/words/call.ts'
import type { JsonText, Native } from '../core/words/native.ts'
import type { Handle, Outcome } from '../core/words/outcome.ts'
import type { PinState } from '../core/words/pin.ts'
import type { Decision } from '../core/words/policy.ts'
import type { Principal } from '../core/words/principal.ts'
import { CANNOT_BE_ASKED, type QuestionKind } from '../core/words/question.ts'
import type { Route } from '../core/words/route.ts'
import { openStore } from '../store/open-sqlite.ts'
import type { Store } from '../store/store.ts'

export const ALICE: Principal = { id: 'alice', groups: [], via: 'token' }
export const FACTS: WireFacts = { wireId: 'w1', revision: 'r1', ours: {}, theirs: {} }

/** What the gate's ports answer; a test changes it at any time. */
export interface Rules {
  visible: boolean
  pin: PinState
  faults: readonly { readonly path: string; readonly expected: string }[]
  effect: Decision['effect']
  risk: Decision['risk']
  version: string
  /** By kind of question; allowed when left out. */
  questions: Partial<Record<QuestionKind, Decision['effect']>>
}

export interface CoreHouse {
  /** Ends the store as it is, and opens it as the next process would. */
  reopen(): Promise<Store>
  readonly store: Store
  readonly ports: ResumePorts
  readonly dispatch: Dispatch
  readonly delegate: Delegate
  readonly begin: Begin
  readonly resume: Resume
  readonly rules: Rules
  /** Which checks were asked, in order. */
  readonly asked: string[]
}

/** What the one peer does; `over` replaces ports. */
export interface CoreScript {
  readonly call?: Upstream['call']
  readonly work?: Partial<Work>
  readonly over?: (ports: ResumePorts) => Partial<ResumePorts>
}

/** Opens a house that ends with its test. */
export async function openCoreHouse(script: CoreScript = {}): Promise<CoreHouse> {
  const folder = mkdtempSync(join(tmpdir(), 'comity-core-'))
  const clock = { now: () => Date.now() }
  const file = join(folder, 'store.sqlite')
  const store = await openStore({ file, clock, onFault: () => undefined })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const rules: Rules = {
    visible: true,
    pin: 'accepted',
    faults: [],
    effect: 'allow',
    risk: 'write',
    version: 'rules-1',
    questions: {},
  }
  const asked: string[] = []
  const made = portsOf(store, rules, asked, script)
  const ports = { ...made, ...script.over?.(made) }
  const acts = { ...createDispatch(ports), begin: createBegin(ports) }
  const reopen = async (): Promise<Store> => {
    await store.close()
    const next = await openStore({ file, clock, onFault: () => undefined })
    onTestFinished(() => next.close())
    return next
  }
  return { reopen, store, ports, ...acts, resume: createResume(ports), rules, asked }
}

function portsOf(store: Store, rules: Rules, asked: string[], script: CoreScript): ResumePorts {
  let ids = 0
  const upstream: Upstream = {
    call: script.call ?? (() => Promise.reject(new Error('this peer takes no call'))),
    ...(script.work === undefined ? {} : { work: script.work as Work }),
  }
  return {
    policy: {
      visible: () => (asked.push('visible'), rules.visible),
      decide: () => {
        asked.push('policy')
        const { effect, risk, version } = rules
        return { effect, rule: 'rules[0]', version, risk, approvalTtlMs: 60_000 }
      },
      decideQuestion: (_principal, _route, kind) => ({
        effect: rules.questions[kind] ?? 'allow',
        rule: 'rules[1]',
        version: rules.version,
        risk: 'read',
        approvalTtlMs: 60_000,
      }),
    },
    pins: { state: () => (asked.push('pin'), rules.pin) },
    argumentCheck: { check: () => (asked.push('arguments'), rules.faults) },
    approvals: {
      find: (digest) => (asked.push('approval'), store.approvals.find(digest)),
      request: (wanted, ttlMs) => store.approvals.request(wanted, ttlMs),
      describe: () => 'their words',
    },
    digest: {
      text: sha256,
      json: (json) => sha256(JSON.stringify(json.value())),
      jsonValue: (json) => sha256(JSON.stringify(json.value())),
    },
    upstreamOf: (peer) => (peer === 'tickets' || peer === 'research' ? upstream : undefined),
    ledger: store.ledger,
    tasks: store.tasks,
    translator: {
      request: (call) => ({ value: call.native, dropped: [] }),
      outcome: (outcome) => ({ value: outcome, dropped: [] }),
    },
    clock: { now: () => Date.now() },
    ids: { call: () => `c${(ids += 1)}`, task: () => `t${(ids += 1)}` },
    onAbort: (signal, listener) => {
      signal.addEventListener('abort', listener, { once: true })
      return () => signal.removeEventListener('abort', listener)
    },
    acceptanceOf: () => undefined,
    isJudged: () => false,
    judge: { judge: async () => ({ reasons: [], checks: [] }) },
    routeOf: async ({ peer }) => (peer === AGENT_ROUTE.peer ? AGENT_ROUTE : TOOL_ROUTE),
    deadline: (afterMs) => AbortSignal.timeout(afterMs),
    jsonText,
    onFault: () => undefined,
    running: new Map(),
  }
}

const TOOL_ROUTE: Route = {
  exposed: 'tickets_delete',
  peer: 'tickets',
  protocol: 'mcp',
  kind: 'tool',
  capability: 'delete',
  endpoint: 'endpoint-1',
  fingerprint: 'fingerprint-1',
  hints: {},
  trusted: true,
}

const AGENT_ROUTE: Route = {
  ...TOOL_ROUTE,
  exposed: 'delegate_research',
  peer: 'research',
  protocol: 'a2a',
  kind: 'agent',
  capability: 'research',
}

/** A tool call as a door makes it. */
export function toolCall(over: Partial<NewCall> = {}): NewCall {
  const args = jsonText({ id: 1 })
  return {
    route: TOOL_ROUTE,
    principal: ALICE,
    operation: 'call',
    native: native(args.value()),
    arguments: args,
    door: 'test',
    deadlineAt: Date.now() + 60_000,
    trace: {},
    ...over,
  }
}

/** A delegation as a door makes it. */
export function delegation(over: Partial<NewCall> = {}): NewCall {
  const args = jsonText({ message: 'compare two versions' })
  const body = { ...native(args.value()), protocol: 'a2a' } as const
  return toolCall({
    route: AGENT_ROUTE,
    operation: 'delegate',
    native: body,
    arguments: args,
    ...over,
  })
}

/** An exchange with its stop and its caller's going in the test's hands. */
export function exchangeOf(): {
  readonly exchange: Exchange & Required<Pick<Exchange, 'stop'>>
  readonly stop: (why: StopReason) => void
  readonly gone: () => void
} {
  const stopping = new AbortController()
  const listeners: (() => void)[] = []
  let reason: StopReason | undefined
  const stop = (why: StopReason): void => {
    reason = why
    stopping.abort()
  }
  return {
    exchange: {
      signal: stopping.signal,
      stopReason: () => reason,
      stop,
      onGone: (listener) => void listeners.push(listener),
      emit: () => undefined,
      can: CANNOT_BE_ASKED,
    },
    stop,
    gone: () => {
      for (const listener of listeners) listener()
    },
  }
}

export function jsonText(value: unknown): JsonText {
  return { bytes: new TextEncoder().encode(JSON.stringify(value)), value: () => value }
}

export function native(value: unknown): Native {
  return { protocol: 'mcp', revision: '2026-07-28', ...jsonText(value) }
}

export const HANDLE: Handle = { peer: 'research', kind: 'a2a_task', sealed: 'T1', taskId: 'T1' }

export function completed(over: { readonly handle?: Handle } = {}): Outcome {
  return { state: 'completed', native: native({ content: [] }), toolError: false, ...over }
}

/** A task at an agent that asks one question. */
export function asking(key = 'q'): Outcome {
  const question = { key, kind: 'text', text: `${key}?`, native: native({}) } as const
  return { state: 'input_required', handle: HANDLE, questions: [question] }
}

/** A promise and its end. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
} {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => (resolve = done))
  return { promise, resolve }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

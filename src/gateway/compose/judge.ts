/**
 * The Judge: every citation resolves through the configured capability to the same bytes, and the host's own judges agree.
 *
 * Reads go through dispatch on behalf of the task's owner: a report that cites what its owner may not see is refused.
 */
import type { Dispatch } from '../../core/ports/doors.ts'
import type { Judge } from '../../core/ports/judge.ts'
import type { Artifact } from '../../core/words/artifact.ts'
import type { Failed, Outcome } from '../../core/words/outcome.ts'
import { CANNOT_BE_ASKED } from '../../core/words/question.ts'
import type { Route } from '../../core/words/route.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { jsonTextOf, nativeOf } from '../../bridge/native-text.ts'
import { type Citation, type Reference, findCitations } from './citations.ts'

/** A judge of the embedding host: reasons to refuse, and what it looked at. */
export type HostJudge = (
  task: TaskRecord,
  artifacts: readonly Artifact[],
) => Promise<{ readonly reasons: readonly string[]; readonly checks: readonly string[] }>

export interface JudgePorts {
  readonly dispatch: Dispatch
  /** `peer/tool` as a route, undefined when there is none. */
  routeTo(capability: string): Promise<Route | undefined>
  /** The host's judge for an agent. */
  hostJudge(peer: string): HostJudge | undefined
  now(): number
}

const AT_ONCE = 8
const READ_TIMEOUT_MS = 30_000
const MAX_REASONS = 50

export function createJudge(ports: JudgePorts): Judge {
  return {
    async judge(task, artifacts) {
      const resolveWith = task.acceptance?.citations?.resolveWith
      const cited =
        resolveWith === undefined
          ? NOTHING
          : await judgeCitations(ports, task, artifacts, resolveWith)
      const own = (await ports.hostJudge(task.peer)?.(task, artifacts)) ?? NOTHING
      const records =
        task.acceptance === undefined ? [] : ['names, media types and sizes as asked for']
      return {
        reasons: [...cited.reasons, ...own.reasons].slice(0, MAX_REASONS),
        checks: [...records, ...cited.checks, ...own.checks],
      }
    },
  }
}

interface Judged {
  readonly reasons: readonly string[]
  readonly checks: readonly string[]
}

const NOTHING: Judged = { reasons: [], checks: [] }

async function judgeCitations(
  ports: JudgePorts,
  task: TaskRecord,
  artifacts: readonly Artifact[],
  resolveWith: string,
): Promise<Judged> {
  const route = await ports.routeTo(resolveWith)
  // Judging is tried again later: that the resolver is away says nothing about the delivery.
  if (route === undefined)
    throw new Error(`acceptance resolves citations with ${resolveWith}, which is not there now`)
  const { citations, references, faults } = findCitations(artifacts)
  const reasons = [...faults]
  if (citations.length === 0) reasons.push('no citation in any artifact: nothing can be verified')
  const named = [
    ...citations.map(({ citation, where }) => ({ source: citation, where })),
    ...references.map(({ reference, where }) => ({ source: reference, where })),
  ]
  await eachAtOnce(named, async ({ source, where }) => {
    const refusal = await resolveSource(ports, task, route, source)
    if (refusal !== undefined) reasons.push(`${where}: ${saySource(source)}: ${refusal}`)
  })
  return {
    reasons,
    checks: [
      `${citations.length} citations resolved through ${resolveWith} to the same bytes`,
      ...(references.length === 0
        ? []
        : [`${references.length} documents named as sources have the digest given`]),
    ],
  }
}

/** A few at once. After the first fault nothing is begun, and it is told once all have ended: a retry never runs beside them. */
async function eachAtOnce<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items]
  const work = async (): Promise<void> => {
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await act(next)
    } finally {
      queue.length = 0
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, work))
  const fault = ended.find((end) => end.status === 'rejected')
  if (fault !== undefined) throw fault.reason
}

async function resolveSource(
  ports: JudgePorts,
  task: TaskRecord,
  route: Route,
  source: Citation | Reference,
): Promise<string | undefined> {
  const args = jsonTextOf({
    document: source.document,
    ...(source.version === undefined ? {} : { version: source.version }),
    ...('lines' in source ? { lines: source.lines } : {}),
  })
  const { outcome } = await ports.dispatch(
    {
      route,
      principal: task.owner,
      operation: 'call',
      native: nativeOf('mcp', '2026-07-28', { name: route.exposed, arguments: args.value() }),
      arguments: args,
      door: `acceptance of ${task.id}`,
      deadlineAt: ports.now() + READ_TIMEOUT_MS,
      trace: {},
    },
    {
      signal: AbortSignal.timeout(READ_TIMEOUT_MS),
      stopReason: () => 'deadline',
      emit: () => undefined,
      can: CANNOT_BE_ASKED,
    },
  )
  return compare(outcome, source)
}

function compare(outcome: Outcome, source: Citation | Reference): string | undefined {
  if (outcome.state === 'failed' && isFaultOfCitation(outcome))
    return `does not resolve (${outcome.detail})`
  if (outcome.state !== 'completed') {
    const detail = 'detail' in outcome ? outcome.detail : outcome.state
    throw new Error(`a citation could not be looked up: ${detail}`)
  }
  const result = outcome.native.value() as {
    structuredContent?: Record<string, unknown>
    content?: readonly { text?: string }[]
  }
  if (outcome.toolError)
    return `does not resolve (${result.content?.[0]?.text ?? 'no reason given'})`
  const read = result.structuredContent ?? {}
  if (read['digest'] !== source.digest)
    return `the document's digest is ${String(read['digest'])}, cited as ${source.digest}`
  return 'quote' in source ? compareQuote(read, source) : undefined
}

function compareQuote(read: Record<string, unknown>, citation: Citation): string | undefined {
  if (read['truncated'] === true) return 'is longer than one read of the document'
  if (read['text'] !== citation.quote)
    return `the quote is not what stands there: ${JSON.stringify(String(read['text']).slice(0, 120))}`
  // A read ends with the document: lines that it does not have are not cited with what it has.
  const lines = read['lines'] as Partial<Citation['lines']> | undefined
  if (typeof lines?.end === 'number' && lines.end !== citation.lines.end)
    return `the document has only lines ${lines.start}-${lines.end} there`
  return undefined
}

/** Refusals that the same citation would meet again, however often it is judged. */
function isFaultOfCitation({ origin, code, ran }: Failed): boolean {
  switch (origin) {
    case 'validation':
      return true
    case 'policy':
      // These pass without the delivery changing: a pin is accepted, the disk has room again.
      return code !== 'pin_changed' && code !== 'gate_changed' && code !== 'record_unwritable'
    case 'peer':
      return code === 'peer_error' && ran === 'no'
    case 'protocol':
    case 'transport':
      return false
  }
}

function saySource(source: Citation | Reference): string {
  return 'lines' in source
    ? `${source.document} lines ${source.lines.start}-${source.lines.end}`
    : source.document
}

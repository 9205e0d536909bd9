/** The report of a probe, made of what was found: bounded, whatever the server said. */
import { objectOf } from '../upstream/facts.ts'
import { MODERN_META } from '../wire/rev-2026-07-28.ts'
import type { Discovery, Spoken } from './discovery.ts'
import type { Findings } from './findings.ts'
import { judgeForModels, MODEL_APIS } from './model-schemas.ts'
import type { ReadList } from './read-lists.ts'
import type { AuthFacts, CallsItself, ModelVerdict, ProbeReport } from './report.ts'

/** What a report needs beside what was found. */
export interface Told {
  readonly findings: Findings
  /** When it began, monotonic milliseconds. */
  readonly since: number
  /** How the target is shown. */
  readonly shown: ProbeReport['target']
}

/** Tools whose schemas are held against model APIs, and how long that may take, milliseconds. */
const MOST_JUDGED = 500
const MODELS_MS = 5_000
/** What a server says of its capabilities beyond this is told by name alone, characters. */
const LONGEST_CAPABILITIES = 64 * 1024

/** Makes it. @param auth over HTTP only. */
export function makeReport(
  found: Discovery,
  lists: readonly ReadList[],
  { findings, shown, since }: Told,
  auth?: AuthFacts,
): ProbeReport {
  const spoken = found.modern ?? found.legacy
  const opened = spoken?.opened ?? {}
  const info =
    spoken?.asking.era === 'modern'
      ? objectOf(opened['_meta'])[MODERN_META.serverInfo]
      : opened['serverInfo']
  const capabilities = bounded(objectOf(opened['capabilities']))
  const wantsLogin = found.unreachable !== undefined && found.refused !== undefined
  if (wantsLogin)
    findings.skip(
      'everything behind the login: comity probe --peer looks at it with what a peer has',
    )
  return {
    target: shown,
    reached: found.unreachable === undefined || wantsLogin,
    ...(found.unreachable === undefined ? {} : { unreachable: found.unreachable }),
    revisions: found.revisions,
    callsItself: spoken === undefined ? {} : callsItself(spoken, info),
    capabilities,
    extensions: objectOf(capabilities['extensions']),
    ...(auth === undefined ? {} : { auth }),
    lists: lists.map(({ read }) => read),
    models: judgeModels(lists, findings),
    findings: findings.all(),
    more: findings.more(),
    skipped: findings.skipped(),
    tookMs: Math.round(performance.now() - since),
  }
}

/** The tools of the newest revision, held against every model API. */
function judgeModels(lists: readonly ReadList[], findings: Findings): ProbeReport['models'] {
  const tools = lists.find(({ kind }) => kind === 'tools')?.items.slice(0, MOST_JUDGED) ?? []
  const since = performance.now()
  const verdicts: ModelVerdict[] = []
  let judged = 0
  for (const { name, inputSchema } of tools) {
    if (performance.now() - since > MODELS_MS) break
    judged += 1
    verdicts.push(
      ...judgeForModels(typeof name === 'string' ? name.slice(0, 200) : '', inputSchema),
    )
  }
  if (judged < tools.length) findings.skip(`model APIs: tools beyond the first ${judged}`)
  const summary = MODEL_APIS.map(({ id, title, source }) => {
    const refuses = verdicts.filter(({ api }) => api === id).length
    return { api: id, title, source, takes: judged - refuses, refuses }
  })
  return { summary: tools.length === 0 ? [] : summary, verdicts }
}

/** As they came, unless they are a flood. */
function bounded(said: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (JSON.stringify(said).length <= LONGEST_CAPABILITIES) return said
  const names = Object.keys(said).slice(0, 100)
  return Object.fromEntries(names.map((name) => [name.slice(0, 200), {}]))
}

/** What it says of itself. */
function callsItself(spoken: Spoken, serverInfo: unknown): CallsItself {
  const { name, version, title } = objectOf(serverInfo)
  const { instructions } = spoken.opened
  const short = (key: string, value: unknown): object =>
    typeof value === 'string' ? { [key]: value.slice(0, 200) } : {}
  return {
    ...short('name', name),
    ...short('version', version),
    ...short('title', title),
    ...(typeof instructions === 'string' ? { instructions: instructions.length } : {}),
  }
}

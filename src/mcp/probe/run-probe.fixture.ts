/** A probe as tests make it: with a judge of schemas that needs no compiler, and nobody to log in to. */
import { probeServer, type ProbeOptions, type ProbeTarget } from './probe-server.ts'
import type { AuthFacts, ProbeReport } from './report.ts'

const NO_LOGIN: AuthFacts = { wanted: false, challenges: [], servers: [], tried: [], faults: [] }

/** Probes an address or a command. */
export function runProbe(
  target: ProbeTarget | string,
  options: ProbeOptions = {},
): Promise<ProbeReport> {
  const reached: ProbeTarget =
    typeof target === 'string' ? { transport: 'http', url: target, headers: {} } : target
  return probeServer(
    reached,
    { transport: reached.transport, at: 'it' },
    {
      clientInfo: { name: 'comity-test', version: '0.0.0' },
      environment: process.env,
      judgeSchema: ({ type, title }) =>
        type === 'banana'
          ? { rule: 'tool.schema-invalid', why: 'banana is no type' }
          : title === 'huge'
            ? { rule: 'tool.schema-large', why: 'huge' }
            : undefined,
      learnAuth: () => Promise.resolve(NO_LOGIN),
    },
    new AbortController().signal,
    { requestMs: 5_000, ...options },
  )
}

/** The ids of the rules that were broken, each once, sorted. */
export function brokenRules({ findings }: ProbeReport): readonly string[] {
  return [...new Set(findings.map(({ rule }) => rule))].toSorted()
}

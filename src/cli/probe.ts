/** `comity probe`: what a server is, which rules it breaks, and what to do about each. Nothing with effects is sent to it. */
import { ComityError } from '../gateway/admin/errors.ts'
import { probe as probeIt, type ProbeReport, type ProbeWanted } from '../gateway/admin/probe.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { durationOf } from './option-values.ts'
import { showProbe } from './say-probe.ts'
import { configOf } from './session.ts'
import type { Terminal } from './terminal.ts'

export interface ProbeOptions extends CommonOptions {
  readonly peer?: string
  readonly timeout: string
}

export async function probe(
  options: ProbeOptions,
  terminal: Terminal,
  target: readonly string[],
): Promise<number> {
  const wanted = wantedOf(options, target)
  const wholeMs = durationOf('--timeout', options.timeout, '90s')
  const stop = new AbortController()
  const interrupt = (): void => {
    process.exitCode = EXIT.interrupted
    stop.abort()
  }
  process.once('SIGINT', interrupt)
  try {
    const report = await probeIt(wanted, process.env, stop.signal, { wholeMs })
    if (stop.signal.aborted) return EXIT.interrupted
    if (terminal.json) terminal.answer({ sound: isSound(report), ...report })
    else showProbe(terminal, report)
    if (!report.reached) return EXIT.usage
    return isSound(report) ? EXIT.done : EXIT.failed
  } finally {
    process.off('SIGINT', interrupt)
  }
}

function isSound({ reached, findings, card }: ProbeReport): boolean {
  const all = [...findings, ...(card?.findings ?? [])]
  return reached && !all.some(({ severity }) => severity === 'error')
}

function wantedOf({ peer, config }: ProbeOptions, target: readonly string[]): ProbeWanted {
  const [first, ...rest] = target
  if (peer !== undefined) {
    if (first !== undefined)
      throw new ComityError(
        'usage',
        `--peer ${peer} is what is probed: leave ${JSON.stringify(first)} out, whose credentials it would be is not said`,
      )
    return { kind: 'peer', name: peer, config: configOf(config) }
  }
  if (first === undefined)
    throw new ComityError(
      'usage',
      'expected what to probe: https://…, -- a command with its arguments, or the name of a peer',
    )
  if (/^https?:\/\//i.test(first)) {
    if (rest.length > 0 || !URL.canParse(first))
      throw new ComityError('usage', 'expected one address that is one, such as https://host/mcp')
    return { kind: 'url', url: first }
  }
  return (
    (rest.length === 0 ? peerOf(first, config) : undefined) ?? {
      kind: 'command',
      command: first,
      args: rest,
    }
  )
}

/** A single word may be a peer's name, where there is a configuration that has it. */
function peerOf(name: string, flag: string | undefined): ProbeWanted | undefined {
  try {
    const config = configOf(flag)
    return config.peers.includes(name) ? { kind: 'peer', name, config } : undefined
  } catch (error) {
    // Whoever names a file means it.
    if (flag !== undefined || !(error instanceof ComityError)) throw error
    return undefined
  }
}

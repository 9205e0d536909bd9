/**
 * `npm run bench`: the relay path measured against what is expected of it. Every figure is a ratio or a difference within this
 * run, since machines differ and are busy; none is a test.
 *
 * `--only reads,list` measures parts, `--quick` takes less of each, `--rounds N`, `--duration` of one load in milliseconds,
 * `--cells 100x16,65536x64` bytes and calls in flight, `--also file.json` another gateway beside, `--verbose` every load,
 * `--source` starts the sources instead of the package that is built from them.
 */
import { parseArgs } from 'node:util'
import { measureCalls } from './measures/calls.ts'
import { measureColdStart } from './measures/cold-start.ts'
import { measureLatency } from './measures/latency.ts'
import { measureList } from './measures/list.ts'
import { measureLoopDelay } from './measures/loop-delay.ts'
import { measureMemory } from './measures/memory.ts'
import { notMeasured, showFindings, type Finding, type RunOptions } from './rig/finding.ts'
import { measureSources } from './rig/package.ts'
import { loadAverage } from './rig/processes.ts'

type Part = (options: RunOptions) => Promise<readonly Finding[]>

const PARTS: Readonly<Record<string, Part>> = {
  reads: (options) => measureCalls(options, ['read']),
  writes: (options) => measureCalls(options, ['write']),
  latency: measureLatency,
  list: measureList,
  loop: measureLoopDelay,
  cold: measureColdStart,
  memory: measureMemory,
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      duration: { type: 'string' },
      also: { type: 'string', multiple: true },
      cells: { type: 'string' },
      source: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  })
  const names = values.only?.split(',') ?? Object.keys(PARTS)
  const unknown = names.find((name) => !Object.hasOwn(PARTS, name))
  if (unknown !== undefined) {
    console.error(`no part ${unknown}; expected some of ${Object.keys(PARTS).join(', ')}`)
    return 2
  }
  if (values.source) measureSources()
  const options: RunOptions = {
    rounds: Number(values.rounds ?? (values.quick ? 1 : 5)),
    durationMs: Number(values.duration ?? (values.quick ? 400 : 1200)),
    also: values.also ?? [],
    ...(values.cells === undefined ? {} : { cells: values.cells.split(',') }),
    quick: values.quick,
    say: (line) => {
      if (values.verbose) console.error(line)
    },
  }
  const begun = performance.now()
  const findings: Finding[] = []
  for (const name of names) {
    const part = PARTS[name]!
    try {
      findings.push(...(await part(options)))
    } catch (error) {
      findings.push(notMeasured(name, error instanceof Error ? error.message : String(error)))
    }
  }
  console.log(showFindings(findings))
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  console.log(
    `\n${values.source ? 'sources' : 'built package'}, median of ${options.rounds} rounds; ${seconds} s, Node ${process.version}, load average ${loadAverage()}`,
  )
  return findings.some(({ verdict }) => verdict === 'NOT met') ? 1 : 0
}

process.exitCode = await main()

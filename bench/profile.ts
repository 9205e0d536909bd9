/**
 * Where the gateway's CPU goes: one load on a profiled gateway, then the functions by their own time, thread by thread.
 *
 * `node bench/profile.ts --tool look --bytes 100 --in-flight 16 --seconds 4 [--warm-up 8] [--source] [--keep folder]`; for finding what
 * to change, not for figures. The built package, unless it is to be the source.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { runLoad, type LoadReport } from './rig/load.ts'
import { makeScratch } from './rig/processes.ts'
import { measureSources, programs, ROOT } from './rig/package.ts'
import { startComity, startPeer, waitForTools } from './rig/targets.ts'
import { formatTable } from './rig/statistics.ts'

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      readonly lineNumber: number
    }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const { values } = parseArgs({
  options: {
    tool: { type: 'string', default: 'look' },
    bytes: { type: 'string', default: '100' },
    'in-flight': { type: 'string', default: '16' },
    seconds: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '8' },
    source: { type: 'boolean', default: false },
    rows: { type: 'string', default: '45' },
    list: { type: 'boolean', default: false },
    total: { type: 'boolean', default: false },
    keep: { type: 'string' },
  },
})

if (values.source) measureSources()
const scratch = makeScratch('profile')
const folder = values.keep ?? scratch.path
/** With `--list`: twenty peers of fifty tools each. */
const peer = await startPeer(values.list ? 50 : 2)
const names = values.list ? Array.from({ length: 20 }, (_, index) => `p${index}`) : ['peer']
const comity = await startComity(
  Object.fromEntries(
    names.map((name) => [name, { type: 'http', url: new URL(`/${name}/mcp`, peer.url).href }]),
  ),
  {
    nodeArgs: ['--import', join(import.meta.dirname, 'probes', 'cpu-profile.mjs')],
    env: { PROFILE_FOLDER: folder },
  },
)
try {
  await waitForTools(comity, values.list ? 1000 : 2)
  const call = {
    do: 'call',
    tool: comity.tool('peer', values.tool),
    bytes: Number(values.bytes),
  } as const
  const work = values.list ? ({ do: 'list', tools: 1000 } as const) : call
  const load = (seconds: number): Promise<LoadReport> =>
    runLoad(
      {
        era: 'stateless',
        url: comity.url,
        inFlight: Number(values['in-flight']),
        durationMs: seconds * 1000,
        warmUpMs: 300,
        work,
      },
      comity.running.pid,
    )
  // Compiled code first.
  await load(Number(values['warm-up']))
  process.kill(comity.running.pid, 'SIGUSR2')
  const report = await load(Number(values.seconds))
  process.kill(comity.running.pid, 'SIGUSR2')
  await pause(1000)
  console.log(
    `${report.calls} calls, ${report.cpuMs.toFixed(3)} ms CPU a call, p50 ${report.p50.toFixed(2)} ms, faults ${report.faults} ${report.firstFault ?? ''}`,
  )
} finally {
  await comity.running.stop(20_000)
  await peer.stop()
}
for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))) {
  show(file, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile)
}
await comity.stop()
scratch.remove()

function show(file: string, { nodes, samples, timeDeltas }: Profile): void {
  const own = new Map<number, number>()
  samples.forEach((id, index) => own.set(id, (own.get(id) ?? 0) + (timeDeltas[index] ?? 0)))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const nameOf = ({ callFrame }: Profile['nodes'][number]): string => {
    const url = callFrame.url
      .replace(`file://${programs().root}/`, '')
      .replace(`file://${ROOT}/`, '')
      .replace(/^node_modules\//, '~')
    return `${callFrame.functionName || '(anonymous)'} ${url === '' ? '' : `${url}:${callFrame.lineNumber + 1}`}`
  }
  const self = new Map<string, number>()
  const total = new Map<string, number>()
  const visit = (id: number, path: ReadonlySet<string>): number => {
    const node = byId.get(id)!
    const name = nameOf(node)
    const mine = own.get(id) ?? 0
    const inner = path.has(name) ? path : new Set([...path, name])
    const below = (node.children ?? []).reduce((sum, child) => sum + visit(child, inner), 0)
    self.set(name, (self.get(name) ?? 0) + mine)
    // Once on each path: a function within itself counts once.
    if (inner !== path) total.set(name, (total.get(name) ?? 0) + mine + below)
    return mine + below
  }
  visit(nodes[0]!.id, new Set())
  const busy = [...own].reduce((sum, [id, time]) => {
    const name = byId.get(id)!.callFrame.functionName
    return name === '(idle)' || name === '(program)' ? sum : sum + time
  }, 0)
  const rows = [...(values.total ? total : self)]
    .filter(([name]) => !name.startsWith('(idle)') && !name.startsWith('(root)'))
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, Number(values.rows))
    .map(([name, time]) => [
      `${((100 * time) / busy).toFixed(1)} %`,
      `${((100 * (total.get(name) ?? 0)) / busy).toFixed(1)} %`,
      name,
    ])
  console.log(`\n${file}: ${(busy / 1000).toFixed(0)} ms busy`)
  console.log(formatTable([['own', 'with callees', 'function'], ...rows]))
}

/**
 * The house test: a reader follows a journey by opening each spine file once, downward.
 *
 * A leg is proved from imports: each next file exists and is reached by import or by the named
 * port, nothing reaches back up, and no leg is longer than five files.
 */
import { isTest, type SourceFile } from './source-tree.ts'

/** How a spine file comes to the next: it imports it, or it holds a port that the next one fulfils. */
export type Link = 'import' | { readonly port: string; readonly names: readonly string[] }

/** A file (`core/dispatch`) or any file of a folder (`a2a/bindings/*`), under src and without ending. */
export interface Step {
  readonly spine: string
  /** How the one before comes here; absent on the first. */
  readonly by?: Link
}

/** One journey: its legs, and the file whose existence means that it is built and must hold. */
export interface Journey {
  readonly name: string
  readonly builtWith: string
  readonly legs: Readonly<Record<string, readonly Step[]>>
}

const NEW_WORK: Link = { port: 'core/ports/doors', names: ['Dispatch', 'Delegate'] }
const OLD_WORK: Link = { port: 'core/ports/doors', names: ['TaskDesk'] }
const PEER: Link = { port: 'core/ports/upstream', names: ['Upstream', 'UpstreamOf', 'Work'] }

/** The journeys of this version, in the words of the design. */
export const JOURNEYS: readonly Journey[] = [
  {
    name: 'J1, a tool call relayed',
    builtWith: 'gateway/http',
    legs: {
      call: [
        { spine: 'gateway/http' },
        { spine: 'mcp/downstream/modern', by: 'import' },
        { spine: 'core/dispatch', by: NEW_WORK },
        { spine: 'mcp/upstream/client', by: PEER },
        { spine: 'mcp/upstream/http', by: 'import' },
      ],
    },
  },
  {
    name: 'J2, a delegation',
    builtWith: 'gateway/http',
    legs: {
      start: [
        { spine: 'gateway/http' },
        { spine: 'mcp/downstream/modern', by: 'import' },
        { spine: 'core/dispatch', by: NEW_WORK },
        { spine: 'a2a/upstream/client', by: PEER },
        { spine: 'a2a/bindings/*', by: 'import' },
      ],
      'news, pumped': [
        { spine: 'gateway/workers' },
        { spine: 'a2a/upstream/client', by: PEER },
        { spine: 'a2a/upstream/follow', by: 'import' },
      ],
      'news, taken in': [{ spine: 'gateway/workers' }, { spine: 'core/resume', by: 'import' }],
      answer: [
        { spine: 'gateway/http' },
        { spine: 'mcp/downstream/modern', by: 'import' },
        { spine: 'core/resume', by: OLD_WORK },
        { spine: 'a2a/upstream/client', by: PEER },
        { spine: 'a2a/bindings/*', by: 'import' },
      ],
    },
  },
]

/** What may never reach what, whatever the journey: values only, through any number of files. */
export const NEVER: readonly {
  readonly from: string
  readonly to: string
  readonly why: string
}[] = [
  { from: 'core/dispatch', to: 'core/resume', why: 'resume may call dispatch, never the reverse' },
  ...['dispatch', 'resume', 'gate', 'admit', 'step'].flatMap((act) => [
    { from: 'mcp/upstream/*', to: `core/${act}`, why: 'peers never call core' },
    { from: 'a2a/upstream/*', to: `core/${act}`, why: 'peers never call core' },
    { from: 'bridge/*', to: `core/${act}`, why: 'the translator is a leaf' },
  ]),
]

/** The most spine files of one leg. */
export const MAX_SPINE = 5

/** What the house test found. `proved` are the legs that hold, as one line each. */
export interface HouseReport {
  readonly faults: readonly string[]
  readonly proved: readonly string[]
  readonly notBuilt: readonly string[]
}

/** Runs the house test over the files under src. */
export function judgeHouse(
  files: readonly SourceFile[],
  journeys: readonly Journey[] = JOURNEYS,
): HouseReport {
  const graph = new Map(files.filter(({ path }) => !isTest(path)).map((file) => [file.path, file]))
  const faults: string[] = NEVER.flatMap(({ from, to, why }) =>
    pathBetween(graph, from, to, 'values').map((chain) => `${why}: ${chain.join(' → ')}`),
  )
  const proved: string[] = []
  const notBuilt: string[] = []
  for (const journey of journeys) {
    if (resolveSpine(graph, journey.builtWith).length === 0) {
      notBuilt.push(`${journey.name}: not built until ${journey.builtWith} is there`)
      continue
    }
    for (const [leg, steps] of Object.entries(journey.legs)) {
      const found = judgeLeg(graph, steps)
      faults.push(...found.map((fault) => `${journey.name}, ${leg}: ${fault}`))
      if (found.length === 0) {
        proved.push(`${journey.name}, ${leg}: ${steps.map(({ spine }) => spine).join(' → ')}`)
      }
    }
  }
  return { faults: [...new Set(faults)], proved, notBuilt }
}

type Graph = ReadonlyMap<string, SourceFile>

function judgeLeg(graph: Graph, steps: readonly Step[]): string[] {
  if (steps.length > MAX_SPINE) return [`${steps.length} spine files, at most ${MAX_SPINE}`]
  const missing = steps.filter(({ spine }) => resolveSpine(graph, spine).length === 0)
  if (missing.length > 0)
    return missing.map(
      ({ spine }) => `src/${spine.endsWith('/*') ? spine : `${spine}.ts`} does not exist`,
    )
  return steps.flatMap((step, index) => {
    const before = steps[index - 1]
    const unreached =
      before === undefined ||
      step.by === undefined ||
      isLinked(graph, before.spine, step.spine, step.by)
        ? []
        : [`${before.spine} does not come to ${step.spine} by ${describe(step.by)}`]
    const upward = steps
      .slice(0, index)
      .flatMap((earlier) =>
        [
          ...pathBetween(graph, step.spine, earlier.spine, 'values'),
          ...directTypes(graph, step.spine, earlier.spine),
        ].map((chain) => `${step.spine} reaches back up: ${chain.join(' → ')}`),
      )
    return [...unreached, ...upward]
  })
}

function describe(link: Link): string {
  return link === 'import' ? 'import' : `${link.names.join(' or ')} of ${link.port}`
}

function isLinked(graph: Graph, from: string, to: string, by: Link): boolean {
  if (by === 'import') return pathBetween(graph, from, to, 'all').length > 0
  const port = `src/${by.port}.ts`
  // The holder may keep the port in a file of its own folder; the one that fulfils it names it itself.
  const holders = resolveSpine(graph, from).flatMap((path) =>
    reachable(graph, path, folderOf(path)),
  )
  const holds = holders.some((path) =>
    takes(graph, path, port).some((name) => by.names.includes(name)),
  )
  return holds && resolveSpine(graph, to).some((path) => takes(graph, path, port).length > 0)
}

function takes(graph: Graph, path: string, target: string): readonly string[] {
  return (graph.get(path)?.imports ?? [])
    .filter((found) => found.target === target)
    .flatMap(({ names }) => names)
}

function directTypes(graph: Graph, from: string, to: string): string[][] {
  const targets = resolveSpine(graph, to)
  return resolveSpine(graph, from).flatMap((path) =>
    (graph.get(path)?.imports ?? [])
      .filter(
        ({ target, typeOnly }) => typeOnly && target !== undefined && targets.includes(target),
      )
      .map(({ target }) => [path, target ?? '']),
  )
}

/** The shortest way from one spine to another, one at most for each file of the first. */
function pathBetween(graph: Graph, from: string, to: string, follow: 'values' | 'all'): string[][] {
  const targets = new Set(resolveSpine(graph, to))
  return resolveSpine(graph, from).flatMap((start) => {
    const queue: string[][] = [[start]]
    const seen = new Set([start])
    for (const chain of queue) {
      for (const next of importsOf(graph, chain.at(-1) ?? start, follow)) {
        if (targets.has(next) && next !== start) return [[...chain, next]]
        if (seen.has(next)) continue
        seen.add(next)
        queue.push([...chain, next])
      }
    }
    return []
  })
}

function reachable(graph: Graph, start: string, within: string): string[] {
  const seen = new Set([start])
  for (const path of seen) {
    for (const next of importsOf(graph, path, 'all')) if (next.startsWith(within)) seen.add(next)
  }
  return [...seen]
}

function importsOf(graph: Graph, path: string, follow: 'values' | 'all'): string[] {
  return (graph.get(path)?.imports ?? []).flatMap(({ target, typeOnly }) =>
    target === undefined || (follow === 'values' && typeOnly) ? [] : [target],
  )
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/** The files of a spine name: `x` is x.ts, or every file of a folder x when there is no such file. */
function resolveSpine(graph: Graph, spine: string): string[] {
  const plain = spine.replace(/\/\*$/, '')
  if (spine === plain && graph.has(`src/${plain}.ts`)) return [`src/${plain}.ts`]
  return [...graph.keys()].filter((path) => path.startsWith(`src/${plain}/`))
}

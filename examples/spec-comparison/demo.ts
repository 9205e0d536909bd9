/**
 * `npm run demo`: a host delegates to a research agent and accepts its report, or does not.
 *
 * The stage: starts the agent and the host, each as its own process, prints what the host tells,
 * and kills one of them half way when asked to.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeComityYaml } from './host/comity-yaml.ts'
import { findInput, REVISIONS } from './host/input.ts'
import type { HostMessage } from './host/main.ts'
import { createPrinter, type Printer } from './host/print.ts'
import {
  type AgentProcess,
  docsCommand,
  runComity,
  startAgent,
  startHost,
  type Started,
} from './host/processes.ts'

const USAGE = `usage: npm run demo -- [options]

  --forge         the agent falsifies one quote: completed, and refused
  --kill-agent    the agent is killed half way (kill -9) and started again
  --kill-host     the host, comity in it, is killed half way and started again on the same store
  --no-criteria   nothing is asked of the delivery, so nothing is judged
  --out <folder>  where everything is written; default examples/spec-comparison/out
`

interface Options {
  readonly forge: boolean
  readonly killAgent: boolean
  readonly killHost: boolean
  readonly criteria: boolean
  /** Absolute. Emptied first. */
  readonly out: string
}

/** What is running; `restart` starts the same again after a kill. */
interface Stage {
  readonly print: Printer
  readonly restartAgent: () => Promise<void>
  readonly startHost: () => void
  agent: AgentProcess
  host?: Started
  verdict?: Extract<HostMessage, { readonly tell: 'verdict' }>
  /** Resolves when the agent is at work and not done. */
  readonly halfWay: Promise<void>
}

/** Milliseconds between the agent's steps: enough to watch, and to be killed between two of them. */
const PACE_MS = 120
/** After so many news of the agent at work it has read one list and not compared. */
const HALF_WAY = 3
/** Marks a folder as the demo's own. */
const MARK = 'MADE-BY-DEMO'
const DEFAULT_OUT = join(import.meta.dirname, 'out')

async function main(options: Options): Promise<number> {
  const stage = await setStage(options)
  const { print } = stage
  const end = (): Promise<unknown> => Promise.all([stage.host?.kill(), stage.agent.kill()])
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void end().finally(() => process.exit(130)))
  }
  try {
    stage.startHost()
    await killHalfWay(stage, options)
    const code = await stage.host?.ended
    if (stage.verdict === undefined) {
      console.error(`the host ended without a verdict (${code}); see ${options.out}`)
      return 2
    }
    const { task, saved } = stage.verdict
    print.verdict(task, saved)
    print.command(`comity explain ${task.taskId}`)
    await runComity('explain', task.taskId, '-c', join(options.out, 'comity.yaml'))
    print.end(task, saved)
    return code === 0 ? 0 : 1
  } finally {
    await end()
  }
}

async function setStage({ out, forge, criteria }: Options): Promise<Stage> {
  const input = findInput()
  emptyFolder(out)
  const print = createPrinter()
  print.title(
    `What does MCP ${REVISIONS[1]} ask of ${input.target.name} ${input.target.version}?`,
    `Two requirement lists from ${input.lists.name} ${input.lists.version}, one agent, one host.`,
  )
  const docs = docsCommand(input.folders)
  const agentOptions = {
    state: join(out, 'agent'),
    log: join(out, 'agent.log'),
    docs,
    paceMs: PACE_MS,
    forge,
  }
  const agent = await startAgent({ ...agentOptions, port: 0 })
  print.step('the research agent is up, a process of its own', [`pid ${agent.pid}, ${agent.card}`])
  writeFileSync(join(out, 'comity.yaml'), writeComityYaml({ docs, card: agent.card, criteria }))

  const halfWay = Promise.withResolvers<void>()
  let news = 0
  const told = (message: HostMessage): void => {
    if (message.tell === 'verdict') stage.verdict = message
    else if (message.tell === 'step') print.step(message.title, message.lines)
    else {
      news += 1
      if (news === 1) print.step('the agent works, with its own MCP connection', message.lines)
      else print.more(message.lines)
      if (news === HALF_WAY) halfWay.resolve()
    }
  }
  const stage: Stage = {
    print,
    agent,
    halfWay: halfWay.promise,
    startHost: () => {
      stage.host = startHost(out, { criteria }, told)
    },
    restartAgent: async () => {
      stage.agent = await startAgent({ ...agentOptions, port: agent.port })
    },
  }
  return stage
}

/** @throws Error rather than emptying a folder that an earlier run did not make. */
function emptyFolder(out: string): void {
  mkdirSync(out, { recursive: true })
  if (readdirSync(out).length > 0 && !existsSync(join(out, MARK))) {
    throw new Error(`${out} is not a folder of the demo; give an empty one with --out`)
  }
  rmSync(out, { recursive: true })
  mkdirSync(out)
  writeFileSync(join(out, MARK), 'Everything here is made anew by every run of the demo.\n')
}

async function killHalfWay(stage: Stage, { killAgent, killHost }: Options): Promise<void> {
  if (!killAgent && !killHost) return
  await Promise.race([stage.halfWay, stage.host?.ended])
  if (killAgent) {
    await stage.agent.kill()
    stage.print.step('the agent was killed half way (kill -9); it is started again', [])
    await stage.restartAgent()
    stage.print.more([`pid ${stage.agent.pid}, same port, same folder`])
  }
  if (killHost) {
    await stage.host?.kill()
    stage.print.step('the host was killed half way (kill -9); it is started again', [
      'same comity.yaml, same store',
    ])
    stage.startHost()
  }
}

/** @throws Error with what to change. */
function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      forge: { type: 'boolean', default: false },
      'kill-agent': { type: 'boolean', default: false },
      'kill-host': { type: 'boolean', default: false },
      'no-criteria': { type: 'boolean', default: false },
      out: { type: 'string', default: DEFAULT_OUT },
    },
  })
  return {
    forge: values.forge,
    killAgent: values['kill-agent'],
    killHost: values['kill-host'],
    criteria: !values['no-criteria'],
    out: resolve(values.out),
  }
}

function readOptions(): Options | undefined {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
    return undefined
  }
}

const options = readOptions()
try {
  process.exitCode = options === undefined ? 2 : await main(options)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  // At once: an agent that is up keeps this process alive, and ends with it.
  process.exit(2)
}

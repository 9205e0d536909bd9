/**
 * `npm run demo:statistics`: an analysis of ten minutes (here of seconds) that outlives its caller, comity and its own server.
 *
 * Everything that is claimed at the end is counted again, in the two SQLite files that the story leaves behind.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ask, type Task } from './caller.ts'
import { makeData, MONTHS } from './data.ts'
import { comity, type Serving, startComity, startServer } from './processes.ts'

const USAGE = `usage: npm run demo:statistics -- [options]

  --step <ms>     between two of the forty steps; default 150, and 15000 for ten minutes
  --rows <n>      measurements; default 200000
  --by-operator   the question is answered at the terminal, by comity answer, not by the caller
  --out <folder>  where everything is written; default examples/statistics/out
`
/** Marks a folder as the demo's own. */
const MARK = 'MADE-BY-DEMO'
const LONGEST_MS = 120_000

interface Stage {
  readonly out: string
  readonly config: string
  readonly serverArgs: readonly string[]
  readonly byOperator: boolean
  server: Serving
  gateway: Serving
}

const { values } = parseArgs({
  options: {
    step: { type: 'string', default: '150' },
    rows: { type: 'string', default: '200000' },
    'by-operator': { type: 'boolean', default: false },
    out: { type: 'string', default: join(import.meta.dirname, 'out') },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const out = resolve(values.out)
  clear(out)
  const data = join(out, 'measurements.db')
  step('the data', `${values.rows} measurements of forty months in measurements.db`)
  makeData(data, Number(values.rows))
  const stage = await open(out, data)
  const signals = ['SIGINT', 'SIGTERM'] as const
  const end = (): void => void close(stage).finally(() => process.exit(1))
  for (const signal of signals) process.once(signal, end)
  try {
    const first = await outlive(stage)
    const second = await cancelOne(stage)
    await show(stage, first)
    return judge(out, Number(values.rows), first, second)
  } finally {
    for (const signal of signals) process.removeListener(signal, end)
    await close(stage)
  }
}

async function open(out: string, data: string): Promise<Stage> {
  const state = join(out, 'tasks.db')
  const args = ['--data', data, '--state', state, '--step', values.step]
  const server = await startServer(...args)
  // The same address when it is started again.
  const serverArgs = [...args, '--port', new URL(server.url).port]
  const config = join(out, 'comity.yaml')
  writeFileSync(
    config,
    [
      '# Written by the demo. Look around with: node bin/comity.js tasks --all -c <this file>',
      'store: sqlite:./comity.db',
      'mcpServers:',
      `  statistics: { url: ${JSON.stringify(server.url)} }`,
      '',
    ].join('\n'),
  )
  const gateway = await startComity(config)
  return { out, config, serverArgs, byOperator: values['by-operator'], server, gateway }
}

/** The first analysis: everybody but the two files dies once before it is done. */
async function outlive(stage: Stage): Promise<string> {
  const { taskId } = await call(stage)
  step('the caller asks for an analysis and is given a task', `${taskId}; it hangs up`)
  await reach(stage, taskId, ({ statusMessage }) => statusMessage?.startsWith('step') === true)
  await stage.gateway.kill()
  step('comity is killed (kill -9)', 'and started again on the same store')
  stage.gateway = await startComity(stage.config)
  const before = await reach(stage, taskId, atStep(5))
  step('the server is killed (kill -9)', `at ${before.statusMessage}; it goes on where it was`)
  await stage.server.kill()
  stage.server = await startServer(...stage.serverArgs)
  const asking = await reach(stage, taskId, ({ status }) => status === 'input_required')
  const [key = '', question] = Object.entries(asking.inputRequests ?? {})[0] ?? []
  step('half way it asks', question?.params.message ?? '')
  await answer(stage, taskId, key)
  const done = await reach(stage, taskId, ({ status }) => status === 'completed')
  step('a new caller reads the result by its id', done.result?.content[0]?.text ?? 'nothing')
  return taskId
}

async function answer(stage: Stage, taskId: string, key: string): Promise<void> {
  const content = { treatment: 'drop' }
  if (stage.byOperator) {
    step(
      'a person answers at the terminal',
      `comity answer ${taskId} --data '{"treatment":"drop"}'`,
    )
    await comity(stage.config, 'answer', taskId, '--data', JSON.stringify(content))
    return
  }
  step('the caller answers', 'drop')
  const inputResponses = { [key]: { action: 'accept', content } }
  await ask(stage.gateway.url, 'tasks/update', { taskId, inputResponses })
}

/** The second one: canceled on its way. */
async function cancelOne(stage: Stage): Promise<string> {
  const { taskId } = await call(stage)
  await reach(stage, taskId, atStep(3))
  await ask(stage.gateway.url, 'tasks/cancel', { taskId })
  const ended = await reach(stage, taskId, ({ status }) => status === 'cancelled')
  step('a second analysis is canceled', ended.statusMessage ?? '')
  return taskId
}

async function show({ config }: Stage, taskId: string): Promise<void> {
  step('what comity has on record', 'comity tasks --all, comity explain')
  console.log(`\n${await comity(config, 'tasks', '--all')}`)
  console.log(await comity(config, 'explain', taskId))
}

/** Counts again, in the files. */
function judge(out: string, rows: number, first: string, second: string): number {
  const record = new DatabaseSync(join(out, 'comity.db'), { readOnly: true })
  const remote = (id: string): string => {
    const row = record
      .prepare(`SELECT json_extract(document, '$.handle.taskId') AS remote FROM tasks WHERE id = ?`)
      .get(id)
    return String(row?.['remote'])
  }
  const [done, canceled] = [remote(first), remote(second)]
  record.close()
  const state = new DatabaseSync(join(out, 'tasks.db'), { readOnly: true })
  const count = (sql: string, id: string): number => Number(state.prepare(sql).get(id)?.['n'])
  const audited = count('SELECT count(*) AS n FROM audit WHERE task = ?', done)
  const months = count('SELECT count(DISTINCT what) AS n FROM audit WHERE task = ?', done)
  const read = count('SELECT sum(count) AS n FROM months WHERE task = ?', done)
  const kept = count('SELECT count(*) AS n FROM audit WHERE task = ?', canceled)
  state.close()
  const claims: readonly (readonly [string, boolean])[] = [
    [
      `each of ${MONTHS} months was read once, over two kills: ${audited} rows of ${months} months`,
      audited === MONTHS && months === MONTHS,
    ],
    [`every measurement was counted: ${read} of ${rows}`, read === rows],
    [`the cancel undid nothing: ${kept} steps stay in the audit`, kept >= 3 && kept < MONTHS],
  ]
  for (const [claim, holds] of claims) console.log(`${holds ? 'yes' : 'NO '}  ${claim}`)
  const all = claims.every(([, holds]) => holds)
  console.log(`\n${all ? 'IT HOLDS' : 'IT DOES NOT HOLD'} · task ${first} · ${out}`)
  return all ? 0 : 1
}

function call({ gateway }: Stage): Promise<Task> {
  return ask(gateway.url, 'tools/call', { name: 'statistics_analyze', arguments: {} })
}

/** Looks, as often as it takes, until it is so. A gateway that is just starting is asked again. */
async function reach(stage: Stage, taskId: string, isSo: (task: Task) => boolean): Promise<Task> {
  const until = Date.now() + LONGEST_MS
  for (;;) {
    const task = await ask<Task>(stage.gateway.url, 'tasks/get', { taskId })
    if (isSo(task)) return task
    if (task.status === 'failed' || Date.now() > until)
      throw new Error(`task ${taskId} is ${task.status}: ${task.statusMessage ?? ''}`)
    await wait(50)
  }
}

function atStep(least: number): (task: Task) => boolean {
  return ({ statusMessage }) => Number(/^step (\d+)/.exec(statusMessage ?? '')?.[1] ?? 0) >= least
}

let steps = 0

function step(title: string, more: string): void {
  steps += 1
  console.log(`${String(steps).padStart(2)}  ${title}\n    ${more}`)
}

async function close({ gateway, server }: Stage): Promise<void> {
  await gateway.stop()
  await server.stop()
}

/** Empties a folder that an earlier run made; any other one is left alone. */
function clear(out: string): void {
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, MARK)))
    throw new Error(`${out} is not empty and was not made by this demo: give another --out`)
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  writeFileSync(join(out, MARK), '')
}

if (values.help) console.log(USAGE)
else process.exitCode = await main()

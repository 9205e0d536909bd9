/**
 * The host: a program that embeds comity. `node --conditions=comity-source main.ts <out> [--no-criteria]`.
 *
 * Tells each step to the process that started it and exits with the verdict: 0 accepted or not
 * judged, 1 refused. Killed and started again with the same folder, it goes on where it was.
 */
import { appendFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createHost, type HostJudge, type Operator, type TaskReport } from 'comity'
import { judgeCoverage, type Sources } from './coverage.ts'
import { QUIET } from './documents.ts'
import { delegate, follow, meetPeers, recall, research, type Tell } from './story.ts'

/** What the host tells; the one who started it prints it. */
export type HostMessage =
  | { readonly tell: 'step'; readonly title: string; readonly lines: readonly string[] }
  | { readonly tell: 'works'; readonly lines: readonly string[] }
  | { readonly tell: 'verdict'; readonly task: TaskReport; readonly saved?: string }

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'no-criteria': { type: 'boolean', default: false } },
  })
  const [out = '.'] = positionals
  const criteria = !values['no-criteria']
  const tell = createTell()

  // The judge is asked as soon as a task is over, which after a restart may be before the host has read anything.
  const sources = Promise.withResolvers<Sources>()
  sources.promise.catch(() => undefined)
  const coverage: HostJudge = async (_task, artifacts) =>
    judgeCoverage(await sources.promise, artifacts)

  const host = await createHost({
    config: join(out, 'comity.yaml'),
    ...(criteria ? { judges: { research: coverage } } : {}),
    onFault: (what, error) => appendFileSync(join(out, 'host.log'), `${what}: ${String(error)}\n`),
  })
  try {
    const { operator } = host
    const earlier = await recall(operator, tell)
    await meetPeers(operator, tell)
    const findings = await research(operator, tell)
    sources.resolve(findings.sources)
    const delegated = earlier ?? (await delegate(operator, findings, { criteria }, tell))
    const task = await follow(operator, findings, delegated, tell)
    const saved = await saveDelivery(operator, task, out)
    await send({ tell: 'verdict', task, ...(saved === undefined ? {} : { saved }) })
    return task.state === 'completed' && task.verdict.state !== 'refused' ? 0 : 1
  } finally {
    sources.reject(new Error('the host is closing'))
    await host.close()
  }
}

/** A refused delivery stays in the record only: nobody should take it for a report. */
async function saveDelivery(
  operator: Operator,
  task: TaskReport,
  out: string,
): Promise<string | undefined> {
  if (task.state !== 'completed' || task.verdict.state === 'refused') return undefined
  const folder = join(out, 'delivery')
  await mkdir(folder, { recursive: true })
  for (const name of ['differences.json', 'report.md']) {
    const { artifactId } = task.artifacts.find((artifact) => artifact.name === name) ?? {}
    if (artifactId === undefined) continue
    const { base64 } = await operator.artifact({ taskId: task.taskId, artifactId }, QUIET)
    await writeFile(join(folder, name), Buffer.from(base64, 'base64'))
  }
  return join(folder, 'report.md')
}

function createTell(): Tell {
  return {
    step: (title, lines) => void send({ tell: 'step', title, lines }),
    works: (lines) => void send({ tell: 'works', lines }),
  }
}

/** Resolves when the message has left this process. */
function send(message: HostMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send !== undefined) {
      process.send(message, undefined, undefined, () => resolve())
      return
    }
    console.log(JSON.stringify(message))
    resolve()
  })
}

/** Whoever started this host is gone: it ends too, and its tasks stay in the store. */
const orphaned = (): never => process.exit(1)
process.once('disconnect', orphaned)
try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
}
process.off('disconnect', orphaned)
if (process.connected) process.disconnect?.()
